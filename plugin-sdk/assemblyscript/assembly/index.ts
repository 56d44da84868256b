/**
 * Policies for plimsoll in AssemblyScript.
 *
 * A policy is an exported class: its constructor reads the settings, and it implements the interface of each verb that it
 * has.
 *
 * ```ts
 * import { Filter, fits, Node, Pod, Settings, unresolvable, Verdict } from "plimsoll-assemblyscript";
 *
 * export class NeedsLabel implements Filter {
 *   private readonly annotation: string;
 *
 *   constructor(settings: Settings) {
 *     this.annotation = settings.stringOr("annotation", "example.com/needs");
 *   }
 *
 *   filter(pod: Pod, node: Node): Verdict {
 *     const key = pod.annotation(this.annotation);
 *     if (key === null || node.label(key) !== null) return fits;
 *     return unresolvable("node lacks the label that the pod needs");
 *   }
 * }
 * ```
 *
 * A policy is a function of the values that it reads: it must not keep state from one call to the next. `throw` ends a call
 * as the fault `panic`, with text, file and line; `console` writes to the log of the gateway.
 */

export {
  Binding,
  bound,
  fits,
  keep,
  Preemption,
  refused,
  reject,
  replaceWith,
  retry,
  unresolvable,
  unschedulable,
  Verdict,
} from "./answers";
export { Grouping, LabelCount, Owner, Pair, Selector, Taint } from "./generated";
export { Json, JsonKind } from "./json";
export { Quantity } from "./quantity";
export { Settings } from "./settings";
export { Some } from "./some";
export { Bind, Filter, Preempt, Rank, Score } from "./verbs";
export { Candidate, Cluster, Facts, Free, Groups, Node, Nodes, Placed, Pod } from "./views";
