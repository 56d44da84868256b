/** Answers reads as the gateway does. */

import type {
  CandidatesImports,
  FactsImports,
  HostImports,
  Imports,
  NodesImports,
  PlacedImports,
  PodImports,
} from "../generated.js";
import { clusterReads } from "./cluster.js";
import { entry, type KnownNode, knownNode, type KnownPod, knownPod, normalized, seconds, sum, type Texts } from "./known.js";
import { atPointer, type Candidate, type Node, nodeObject, type Pod, podObject } from "./objects.js";

/** The answers to all reads of one call. */
export type Answers = Imports;

/** The facts of each source by key. */
export type Facts = Readonly<Record<string, Readonly<Record<string, string | number>>>>;

/** The world of one call. */
export interface Scenario {
  readonly pod: Pod;
  readonly nodes: readonly Node[];
  readonly candidates: readonly Candidate[];
  /** All nodes of the cluster, if the gateway has a view of it. */
  readonly cluster: readonly Node[] | undefined;
  readonly namespaces: Readonly<Record<string, Texts>>;
  readonly facts: Facts;
  readonly now: Date;
  readonly withoutPods: boolean;
}

/** The answers of a world. */
export function answers(world: Scenario): Answers {
  const pod = knownPod(world.pod);
  const nodes = world.nodes.map((node) => knownNode(node, world.withoutPods, pod));
  const cluster = world.cluster?.map((node) => knownNode(node, false, pod));
  return {
    pod: podReads(pod, world.cluster === undefined ? {} : world.namespaces),
    nodes: nodesReads(nodes),
    placed: placedReads(nodes),
    candidates: candidatesReads(nodes, world.candidates),
    cluster: clusterReads(pod, cluster),
    facts: factsReads(nodes, world.facts),
    host: hostReads(world.now),
  };
}

function podReads(pod: KnownPod, namespaces: Readonly<Record<string, Texts>>): PodImports {
  const { spec } = pod;
  const labels = Object.hasOwn(namespaces, pod.namespace) ? namespaces[pod.namespace] : undefined;
  return {
    name: () => spec.name ?? "",
    namespace: () => pod.namespace,
    namespaceLabel: (key) => entry(labels, key),
    namespaceKnown: () => labels !== undefined,
    uid: () => spec.uid ?? "",
    label: (key) => entry(spec.labels, key),
    annotation: (key) => entry(spec.annotations, key),
    priority: () => spec.priority ?? 0,
    priorityClass: () => spec.priorityClass || null,
    controller: () => spec.controller ?? null,
    created: () => pod.created,
    request: (name) => pod.requests.get(name) ?? 0,
    images: () => [...new Set((spec.images ?? []).map(normalized))],
    field: (pointer) => atPointer(podObject(spec), pointer),
  };
}

function nodesReads(nodes: readonly KnownNode[]): NodesImports {
  const of = (node: number): KnownNode => at("node", nodes, node);
  return {
    count: () => nodes.length,
    name: (node) => of(node).spec.name,
    label: (node, key) => entry(of(node).spec.labels, key),
    byLabel(key) {
      const labels = nodes.map((node) => entry(node.spec.labels, key));
      const values = [...new Set(labels.filter((value) => value !== null))];
      return { values, groups: labels.map((value) => (value === null ? values.length : values.indexOf(value))) };
    },
    annotation: (node, key) => entry(of(node).spec.annotations, key),
    taints: (node) => of(node).spec.taints ?? [],
    allocatable: (node, name) => of(node).allocatable.get(name) ?? 0,
    resourceKnown: (node, name) => !(of(node).spec.resourcesUnknown ?? []).includes(name),
    capacity: (node, name) => of(node).capacity.get(name) ?? 0,
    condition: (node, kind) => entry(of(node).spec.conditions, kind),
    unschedulable: (node) => of(node).spec.unschedulable ?? false,
    requested: (node, name) => (of(node).isKnown ? sum(of(node).pods, name) : null),
    imageSize: (node, image) => of(node).images.get(normalized(image)) ?? null,
    field: (node, pointer) => atPointer(nodeObject(of(node).spec), pointer),
  };
}

