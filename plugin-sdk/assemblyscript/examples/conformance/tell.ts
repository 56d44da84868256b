/** The values of all reads, one function for each topic. */

import { Candidate, Cluster, Facts, LabelCount, Node, Pair, Placed, Pod, Selector, Taint } from "plimsoll-assemblyscript";

import { Lines, number, owner, thousandths, time } from "./show";

export function tellPod(pod: Pod): Lines {
  return new Lines()
    .add("name", pod.name)
    .add("namespace", pod.namespace)
    .add("uid", pod.uid)
    .add("label", pod.label("a"))
    .add("label-none", pod.label("none"))
    .add("annotation-empty", pod.annotation("empty"))
    .add("annotation-none", pod.annotation("none"))
    .add("priority", pod.priority.toString())
    .add("priority-class", pod.priorityClass)
    .add("controller", owner(pod.controller))
    .add("created", time(pod.created))
    .add("request-cpu", pod.request("cpu").toString())
    .add("request-memory", pod.request("memory").toString())
    .add("request-none", pod.request("none").toString())
    .add("images", pod.images.join(" "));
}

export function tellNode(node: Node): Lines {
  const taints = node.taints.map<string>((taint: Taint) => taint.key + "=" + taint.value + ":" + taint.effect);
  return new Lines()
    .add("name", node.name)
    .add("label", node.label("é"))
    .add("label-none", node.label("none"))
    .add("annotation", node.annotation("a"))
    .add("taints", taints.join(" "))
    .add("allocatable", node.allocatable("cpu").toString())
    .add("known", node.resourceKnown("cpu").toString())
    .add("known-device", node.resourceKnown("example.com/gpu").toString())
    .add("capacity", node.capacity("cpu").toString())
    .add("capacity-none", node.capacity("none").toString())
    .add("requested", number(node.requested("memory")))
    .add("requested-none", number(node.requested("none")))
    .add("image-size", number(node.imageSize("web:1")))
    .add("image-size-none", number(node.imageSize("none")))
    .add("condition", node.condition("Ready"))
    .add("condition-none", node.condition("none"))
    .add("unschedulable", node.unschedulable.toString());
}

export function tellPlaced(node: Node): string {
  let told = new Lines()
    .add("known", node.placedKnown.toString())
    .add("count-labelled", node.countLabelled("web", "app", "web").toString())
    .add("count-active", node.countActive("web", "app", "web").toString())
    .toString();
  const placed = node.placed;
  for (let at = 0; at < placed.length; at++) told += "\n" + tellPlacedPod(placed[at]).toString();
  return told;
}

function tellPlacedPod(pod: Placed): Lines {
  return new Lines(pod.index.toString() + ".")
    .add("name", pod.name)
    .add("namespace", pod.namespace)
    .add("label", pod.label("app"))
    .add("annotation", pod.annotation("a"))
    .add("priority", pod.priority.toString())
    .add("priority-class", pod.priorityClass)
    .add("controller", owner(pod.controller))
    .add("phase", pod.phase)
    .add("terminating", pod.terminating.toString())
    .add("request", pod.request("memory").toString())
    .add("created", time(pod.created));
}

export function tellCluster(cluster: Cluster): Lines {
  const every = new Selector();
  const web = new Selector("web", new Pair("app", "web"));
  const annotated = new Selector("web", new Pair("app", "web"), new Pair("a", "x"));
  const smiling = new Selector();
  smiling.nodeLabel = new Pair("é", "😀");
  return new Lines()
    .add("count", number(cluster.count(every)))
    .add("count-web", number(cluster.count(web)))
    .add("count-annotated", number(cluster.count(annotated)))
    .add("count-up-to-1", number(cluster.countUpTo(every, 1)))
    .add("count-smiling", number(cluster.countUpTo(smiling, 9)))
    .add("at-least-2", number(cluster.atLeast(every, 2)))
    .add("at-least-4-web", number(cluster.atLeast(web, 4)))
    .add("requested", number(cluster.requested(every, "memory")))
    .add("requested-smiling", number(cluster.requested(smiling, "memory")))
    .add("nodes-with-label", number(cluster.nodesWithLabel("é", "😀")))
    .add("label-values", labelValues(cluster.labelValues("group")));
}

function labelValues(counts: Array<LabelCount> | null): string | null {
  if (counts === null) return null;
  return counts.map<string>((count: LabelCount) => count.value + ":" + count.nodes.toString()).join(" ");
}

export function tellNamespace(pod: Pod): Lines {
  return new Lines()
    .add("known", pod.namespaceKnown.toString())
    .add("label", pod.namespaceLabel("tenant"))
    .add("label-none", pod.namespaceLabel("none"));
}

export function tellFacts(node: Node, facts: Facts): Lines {
  return new Lines()
    .add("text", facts.text("prices", "note"))
    .add("text-none", facts.text("prices", "none"))
    .add("number", thousandths(facts.number("prices", "gpu")))
    .add("number-negative", thousandths(facts.number("prices", "loss")))
    .add("number-of-text", thousandths(facts.number("prices", "note")))
    .add("node-text", node.factText("load"))
    .add("node-number", thousandths(node.factNumber("load")));
}

export function tellFields(pod: Pod, node: Node): Lines {
  const priority = pod.field("/spec/priority");
  const name = node.field("/metadata/name");
  return new Lines()
    .add("priority", priority === null ? null : number(priority.integer))
    .add("name", name === null ? null : name.string)
    .add("none", pod.fieldText("/none"))
    .add("spec", node.fieldText("/spec"));
}

export function tellLarge(node: Node): Lines {
  let count = 0;
  let sum: u64 = 0;
  for (let round = 0; round < 20; round++) {
    const text = node.annotation("large");
    if (text === null) continue;
    count++;
    const bytes = Uint8Array.wrap(String.UTF8.encode(text));
    for (let at = 0; at < bytes.length; at++) sum += bytes[at];
  }
  return new Lines().add("count", count.toString()).add("sum", sum.toString()).add("label", node.label("é"));
}

export function tellTime(pod: Pod): Lines {
  return new Lines()
    .add("now-0", pod.now(0).toString())
    .add("now-60", pod.now(60).toString())
    .add("now-3600", pod.now(3600).toString());
}

/** The victims of a candidate, and the nodes of all candidates. */
export function tellEviction(candidate: Candidate): Lines {
  const victims = candidate.victims.map<string>((victim: Placed) => victim.name);
  const nodes = candidate.all.map<string>((other: Candidate) => other.node.name);
  return new Lines().add("victims", victims.join(" ")).add("nodes", nodes.join(" "));
}
