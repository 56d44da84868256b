/** The answers of a policy, as plain data. */

import type { Placed } from "./views.js";

/**
 * The answer of a filter.
 *
 * A reason has at most 1,024 bytes, and nothing that differs from node to node: kube-scheduler counts nodes by reason.
 */
export type Verdict =
  | { readonly kind: "fits" }
  | { readonly kind: "unschedulable"; readonly reason: string }
  | { readonly kind: "unresolvable"; readonly reason: string };

/** The pod may run on the node. */
export const fits: Verdict = { kind: "fits" };

/** The pod does not fit now, but may once other pods are gone. */
export function unschedulable(reason: string): Verdict {
  return { kind: "unschedulable", reason };
}

/** The pod does not fit, whatever else is evicted. */
export function unresolvable(reason: string): Verdict {
  return { kind: "unresolvable", reason };
}

/** The decision about one preemption candidate. */
export type Preemption =
  | { readonly kind: "keep" }
  | { readonly kind: "reject"; readonly reason: string }
  | { readonly kind: "replace"; readonly victims: readonly number[] };

/** Evict the pods that kube-scheduler proposed. */
export const keep: Preemption = { kind: "keep" };

/** Do not preempt on this node. */
export function reject(reason: string): Preemption {
  return { kind: "reject", reason };
}

/** Evict these pods of the candidate's node instead, at least one. */
export function replaceWith(victims: readonly Placed[]): Preemption {
  return { kind: "replace", victims: victims.map((victim) => victim.index) };
}

/** The answer of a bind: the metadata that the pod gets in the write that binds it, or the reason why it is not bound. */
export type Binding =
  | {
      readonly kind: "bound";
      /** At most 64; all annotations of a pod have at most 256 KiB. One that the pod has already is overwritten. */
      readonly annotations: Readonly<Record<string, string>>;
      /**
       * At most 64, by the rules of Kubernetes for labels. A label that the pod has already with another value is not
       * overwritten, and the pod is not bound. The API server must be of Kubernetes 1.35 or later.
       */
      readonly labels: Readonly<Record<string, string>>;
    }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "retry"; readonly reason: string };

/** Bind the pod, with this metadata. */
export function bound(metadata: {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
} = {}): Binding {
  return { kind: "bound", annotations: metadata.annotations ?? {}, labels: metadata.labels ?? {} };
}

/** Do not bind the pod: kube-scheduler gets the reason and retries the pod after a back-off. */
export function refused(reason: string): Binding {
  return { kind: "refused", reason };
}

/**
 * The pod cannot be bound yet: the host asks again when the cluster has changed, within the time of the request.
 * For a cause that ends within seconds, such as a device that is being given back.
 */
export function retry(reason: string): Binding {
  return { kind: "retry", reason };
}
