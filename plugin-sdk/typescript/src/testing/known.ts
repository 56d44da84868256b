/** Pods and nodes as the reads need them, with the helpers that more than one group of reads has. */

import { Quantity } from "../quantity.js";
import { compareTexts, type Node, namespaceOf, type Pod } from "./objects.js";

export type Texts = Readonly<Record<string, string>>;

/** A pod as the reads need it. */
export interface KnownPod {
  readonly spec: Pod;
  readonly namespace: string;
  readonly requests: ReadonlyMap<string, number>;
  readonly created: number;
}

/** A node as the reads need it. */
export interface KnownNode {
  readonly spec: Node;
  readonly allocatable: ReadonlyMap<string, number>;
  readonly capacity: ReadonlyMap<string, number>;
  readonly images: ReadonlyMap<string, number>;
  /** Whether all its pods are known. */
  readonly isKnown: boolean;
  readonly pods: readonly KnownPod[];
}

/** Limit of a sum; the host saturates at 2^63 - 1. */
const MOST = 2 ** 63;

const ENDED: readonly (string | undefined)[] = ["Succeeded", "Failed"];

export function knownPod(spec: Pod): KnownPod {
  const requests = amounts(`the pod ${spec.name ?? ""}`, spec.requests);
  return { spec, namespace: namespaceOf(spec), requests, created: seconds(spec.created) };
}

export function knownNode(spec: Node, withoutPods: boolean, asked: KnownPod): KnownNode {
  // The pod to schedule is not counted among the placed pods.
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

export function entry<T>(entries: Readonly<Record<string, T>> | undefined, key: string): T | null {
  return entries !== undefined && Object.hasOwn(entries, key) ? (entries[key] ?? null) : null;
}

export function isSame(one: KnownPod, other: KnownPod): boolean {
  return one.namespace === other.namespace && one.spec.name === other.spec.name;
}

export function sum(pods: readonly KnownPod[], name: string): number {
  return Math.min(
    pods.reduce((total, pod) => total + (pod.requests.get(name) ?? 0), 0),
    MOST,
  );
}

export function seconds(time: Date | undefined): number {
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
export function normalized(image: string): string {
  return image.lastIndexOf(":") > image.lastIndexOf("/") ? image : `${image}:latest`;
}
