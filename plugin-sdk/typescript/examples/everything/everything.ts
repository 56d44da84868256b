/**
 * Reads all that a policy can read and answers all that it can answer.
 *
 * So its answers in TypeScript can be compared with those of its twins in the other SDKs.
 */

import {
  bound,
  type Candidate,
  type Cluster,
  definePolicy,
  fits,
  keep,
  type Node,
  type Pod,
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

import { misbehave } from "./misbehave.js";
import { labelCount, list, option, owner, row, show, taint, unix } from "./show.js";

export const TOPICS = ["pod", "node", "placed", "cluster", "field", "large", "time"];
const OTHERS = ["panic", "none", "loop", "memory", "recursion", "async", "eval", "world", "print", "refused"];

export default definePolicy({
  settings: { topic: setting.string() },

  validate({ topic }) {
    if (topic === "refused") throw new SettingsError("topic: é is refused");
    const known = [...TOPICS, ...OTHERS];
    if (!known.includes(topic)) {
      throw new SettingsError(`topic: expected one of ${known.join(", ")}, found ${show(topic)}`);
    }
  },

  filter(pod, node, { topic }) {
    console.debug(`asked about ${node.name}`);
    switch (node.annotation("verdict")) {
      case "fits":
        return fits;
      case "unresolvable":
        return unresolvable("a text that is not allocated");
      default:
        return unschedulable(tell(topic, pod, node));
    }
  },

  score: (_, node) => scoreOf(node),

  rank(_, nodes) {
    const [groups, counts] = [nodes.byLabel("group"), nodes.countsLabelled("web", "app", "web")];
    return nodes.map((node) => {
      const group = groups.of(node);
      const isBest = group !== undefined && groups.values[group] === "best";
      return scoreOf(node) + (isBest ? (counts[node.index] ?? 0) : 0);
    });
  },

  preempt(_, candidate) {
    const { victims } = candidate;
    if (candidate.pdbViolations === 0) return keep;
    if (candidate.pdbViolations === 1) return replaceWith(victims.slice(-1));
    return reject(`${list(victims.map((victim) => victim.name), show)} of ${list(nodesOf(candidate), show)}`);
  },

  bind(pod, node) {
    const value = node.annotation("bind");
    if (value === undefined) return refused(`${pod.name} cannot be bound`);
    if (value === "later") return retry("not yet");
    if (value === "nothing") return bound();
    return bound({ annotations: { value, node: node.name }, labels: { rack: "r1" } });
  },
});

function scoreOf(node: Node): number {
  return Quantity.parse(node.annotation("score") ?? "0").value;
}

function nodesOf(candidate: Candidate): string[] {
  return candidate.all.map((other) => other.node.name);
}

function tell(topic: string, pod: Pod, node: Node): string {
  switch (topic) {
    case "pod":
      return tellPod(pod);
    case "node":
      return tellNode(node);
    case "placed":
      return tellPlaced(node);
    case "cluster":
      return tellCluster(node.cluster);
    case "field":
      return tellFields(pod, node);
    case "large":
      return tellLarge(node);
    case "time":
      return [0, 60, 3600].map((granularity) => pod.now(granularity).getTime() / 1000).join(" ");
    default:
      return misbehave(topic, node);
  }
}

function tellPod(pod: Pod): string {
  const texts = row(show(pod.name), show(pod.namespace), show(pod.uid), option(pod.label("a")), option(pod.label("none")));
  const annotations = row(option(pod.annotation("empty")), option(pod.annotation("none")));
  const numbers = row(show(pod.priority), ...["cpu", "memory", "none"].map((name) => show(pod.request(name))));
  const owners = row(option(pod.priorityClass), option(pod.controller, owner), option(unix(pod.created)));
  return `${texts} ${annotations} ${numbers} ${owners} ${list(pod.images, show)}`;
}

function tellNode(node: Node): string {
  const texts = row(show(node.name), option(node.label("é")), option(node.label("none")), option(node.annotation("a")));
  const numbers = row(show(node.allocatable("cpu")), option(node.requested("memory")), option(node.requested("none")));
  const images = row(option(node.imageSize("web:1")), option(node.imageSize("none")));
  const status = row(option(node.condition("Ready")), option(node.condition("none")), show(node.unschedulable));
  const capacity = row(show(node.capacity("cpu")), show(node.capacity("none")));
  return `${texts} ${list(node.taints, taint)} ${numbers} ${images} ${status} ${capacity}`;
}

function tellPlaced(node: Node): string {
  const every = node.placed.map((pod) => {
    const texts = row(show(pod.name), show(pod.namespace), option(pod.label("app")), option(pod.annotation("a")));
    const numbers = row(show(pod.priority), show(pod.request("memory")), option(unix(pod.created)));
    const owners = row(option(pod.priorityClass), option(pod.controller, owner), option(pod.phase));
    return `${texts} ${numbers} ${owners}`;
  });
  return `${list(every, show)} ${show(node.placedKnown)} ${node.countLabelled("web", "app", "web")}`;
}

function tellCluster(cluster: Cluster): string {
  const [every, smiling] = [{}, { nodeLabel: { key: "é", value: "😀" } }];
  const web = { namespace: "web", label: { key: "app", value: "web" } };
  const annotated = { ...web, annotation: { key: "a", value: "x" } };
  const counts = row(...[every, web, annotated].map((selector) => option(cluster.count(selector))));
  const upTo = [option(cluster.countUpTo(every, 1)), option(cluster.countUpTo(smiling, 9))];
  const capped = row(...upTo, option(cluster.atLeast(web, 3)));
  const sums = row(option(cluster.requested(every, "memory")), option(cluster.requested(smiling, "memory")));
  const values = option(cluster.labelValues("é"), (own) => list(own, labelCount));
  const nodes = row(option(cluster.nodesWithLabel("é", "😀")), values);
  return `${counts} ${capped} ${sums} ${nodes} ${option(cluster.atLeast(every, 2))}`;
}

function tellFields(pod: Pod, node: Node): string {
  const [number, text] = [pod.field("/spec/priority"), node.field("/metadata/name")];
  const fields = [option(number), option(text)].map((own) => `Ok(${own})`).join(" ");
  return `${fields} ${option(pod.fieldText("/none"))} ${option(node.fieldText("/spec"))}`;
}

function tellLarge(node: Node): string {
  const texts = Array.from({ length: 20 }, () => node.annotation("large")).filter((text) => text !== undefined);
  // The sum of the bytes in UTF-8: the text has characters of two bytes only.
  const sum = (text: string): number =>
    [...text].reduce((total, own) => {
      const point = own.codePointAt(0) ?? 0;
      return total + (0xc0 | (point >> 6)) + (0x80 | (point & 0x3f));
    }, 0);
  return `${texts.length} ${texts.reduce((total, text) => total + sum(text), 0)} ${option(node.label("é"))}`;
}
