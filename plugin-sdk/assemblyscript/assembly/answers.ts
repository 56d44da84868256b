import { Pair } from "./generated";
import { Placed } from "./views";

/**
 * The case of a verdict, as the contract numbers it.
 *
 * @internal
 */
export enum VerdictKind { Fits, Unschedulable, Unresolvable }

/**
 * The case of a preemption, as the contract numbers it.
 *
 * @internal
 */
export enum PreemptionKind { Keep, Reject, Replace }

/**
 * The case of a binding.
 *
 * @internal
 */
export enum BindingKind { Bound, Refused, Retry }

/**
 * The answer of a filter: `fits`, `unschedulable(...)` or `unresolvable(...)`.
 *
 * A reason has at most 1,024 bytes, and nothing that differs from node to node: kube-scheduler counts nodes by reason.
 */
export class Verdict {
  /** @internal */
  constructor(
    readonly kind: VerdictKind,
    readonly reason: string,
  ) {}
}

/** The pod may run on the node. */
export const fits = new Verdict(VerdictKind.Fits, "");

/** The pod does not fit now, but may once other pods are gone. */
export function unschedulable(reason: string): Verdict {
  return new Verdict(VerdictKind.Unschedulable, reason);
}

/** The pod does not fit, whatever else is evicted. */
export function unresolvable(reason: string): Verdict {
  return new Verdict(VerdictKind.Unresolvable, reason);
}

/** The decision about one preemption candidate: `keep`, `reject(...)` or `replaceWith(...)`. */
export class Preemption {
  /** @internal */
  constructor(
    readonly kind: PreemptionKind,
    readonly reason: string,
    readonly victims: Array<u32>,
  ) {}
}

/** Evict the pods that kube-scheduler proposed. */
export const keep = new Preemption(PreemptionKind.Keep, "", []);

/** Do not preempt on this node. */
export function reject(reason: string): Preemption {
  return new Preemption(PreemptionKind.Reject, reason, []);
}

/** Evict these pods of the candidate's node instead, at least one. */
export function replaceWith(victims: Array<Placed>): Preemption {
  return new Preemption(PreemptionKind.Replace, "", victims.map<u32>((victim) => victim.index));
}

/** The answer of a bind: `bound()`, `refused(...)` or `retry(...)`. */
export class Binding {
  /** @internal */
  readonly annotations: Array<Pair> = [];
  /** @internal */
  readonly labels: Array<Pair> = [];

  /** @internal */
  constructor(
    readonly kind: BindingKind,
    readonly reason: string,
  ) {}

  /**
   * Adds an annotation to the pod, at most 64. All annotations of a pod have at most 256 KiB; one that the pod has already
   * is overwritten.
   */
  annotation(key: string, value: string): this {
    this.annotations.push(new Pair(key, value));
    return this;
  }

  /**
   * Adds a label to the pod, at most 64, by the rules of Kubernetes for labels. A label that the pod has already with
   * another value is not overwritten, and the pod is not bound. The API server must be of Kubernetes 1.35 or later.
   */
  label(key: string, value: string): this {
    this.labels.push(new Pair(key, value));
    return this;
  }
}

/** Bind the pod: `bound().annotation("example.com/device", device)`. */
export function bound(): Binding {
  return new Binding(BindingKind.Bound, "");
}

/** Do not bind the pod: kube-scheduler gets the reason and retries the pod after a back-off. */
export function refused(reason: string): Binding {
  return new Binding(BindingKind.Refused, reason);
}

/**
 * The pod cannot be bound yet: the host asks again when the cluster has changed, within the time of the request.
 * For a cause that ends within seconds, such as a device that is being given back.
 */
export function retry(reason: string): Binding {
  return new Binding(BindingKind.Retry, reason);
}
