/** Answers reads as the gateway does. */

import type {
  CandidatesImports,
  ClusterImports,
  FactsImports,
  HostImports,
  Imports,
  NodesImports,
  Pair,
  PlacedImports,
  PodImports,
  Selector,
} from "../generated.js";
import { Quantity } from "../quantity.js";
import { atPointer, type Candidate, compareTexts, type Node, namespaceOf, nodeObject, type Pod, podObject } from "./objects.js";

/** The answers to all reads of one call. */
export type Answers = Imports;

type Texts = Readonly<Record<string, string>>;

/** The world of one call. */
export interface Scenario {
  readonly pod: Pod;
  readonly nodes: readonly Node[];
  readonly candidates: readonly Candidate[];
  /** All nodes of the cluster, if the gateway has a view of it. */
  readonly cluster: readonly Node[] | undefined;
  readonly namespaces: Readonly<Record<string, Texts>>;
  readonly facts: Readonly<Record<string, Texts>>;
  readonly now: Date;
  readonly withoutPods: boolean;
}

/** A pod as the reads need it. */
interface KnownPod {
  readonly spec: Pod;
  readonly namespace: string;
  readonly requests: ReadonlyMap<string, number>;
  readonly created: number;
}

/** A node as the reads need it. */
interface KnownNode {
  readonly spec: Node;
  readonly allocatable: ReadonlyMap<string, number>;
  readonly capacity: ReadonlyMap<string, number>;
  readonly images: ReadonlyMap<string, number>;
  /** Whether all its pods are known. */
  readonly isKnown: boolean;
  readonly pods: readonly KnownPod[];
}

/** The number of a total that no 64 bits hold. */
const MOST = 2 ** 63;

const MAX_LABEL_VALUES = 1000;

const ENDED: readonly (string | undefined)[] = ["Succeeded", "Failed"];

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

function knownPod(spec: Pod): KnownPod {
  const requests = amounts(`the pod ${spec.name ?? ""}`, spec.requests);
  return { spec, namespace: namespaceOf(spec), requests, created: seconds(spec.created) };
}

function knownNode(spec: Node, withoutPods: boolean, asked: KnownPod): KnownNode {
  // The pod to schedule does not stand in its own way.
  const isPlaced = (pod: KnownPod): boolean => !ENDED.includes(pod.spec.phase) && !(asked.spec.name && isSame(pod, asked));
  // From the oldest to the newest, as the gateway numbers them.
  const byAge = (a: KnownPod, b: KnownPod): number =>
    a.created - b.created || compareTexts(a.namespace, b.namespace) || compareTexts(a.spec.name ?? "", b.spec.name ?? "");
  const pods = withoutPods ? [] : (spec.pods ?? []).map(knownPod).filter(isPlaced).sort(byAge);
  return {
    spec,
    allocatable: amounts(`the node ${spec.name}`, spec.allocatable),
    capacity: amounts(`the node ${spec.name}`, spec.capacity),
    images: new Map(Object.entries(spec.images ?? {}).map(([image, size]) => [normalized(image), size])),
    isKnown: !spec.podsUnknown && !withoutPods,
    pods,
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
      const own = nodes.map((node) => entry(node.spec.labels, key));
      const values = [...new Set(own.filter((value) => value !== null))];
      return { values, groups: own.map((value) => (value === null ? values.length : values.indexOf(value))) };
    },
    annotation: (node, key) => entry(of(node).spec.annotations, key),
    taints: (node) => of(node).spec.taints ?? [],
    allocatable: (node, name) => of(node).allocatable.get(name) ?? 0,
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
    request: (node, pod, name) => of(node, pod).requests.get(name) ?? 0,
    created: (node, pod) => of(node, pod).created,
    countLabelled: (node, namespace, key, value) => labelled(on(node), namespace, key, value),
    countsLabelled: (namespace, key, value) => nodes.map((node) => labelled(node, namespace, key, value)),
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

function clusterReads(asked: KnownPod, nodes: readonly KnownNode[] | undefined): ClusterImports {
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

function labelValues(nodes: readonly KnownNode[], key: string): { value: string; nodes: number }[] {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const value = entry(node.spec.labels, key);
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  if (counts.size > MAX_LABEL_VALUES) {
    throw new RangeError(`cluster.label-values lists at most ${MAX_LABEL_VALUES} values; the label has more`);
  }
  return [...counts].sort(([a], [b]) => compareTexts(a, b)).map(([value, own]) => ({ value, nodes: own }));
}

function factsReads(nodes: readonly KnownNode[], facts: Readonly<Record<string, Texts>>): FactsImports {
  const text = (source: string, key: string): string | null => {
    if (!Object.hasOwn(facts, source)) {
      throw new RangeError(`the policy reads the source of facts ${source}, which the world does not have`);
    }
    return entry(facts[source], key);
  };
  const name = (node: number): string => at("node", nodes, node).spec.name;
  return {
    text,
    number: (source, key) => numeric(text(source, key)),
    nodeText: (node, source) => text(source, name(node)),
    nodeNumber: (node, source) => numeric(text(source, name(node))),
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

function entry(entries: Texts | undefined, key: string): string | null {
  return entries !== undefined && Object.hasOwn(entries, key) ? (entries[key] ?? null) : null;
}

function has(entries: Texts | undefined, pair: Pair | undefined): boolean {
  return pair === undefined || entry(entries, pair.key) === pair.value;
}

function isSame(one: KnownPod, other: KnownPod): boolean {
  return one.namespace === other.namespace && one.spec.name === other.spec.name;
}

function labelled(node: KnownNode, namespace: string, key: string, value: string): number {
  return node.pods.filter((pod) => pod.namespace === namespace && entry(pod.spec.labels, key) === value).length;
}

function sum(pods: readonly KnownPod[], name: string): number {
  return Math.min(
    pods.reduce((total, pod) => total + (pod.requests.get(name) ?? 0), 0),
    MOST,
  );
}

/** A finite number in decimal digits. */
function numeric(text: string | null): number | null {
  if (text === null || !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return null;
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}

function seconds(time: Date | undefined): number {
  return time === undefined ? 0 : Math.max(Math.floor(time.getTime() / 1000), 0);
}

/** Cpu in millicores, and all else in base units. */
function amounts(of: string, resources: Texts = {}): ReadonlyMap<string, number> {
  const parsed = (text: string): Quantity => {
    try {
      return Quantity.parse(text);
    } catch (error) {
      throw new RangeError(`${of}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const amount = (name: string, text: string): number => (name === "cpu" ? parsed(text).millis : parsed(text).value);
  return new Map(Object.entries(resources).map(([name, text]) => [name, amount(name, text)]));
}

/** Adds `:latest` to the name of an image that has neither tag nor digest, as kube-scheduler does. */
function normalized(image: string): string {
  return image.lastIndexOf(":") > image.lastIndexOf("/") ? image : `${image}:latest`;
}

function victimsOf(candidate: Candidate, pods: readonly KnownPod[]): number[] {
  const names = pods.map((pod) => `${pod.namespace}/${pod.spec.name ?? ""}`);
  return (candidate.victims ?? []).map((victim) => {
    const index = names.indexOf(victim);
    if (index >= 0) return index;
    throw new RangeError(`the candidate ${candidate.node} names the victim ${victim}; no such pod is placed there`);
  });
}
