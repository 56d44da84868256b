/** Reads of the whole cluster. */

import type { ClusterImports, Pair, Selector } from "../generated.js";
import { entry, isSame, type KnownNode, type KnownPod, sum, type Texts } from "./known.js";
import { compareTexts } from "./objects.js";

const MAX_LABEL_VALUES = 1000;

export function clusterReads(asked: KnownPod, nodes: readonly KnownNode[] | undefined): ClusterImports {
  const isMatch = (selector: Selector, node: KnownNode, pod: KnownPod): boolean =>
    !isSame(pod, asked) &&
    (selector.namespace ?? pod.namespace) === pod.namespace &&
    has(pod.spec.labels, selector.label) &&
    has(pod.spec.annotations, selector.annotation) &&
    has(node.spec.labels, selector.nodeLabel);
  const matching = (selector: Selector): KnownPod[] | undefined =>
    nodes?.flatMap((node) => node.pods.filter((pod) => isMatch(selector, node, pod)));
  const count = (selector: Selector): number | null => matching(selector)?.length ?? null;
  const atMost = (number: number | null, n: number): number | null => (number === null ? null : Math.min(number, n));
  return {
    count,
    countUpTo: (selector, n) => atMost(count(selector), n),
    atLeast(selector, n) {
      const number = count(selector);
      return number === null ? null : number >= n;
    },
    requested(selector, name) {
      const pods = matching(selector);
      return pods === undefined ? null : sum(pods, name);
    },
    nodesWithLabel: (key, value) => nodes?.filter((node) => entry(node.spec.labels, key) === value).length ?? null,
    labelValues: (key) => (nodes === undefined ? null : labelValues(nodes, key)),
  };
}

function labelValues(all: readonly KnownNode[], key: string): { value: string; nodes: number }[] {
  const counts = new Map<string, number>();
  for (const node of all) {
    const value = entry(node.spec.labels, key);
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  if (counts.size > MAX_LABEL_VALUES) {
    throw new RangeError(`cluster.label-values lists at most ${MAX_LABEL_VALUES} values; the label has more`);
  }
  return [...counts].sort(([a], [b]) => compareTexts(a, b)).map(([value, nodes]) => ({ value, nodes }));
}

function has(entries: Texts | undefined, pair: Pair | undefined): boolean {
  return pair === undefined || entry(entries, pair.key) === pair.value;
}
