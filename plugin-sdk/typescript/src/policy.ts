/** Policies. */

import type { Binding, Preemption, Verdict } from "./answers.js";
import type { Schema, Values } from "./settings.js";
import { readSettings } from "./settings.js";
import type { Candidate, Node, Nodes, Pod } from "./views.js";

/** The verbs, in the order of the contract. */
export const VERBS = ["filter", "score", "rank", "preempt", "bind"] as const;

/** A question that a policy can answer. */
export type Verb = (typeof VERBS)[number];

/**
 * A policy: its settings, and a function for each verb that it has.
 *
 * It must not keep anything from one call to the next, because answers are cached.
 */
export interface PolicyDefinition<S extends Schema> {
  /** The settings, which the functions get as their last argument. */
  readonly settings?: S;
  /**
   * Refuses settings that are of the right kinds, and wrong.
   *
   * @throws SettingsError with the reason.
   */
  validate?(settings: Values<S>): void;
  /** May the pod run on this node? */
  filter?(pod: Pod, node: Node, settings: Values<S>): Verdict;
  /** 0 to 100; higher is better. */
  score?(pod: Pod, node: Node, settings: Values<S>): number;
  /** One score of 0 to 100 for each node, in the order of the nodes. */
  rank?(pod: Pod, nodes: Nodes, settings: Values<S>): readonly number[];
  /** May the victims of this candidate be evicted for the pod? */
  preempt?(pod: Pod, candidate: Candidate, settings: Values<S>): Preemption;
  /** The metadata that the pod carries from its binding on, or the reason why it is not bound. */
  bind?(pod: Pod, node: Node, settings: Values<S>): Binding;
}

/** Marks a policy. `Symbol.for`, since a bundle may have its own copy of this package. */
const MARK = Symbol.for("plimsoll.policy");

/** A policy that `definePolicy` has checked: the default export of a policy's module. */
export interface Policy<S extends Schema = Schema> {
  /** @internal */
  readonly definition: PolicyDefinition<S>;
  /** @internal */
  readonly [MARK]: true;
}

/**
 * Makes a policy.
 *
 * @throws TypeError if it has no verb, or something else than settings, `validate` and verbs.
 */
export function definePolicy<S extends Schema = Record<never, never>>(definition: PolicyDefinition<S>): Policy<S> {
  const known: readonly string[] = ["settings", "validate", ...VERBS];
  const prototype = Object.getPrototypeOf(definition) as object | null;
  // The check below does not see the methods of a class.
  if (prototype !== null && prototype !== Object.prototype) {
    const { name } = prototype.constructor;
    throw new TypeError(`a policy is a plain object such as { filter() { ... } }, found an instance of ${name}`);
  }
  for (const [name, member] of Object.entries(definition)) {
    if (!known.includes(name)) throw new TypeError(`a policy has no ${name}; expected ${known.join(", ")}`);
    const expected = name === "settings" ? "object" : "function";
    if (typeof member !== expected) throw new TypeError(`${name} of a policy: expected a ${expected}, found ${typeof member}`);
  }
  const policy = { definition, [MARK]: true as const };
  if (verbsOf(policy).length === 0) throw new TypeError(`a policy needs a verb: ${VERBS.join(", ")}`);
  return policy;
}

/** Whether a value is a policy. */
export function isPolicy(value: unknown): value is Policy {
  return typeof value === "object" && value !== null && MARK in value;
}

/** The verbs that a policy has. */
export function verbsOf<S extends Schema>(policy: Policy<S>): Verb[] {
  return VERBS.filter((verb) => policy.definition[verb] !== undefined);
}

/**
 * The settings of a policy, with the checks that the gateway makes as it loads the policy.
 *
 * @throws SettingsError if the policy refuses them.
 */
export function settingsOf<S extends Schema>(policy: Policy<S>, value: unknown): Values<S> {
  const { settings, validate } = policy.definition;
  const values = readSettings(settings ?? ({} as S), value);
  validate?.call(policy.definition, values);
  return values;
}

