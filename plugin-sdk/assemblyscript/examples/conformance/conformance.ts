/**
 * The policy `conformance` in AssemblyScript: reads all that a policy can read, answers all, and fails in every way.
 *
 * docs/conformance.md says what each topic is, and `plimsoll conformance` compares.
 */

import {
  Bind,
  Binding,
  bound,
  Candidate,
  Filter,
  fits,
  keep,
  Node,
  Nodes,
  Pod,
  Preempt,
  Preemption,
  Quantity,
  Rank,
  refused,
  reject,
  replaceWith,
  retry,
  Score,
  Settings,
  unresolvable,
  unschedulable,
  Verdict,
} from "plimsoll-assemblyscript";

import { misbehave } from "./misbehave";
import {
  tellCluster,
  tellEviction,
  tellFacts,
  tellFields,
  tellLarge,
  tellNamespace,
  tellNode,
  tellPlaced,
  tellPod,
  tellTime,
} from "./tell";

const TOPICS = [
  "pod", "node", "placed", "cluster", "namespace", "facts", "field", "large", "time", "pool", "panic", "trap",
  "recursion", "loop", "memory", "long-reason", "high-score", "no-victims", "missing-node", "missing-pod",
  "missing-candidate", "foreign-source", "log", "log-flood",
];

export class Conformance implements Filter, Score, Rank, Preempt, Bind {
  /** The topic to tell about, or a way to fail. */
  private readonly topic: string;

  constructor(settings: Settings) {
    this.topic = settings.string("topic");
    if (this.topic == "refused") settings.refuse("topic: é is refused");
    if (!TOPICS.includes(this.topic)) {
      settings.refuse("topic: expected one of " + TOPICS.join(", ") + ", found " + this.topic);
    }
  }

  filter(pod: Pod, node: Node): Verdict {
    const verdict = node.annotation("verdict");
    if (verdict == "fits") return fits;
    if (verdict == "unresolvable") return unresolvable("eviction does not help");
    if (this.topic == "pool") return node.label("pool") == pod.label("pool") ? fits : unschedulable("another pool");
    return unschedulable(this.told(pod, node));
  }

  private told(pod: Pod, node: Node): string {
    if (this.topic == "pod") return tellPod(pod).toString();
    if (this.topic == "node") return tellNode(node).toString();
    if (this.topic == "placed") return tellPlaced(node);
    if (this.topic == "cluster") return tellCluster(node.cluster).toString();
    if (this.topic == "namespace") return tellNamespace(pod).toString();
    if (this.topic == "facts") return tellFacts(node, node.facts).toString();
    if (this.topic == "field") return tellFields(pod, node).toString();
    if (this.topic == "large") return tellLarge(node).toString();
    if (this.topic == "time") return tellTime(pod).toString();
    return misbehave(this.topic, node);
  }

  score(pod: Pod, node: Node): u32 {
    if (this.topic == "high-score") return 101;
    const text = node.annotation("score");
    if (text === null) return 0;
    const score = Quantity.parse(text);
    return score === null ? 0 : <u32>score.value;
  }

  rank(pod: Pod, nodes: Nodes): Array<u32> {
    const groups = nodes.byLabel("group");
    const counts = nodes.countsLabelled("web", "app", "web");
    const active = nodes.countsActive("web", "app", "web");
    const scores = new Array<u32>();
    for (let at: u32 = 0, length = nodes.length; at < length; at++) {
      const group = groups.of(nodes[at]);
      const isBest = group >= 0 && groups.values[group] == "best";
      scores.push(this.score(pod, nodes[at]) + (isBest ? counts[at] + active[at] : 0));
    }
    return scores;
  }

  preempt(pod: Pod, candidate: Candidate): Preemption {
    if (this.topic == "no-victims") return replaceWith([]);
    const asked = this.topic == "missing-candidate" ? new Candidate(1000) : candidate;
    const violations = asked.pdbViolations;
    if (violations == 0) return keep;
    if (violations == 1) return replaceWith(asked.victims.slice(-1));
    return reject(tellEviction(asked).toString());
  }

  bind(pod: Pod, node: Node): Binding {
    const value = node.annotation("bind");
    if (value === null) return refused(pod.name + " cannot be bound");
    if (value == "later") return retry("not yet");
    if (value == "nothing") return bound();
    return bound().annotation("node", node.name).annotation("value", value).label("rack", "r1");
  }
}
