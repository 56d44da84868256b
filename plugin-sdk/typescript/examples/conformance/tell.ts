/** The values of all reads, one function for each topic. */

import type { Candidate, Cluster, Node, Pod } from "plimsoll";

import { lines, owner, thousandths } from "./show.js";

export const TELLS: Readonly<Record<string, (pod: Pod, node: Node) => string>> = {
  pod: tellPod,
  node: (_, node) => tellNode(node),
  placed: (_, node) => tellPlaced(node),
  cluster: (_, node) => tellCluster(node.cluster),
  namespace: tellNamespace,
  facts: (_, node) => tellFacts(node),
  field: tellFields,
  large: (_, node) => tellLarge(node),
  time: (pod) => lines({ "now-0": pod.now(0), "now-60": pod.now(60), "now-3600": pod.now(3600) }),
};

function tellPod(pod: Pod): string {
  return lines({
    name: pod.name,
    namespace: pod.namespace,
    uid: pod.uid,
    label: pod.label("a"),
    "label-none": pod.label("none"),
    "annotation-empty": pod.annotation("empty"),
    "annotation-none": pod.annotation("none"),
    priority: pod.priority,
    "priority-class": pod.priorityClass,
    controller: owner(pod.controller),
    created: pod.created,
    "request-cpu": pod.request("cpu"),
    "request-memory": pod.request("memory"),
    "request-none": pod.request("none"),
    images: pod.images,
  });
}

function tellNode(node: Node): string {
  return lines({
    name: node.name,
    label: node.label("é"),
    "label-none": node.label("none"),
    annotation: node.annotation("a"),
    taints: node.taints.map(({ key, value, effect }) => `${key}=${value}:${effect}`),
    allocatable: node.allocatable("cpu"),
    known: node.resourceKnown("cpu"),
    "known-device": node.resourceKnown("example.com/gpu"),
    capacity: node.capacity("cpu"),
    "capacity-none": node.capacity("none"),
    requested: node.requested("memory"),
    "requested-none": node.requested("none"),
    "image-size": node.imageSize("web:1"),
    "image-size-none": node.imageSize("none"),
    condition: node.condition("Ready"),
    "condition-none": node.condition("none"),
    unschedulable: node.unschedulable,
  });
}

function tellPlaced(node: Node): string {
  const own = [
    lines({
      known: node.placedKnown,
      "count-labelled": node.countLabelled("web", "app", "web"),
      "count-active": node.countActive("web", "app", "web"),
    }),
  ];
  for (const [at, pod] of node.placed.entries()) {
    const told = lines({
      name: pod.name,
      namespace: pod.namespace,
      label: pod.label("app"),
      annotation: pod.annotation("a"),
      priority: pod.priority,
      "priority-class": pod.priorityClass,
      controller: owner(pod.controller),
      phase: pod.phase,
      terminating: pod.terminating,
      request: pod.request("memory"),
      created: pod.created,
    });
    own.push(...told.split("\n").map((line) => `${at}.${line}`));
  }
  return own.join("\n");
}

function tellCluster(cluster: Cluster): string {
  const [every, smiling] = [{}, { nodeLabel: { key: "é", value: "😀" } }];
  const web = { namespace: "web", label: { key: "app", value: "web" } };
  return lines({
    count: cluster.count(every),
    "count-web": cluster.count(web),
    "count-annotated": cluster.count({ ...web, annotation: { key: "a", value: "x" } }),
    "count-up-to-1": cluster.countUpTo(every, 1),
    "count-smiling": cluster.countUpTo(smiling, 9),
    "at-least-2": cluster.atLeast(every, 2),
    "at-least-4-web": cluster.atLeast(web, 4),
    requested: cluster.requested(every, "memory"),
    "requested-smiling": cluster.requested(smiling, "memory"),
    "nodes-with-label": cluster.nodesWithLabel("é", "😀"),
    "label-values": cluster.labelValues("group")?.map(({ value, nodes }) => `${value}:${nodes}`),
  });
}

function tellNamespace(pod: Pod): string {
  const [label, none] = [pod.namespaceLabel("tenant"), pod.namespaceLabel("none")];
  return lines({ known: pod.namespaceKnown, label, "label-none": none });
}

function tellFacts(node: Node): string {
  const { facts } = node;
  return lines({
    text: facts.text("prices", "note"),
    "text-none": facts.text("prices", "none"),
    number: thousandths(facts.number("prices", "gpu")),
    "number-negative": thousandths(facts.number("prices", "loss")),
    "number-of-text": thousandths(facts.number("prices", "note")),
    "node-text": node.factText("load"),
    "node-number": thousandths(node.factNumber("load")),
  });
}

function tellFields(pod: Pod, node: Node): string {
  const [priority, name] = [pod.field("/spec/priority"), node.field("/metadata/name")];
  return lines({ priority, name, none: pod.fieldText("/none"), spec: node.fieldText("/spec") });
}

function tellLarge(node: Node): string {
  const texts = Array.from({ length: 20 }, () => node.annotation("large")).filter((text) => text !== undefined);
  // The sum of the bytes in UTF-8: the text has characters of two bytes only.
  const sum = (text: string): number =>
    [...text].reduce((total, own) => {
      const point = own.codePointAt(0) ?? 0;
      return total + (0xc0 | (point >> 6)) + (0x80 | (point & 0x3f));
    }, 0);
  const total = texts.reduce((all, text) => all + sum(text), 0);
  return lines({ count: texts.length, sum: total, label: node.label("é") });
}

/** The victims of a candidate, and the nodes of all candidates. */
export function tellEviction(candidate: Candidate): string {
  const victims = candidate.victims.map((victim) => victim.name);
  return lines({ victims, nodes: candidate.all.map((other) => other.node.name) });
}
