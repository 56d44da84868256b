/** The objects of a test, and as the JSON that policies read fields of. */

import type { Owner, Taint } from "../generated.js";

type Texts = Readonly<Record<string, string>>;

/** An object as JSON. */
export type Json = Record<string, unknown>;

/** The pod to schedule, or one that is placed. */
export interface Pod {
  readonly name?: string;
  /** `default` if it is not given. */
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Texts;
  readonly annotations?: Texts;
  readonly priority?: number;
  readonly priorityClass?: string;
  readonly controller?: Owner;
  readonly created?: Date;
  /** The requests of the pod as a whole, written as in Kubernetes: `{ cpu: "500m", memory: "4Gi" }`. */
  readonly requests?: Texts;
  readonly images?: readonly string[];
  /** A pod that is `Succeeded` or `Failed` is not placed any more. */
  readonly phase?: string;
  /** Whether it has a `metadata.deletionTimestamp`. */
  readonly terminating?: boolean;
  /** The rest of the object, for policies that read fields. */
  readonly object?: Readonly<Json>;
}

/** A node with the pods placed on it. */
export interface Node {
  readonly name: string;
  readonly labels?: Texts;
  readonly annotations?: Texts;
  readonly taints?: readonly Taint[];
  readonly allocatable?: Texts;
  readonly capacity?: Texts;
  /** The status of each condition: `{ Ready: "True" }`. */
  readonly conditions?: Texts;
  readonly unschedulable?: boolean;
  /** Its IP addresses and host names, by which facts may know it. */
  readonly addresses?: readonly string[];
  /** The bytes of each image that it has pulled. */
  readonly images?: Readonly<Record<string, number>>;
  readonly pods?: readonly Pod[];
  /** Whether it may have other pods as well, which the gateway does not know. */
  readonly podsUnknown?: boolean;
  /** The resources that a DeviceClass provides on it: how much it has of them is not known. */
  readonly resourcesUnknown?: readonly string[];
  /** The rest of the object, for policies that read fields. */
  readonly object?: Readonly<Json>;
}

/** A node on which kube-scheduler could make room. */
export interface Candidate {
  readonly node: string;
  /** As namespace/name, by descending priority. */
  readonly victims?: readonly string[];
  readonly pdbViolations?: number;
}

/** The namespace of a pod. */
export function namespaceOf(pod: Pod): string {
  return pod.namespace ?? "default";
}

/** A pod as the object of Kubernetes. */
export function podObject(pod: Pod): Json {
  const { controller } = pod;
  const metadata = without({
    name: pod.name ?? "",
    namespace: namespaceOf(pod),
    uid: pod.uid,
    labels: pod.labels,
    annotations: pod.annotations,
    creationTimestamp: pod.created?.toISOString().replace(/\.\d+Z$/, "Z"),
    ownerReferences: controller && [{ ...controller, controller: true }],
  });
  const requests = pod.requests === undefined ? [] : [{ resources: { requests: pod.requests } }];
  const containers = [...requests, ...(pod.images ?? []).map((image) => ({ image }))];
  const spec = { containers, ...without({ priority: pod.priority, priorityClassName: pod.priorityClass }) };
  return merged(pod.object ?? {}, { metadata, spec, ...(pod.phase ? { status: { phase: pod.phase } } : {}) });
}

/** A node as the object of Kubernetes, without the parts that no policy can read. */
export function nodeObject(node: Node): Json {
  const sorted = <T>(of: Readonly<Record<string, T>> = {}) => Object.entries(of).sort(([a], [b]) => compareTexts(a, b));
  const metadata = { name: node.name, ...without({ labels: node.labels, annotations: node.annotations }) };
  const spec = without({ taints: node.taints, unschedulable: node.unschedulable });
  const status = without({
    addresses: (node.addresses ?? []).map((address) => ({ type: "InternalIP", address })),
    conditions: sorted(node.conditions).map(([type, value]) => ({ type, status: value })),
    images: sorted(node.images).map(([image, sizeBytes]) => ({ names: [image], sizeBytes })),
    allocatable: node.allocatable,
    capacity: node.capacity,
  });
  return withoutUnreadable(merged(node.object ?? {}, { metadata, spec, status }));
}

/** The JSON text at an RFC 6901 pointer, with the keys of objects in order; `null` for none. */
export function atPointer(value: unknown, pointer: string): string | null {
  if (pointer !== "" && !pointer.startsWith("/")) return null;
  for (const token of pointer.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value) && /^(0|[1-9]\d*)$/.test(key) && Number(key) < value.length) value = value[Number(key)];
    else if (isObject(value) && Object.hasOwn(value, key)) value = value[key];
    else return null;
  }
  return JSON.stringify(inOrder(value));
}

/** The order of texts by their bytes in UTF-8, which is that of their code points. */
export function compareTexts(one: string, other: string): number {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return Buffer.compare(left, right);
}

function isObject(value: unknown): value is Readonly<Json> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The entries that have a value that Kubernetes would write. */
function without(entries: Readonly<Json>): Json {
  const isEmpty = (value: unknown): boolean =>
    !value || (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(entries).filter(([key, value]) => key === "name" || !isEmpty(value)));
}

/** The object of a test with the values of its fields. */
function merged(given: Readonly<Json>, fields: Readonly<Json>): Json {
  const all: Json = { ...given };
  for (const [key, value] of Object.entries(fields)) {
    const outer = all[key];
    all[key] = isObject(outer) && isObject(value) ? merged(outer, value) : value;
  }
  return all;
}

/** A node without the parts that no policy can read. */
function withoutUnreadable(node: Json): Json {
  const { kind: _kind, apiVersion: _version, ...object } = node;
  const { managedFields: _fields, resourceVersion: _resource, ...metadata } = object["metadata"] as Json;
  const status = object["status"] as Json;
  const conditions = (status["conditions"] ?? []) as Json[];
  if (conditions.length === 0) return { ...object, metadata };
  const withoutHeartbeats = conditions.map(({ lastHeartbeatTime: _time, ...condition }) => condition);
  return { ...object, metadata, status: { ...status, conditions: withoutHeartbeats } };
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => compareTexts(a, b));
  return Object.fromEntries(entries.map(([key, member]) => [key, inOrder(member)]));
}
