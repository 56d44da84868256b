/**
 * Policies for plimsoll in TypeScript and JavaScript.
 *
 * A policy is the default export of a module: its settings, and a function for each verb that it has.
 *
 * ```ts
 * import { definePolicy, fits, setting, unresolvable } from "plimsoll";
 *
 * export default definePolicy({
 *   settings: { annotation: setting.string({ default: "example.com/needs" }) },
 *   filter(pod, node, { annotation }) {
 *     const key = pod.annotation(annotation);
 *     if (key !== undefined && node.label(key) === undefined) {
 *       return unresolvable("node lacks the label that the pod needs");
 *     }
 *     return fits;
 *   },
 * });
 * ```
 *
 * `npx plimsoll-build needs-label.ts -o needs-label.wasm` makes the module. `plimsoll/testing` asks a policy natively.
 * The gateway logs what `console` gets.
 *
 * @packageDocumentation
 */

export type { LabelCount, Owner, Pair, Selector, Taint } from "./generated.js";
export type { Binding, Preemption, Verdict } from "./answers.js";
export { bound, fits, keep, refused, reject, replaceWith, retry, unresolvable, unschedulable } from "./answers.js";
export type { Policy, PolicyDefinition } from "./policy.js";
export { definePolicy } from "./policy.js";
export { Quantity } from "./quantity.js";
export type { Field, Schema, Values } from "./settings.js";
export { setting, SettingsError } from "./settings.js";
export { Candidate, Cluster, Facts, Groups, Node, Nodes, Placed, Pod } from "./views.js";
