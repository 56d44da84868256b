/** Pods and nodes as the reads need them, with the helpers that more than one group of reads has. */

import { Quantity } from "./quantity.mjs";
import { compareTexts, namespaceOf } from "./objects.mjs";

/** Limit of a sum, as in the host. */
const MOST = (1n << 63n) - 1n;

const ENDED = ["Succeeded", "Failed"];

/** A pod as the reads need it. */
export function knownPod(spec) {
  const requests = amounts(`the pod ${spec.name ?? ""}`, spec.requests);
  return { spec, namespace: namespaceOf(spec), requests, created: seconds(spec.created) };
}

/** A node as the reads need it. */
export function knownNode(spec, withoutPods, asked) {
  // The pod to schedule is not counted among the placed pods.
  const isPlaced = (pod) => !ENDED.includes(pod.spec.phase) && !(asked.spec.name && isSame(pod, asked));
  // From the oldest to the newest, as the gateway numbers them.
  const byAge = (a, b) =>
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

export function entry(entries, key) {
  return entries !== undefined && Object.hasOwn(entries, key) ? (entries[key] ?? null) : null;
}

export function isSame(one, other) {
  return one.namespace === other.namespace && one.spec.name === other.spec.name;
}

export function sum(pods, name) {
  const total = pods.reduce((sum, pod) => sum + (pod.requests.get(name) ?? 0n), 0n);
  return total < MOST ? total : MOST;
}

export function seconds(time) {
  return time === undefined ? 0 : Math.max(Math.floor(time.getTime() / 1000), 0);
}

/** Cpu in millicores, and all else in base units. */
function amounts(of, resources = {}) {
  const parsed = (text) => {
    try {
      return Quantity.parse(text);
    } catch (error) {
      throw new RangeError(`${of}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const amount = (name, text) => (name === "cpu" ? parsed(text).millis : parsed(text).value);
  return new Map(Object.entries(resources).map(([name, text]) => [name, amount(name, text)]));
}

/** Adds `:latest` to the name of an image that has neither tag nor digest, as kube-scheduler does. */
export function normalized(image) {
  return image.lastIndexOf(":") > image.lastIndexOf("/") ? image : `${image}:latest`;
}
