/** Prefers nodes on which the pod costs less, and keeps the pods of an application apart in spot pools. */

import { definePolicy, type Groups, type Node, type Nodes, type Pod, setting, SettingsError } from "plimsoll";

export default definePolicy({
  settings: {
    /** The node labels that name a pool; their values, joined by `/`, are the key of its price. */
    poolLabels: setting.list(setting.string(), {
      default: ["node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"],
    }),
    /** The source of facts with the price of one node of each pool. */
    prices: setting.string({ default: "prices" }),
    /** The end of the keys of pools that can be taken away. */
    spot: setting.string({ default: "/spot" }),
    /** Pods of one namespace with the same value of this label belong together. */
    label: setting.string({ default: "app" }),
  },

  validate({ poolLabels }) {
    if (poolLabels.length === 0) throw new SettingsError("poolLabels: expected at least one label");
  },

  rank(pod, nodes, { poolLabels, prices, spot, label }) {
    const pools = poolsOf(nodes, poolLabels);
    const counts = countsOf(pod, nodes, label);
    const placed = counts.reduce((sum, count) => sum + count, 0);
    const worth = new Map<string, number>();
    for (const [key, members] of pools) {
      const cost = costOf(pod, members, nodes.facts.number(prices, key));
      if (cost === undefined) continue;
      const inPool = members.reduce((sum, node) => sum + (counts[node.index] ?? 0), 0);
      const share = key.endsWith(spot) && placed > 0 ? inPool / placed : 0;
      worth.set(key, (1 - share) / cost);
    }
    const best = Math.max(...worth.values());
    const scores = new Array<number>(nodes.length).fill(0);
    for (const [key, members] of pools) {
      // All pools are worth nothing where each spot pool has all pods: then the best is 0.
      const score = best > 0 ? Math.round((100 * (worth.get(key) ?? 0)) / best) : 0;
      for (const node of members) scores[node.index] = score;
    }
    return scores;
  },
});

/** The nodes of each pool; a node that lacks one of the labels is in none. */
function poolsOf(nodes: Nodes, labels: readonly string[]): Map<string, Node[]> {
  const groupings = labels.map((label) => nodes.byLabel(label));
  const pools = new Map<string, Node[]>();
  for (const node of nodes) {
    const values = groupings.map((groups) => valueOf(groups, node));
    if (values.includes(undefined)) continue;
    const key = values.join("/");
    const members = pools.get(key);
    if (members === undefined) pools.set(key, [node]);
    else members.push(node);
  }
  return pools;
}

function valueOf(groups: Groups, node: Node): string | undefined {
  const group = groups.of(node);
  return group === undefined ? undefined : groups.values[group];
}

/** For each node the number of placed pods that belong together with the pod and do not terminate. */
function countsOf(pod: Pod, nodes: Nodes, label: string): readonly number[] {
  const value = pod.label(label);
  return value === undefined ? [] : nodes.countsActive(pod.namespace, label, value);
}

/**
 * The part of a node's price that the pod takes: by its larger share of cpu or memory. Nodes of a pool are alike, so the
 * first stands for all.
 */
function costOf(pod: Pod, [first]: readonly Node[], price: number | undefined): number | undefined {
  if (first === undefined || price === undefined || price <= 0) return undefined;
  const shares = ["cpu", "memory"].map((name) => {
    const allocatable = first.allocatable(name);
    return allocatable > 0 ? pod.request(name) / allocatable : 0;
  });
  const share = Math.max(...shares);
  // A pod that requests nothing takes an equal part of any node.
  return share > 0 ? price * share : price;
}
