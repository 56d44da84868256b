/** The answers of a policy, as plain data. */

/** The pod may run on the node. */
export const fits = { kind: "fits" };

/** The pod does not fit now, but may once other pods are gone. */
export function unschedulable(reason) {
  return { kind: "unschedulable", reason };
}

/** The pod does not fit, whatever else is evicted. */
export function unresolvable(reason) {
  return { kind: "unresolvable", reason };
}

/** The pods that kube-scheduler proposed are evicted. */
export const keep = { kind: "keep" };

/** There is no preemption on the node. */
export function reject(reason) {
  return { kind: "reject", reason };
}

/** The pod is bound, with this metadata. */
export function bound({ annotations = {}, labels = {} } = {}) {
  return { kind: "bound", annotations, labels };
}

/** The pod is not bound. */
export function refused(reason) {
  return { kind: "refused", reason };
}

/** The pod cannot be bound yet. */
export function retry(reason) {
  return { kind: "retry", reason };
}
