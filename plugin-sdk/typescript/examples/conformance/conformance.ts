/**
 * The policy `conformance` in TypeScript: reads all that a policy can read, answers all, and fails in every way.
 *
 * docs/conformance.md says what each topic is, and `plimsoll conformance` compares.
 */

import {
  bound,
  definePolicy,
  fits,
  keep,
  type Node,
  Quantity,
  refused,
  reject,
  replaceWith,
  retry,
  setting,
  SettingsError,
  unresolvable,
  unschedulable,
} from "plimsoll";

import { FAULTS, misbehave } from "./misbehave.js";
import { TELLS, tellEviction } from "./tell.js";

const ANSWERS = ["pool", "high-score", "no-victims", "missing-candidate", "refused"];

export default definePolicy({
  settings: { topic: setting.string() },

  validate({ topic }) {
    if (topic === "refused") throw new SettingsError("topic: é is refused");
    const known = [...Object.keys(TELLS), ...ANSWERS, ...FAULTS];
    if (!known.includes(topic)) {
      throw new SettingsError(`topic: expected one of ${known.join(", ")}, found ${JSON.stringify(topic)}`);
    }
  },

  filter(pod, node, { topic }) {
    const verdict = node.annotation("verdict");
    if (verdict === "fits") return fits;
    if (verdict === "unresolvable") return unresolvable("eviction does not help");
    if (topic === "pool") return node.label("pool") === pod.label("pool") ? fits : unschedulable("another pool");
    return unschedulable(TELLS[topic]?.(pod, node) ?? misbehave(topic, node));
  },

  score: (_, node, { topic }) => scoreOf(node, topic),

  rank(_, nodes, { topic }) {
    const [groups, active] = [nodes.byLabel("group"), nodes.countsActive("web", "app", "web")];
    const counts = nodes.countsLabelled("web", "app", "web").map((count, at) => count + (active[at] ?? 0));
    return nodes.map((node) => {
      const group = groups.of(node);
      const isBest = group !== undefined && groups.values[group] === "best";
      return scoreOf(node, topic) + (isBest ? (counts[node.index] ?? 0) : 0);
    });
  },

  preempt(_, candidate, { topic }) {
    if (topic === "no-victims") return replaceWith([]);
    // The types of this SDK have no candidate that does not exist.
    if (topic === "missing-candidate") return reject("impossible");
    const { victims } = candidate;
    if (candidate.pdbViolations === 0) return keep;
    if (candidate.pdbViolations === 1) return replaceWith(victims.slice(-1));
    return reject(tellEviction(candidate));
  },

  bind(pod, node) {
    const value = node.annotation("bind");
    if (value === undefined) return refused(`${pod.name} cannot be bound`);
    if (value === "later") return retry("not yet");
    if (value === "nothing") return bound();
    return bound({ annotations: { value, node: node.name }, labels: { rack: "r1" } });
  },
});

function scoreOf(node: Node, topic: string): number {
  return topic === "high-score" ? 101 : Quantity.parse(node.annotation("score") ?? "0").value;
}