function placedReads(nodes: readonly KnownNode[]): PlacedImports {
  const on = (node: number): KnownNode => at("node", nodes, node);
  const of = (node: number, pod: number): KnownPod => at("placed pod", on(node).pods, pod);
  return {
    known: (node) => on(node).isKnown,
    count: (node) => on(node).pods.length,
    name: (node, pod) => of(node, pod).spec.name ?? "",
    namespace: (node, pod) => of(node, pod).namespace,
    label: (node, pod, key) => entry(of(node, pod).spec.labels, key),
    annotation: (node, pod, key) => entry(of(node, pod).spec.annotations, key),
    priority: (node, pod) => of(node, pod).spec.priority ?? 0,
    priorityClass: (node, pod) => of(node, pod).spec.priorityClass || null,
    controller: (node, pod) => of(node, pod).spec.controller ?? null,
    phase(node, pod) {
      const { phase = "" } = of(node, pod).spec;
      return ["Pending", "Running", "Unknown"].includes(phase) ? phase : null;
    },
    terminating: (node, pod) => of(node, pod).spec.terminating ?? false,
    request: (node, pod, name) => of(node, pod).requests.get(name) ?? 0,
    created: (node, pod) => of(node, pod).created,
    countLabelled: (node, namespace, key, value) => labelled(on(node), namespace, key, value).length,
    countsLabelled: (namespace, key, value) => nodes.map((node) => labelled(node, namespace, key, value).length),
    countActive: (node, namespace, key, value) => active(on(node), namespace, key, value),
    countsActive: (namespace, key, value) => nodes.map((node) => active(node, namespace, key, value)),
  };
}

function candidatesReads(nodes: readonly KnownNode[], candidates: readonly Candidate[]): CandidatesImports {
  const victims = candidates.map((candidate, index) => victimsOf(candidate, nodes[index]?.pods ?? []));
  return {
    count: () => candidates.length,
    node(candidate) {
      at("candidate", candidates, candidate);
      return candidate;
    },
    victims: (candidate) => at("candidate", victims, candidate),
    pdbViolations: (candidate) => at("candidate", candidates, candidate).pdbViolations ?? 0,
  };
}

function factsReads(nodes: readonly KnownNode[], facts: Facts): FactsImports {
  const text = (source: string, key: string): string | null => {
    if (!Object.hasOwn(facts, source)) {
      throw new RangeError(`the policy reads the source of facts ${source}, which the world does not have`);
    }
    const fact = entry(facts[source], key);
    return fact === null ? null : String(fact);
  };
  const nodeText = (node: number, source: string): string | null => {
    const { name, addresses = [] } = at("node", nodes, node).spec;
    return [name, ...addresses].map((key) => text(source, key)).find((own) => own !== null) ?? null;
  };
  return {
    text,
    number: (source, key) => numeric(text(source, key)),
    nodeText,
    nodeNumber: (node, source) => numeric(nodeText(node, source)),
  };
}

function hostReads(now: Date): HostImports {
  return {
    // It is not asked: a test gives the settings with the question.
    settings: () => "null",
    now: (granularity) => seconds(now) - (seconds(now) % Math.max(granularity, 1)),
    // A test's policy has the console of Node.js, and its errors reach the test.
    log: () => undefined,
    panic(message) {
      throw new Error(message);
    },
  };
}

function at<T>(of: string, items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`there is no ${of} ${index}; the request has ${items.length}`);
  return item;
}

function labelled(node: KnownNode, namespace: string, key: string, value: string): readonly KnownPod[] {
  return node.pods.filter((pod) => pod.namespace === namespace && entry(pod.spec.labels, key) === value);
}

function active(node: KnownNode, namespace: string, key: string, value: string): number {
  return labelled(node, namespace, key, value).filter((pod) => !pod.spec.terminating).length;
}

/** A finite number in decimal digits. */
function numeric(text: string | null): number | null {
  if (text === null || !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return null;
  const number = Number(text);
  // The host has no -0.
  return Number.isFinite(number) ? number + 0 : null;
}

function victimsOf(candidate: Candidate, pods: readonly KnownPod[]): number[] {
  const names = pods.map((pod) => `${pod.namespace}/${pod.spec.name ?? ""}`);
  return (candidate.victims ?? []).map((victim) => {
    const index = names.indexOf(victim);
    if (index >= 0) return index;
    throw new RangeError(`the candidate ${candidate.node} names the victim ${victim}; no such pod is placed there`);
  });
}
