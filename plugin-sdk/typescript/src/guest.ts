/** The policy within its component: passes the host's questions on, and its answers back. */

import type { Binding, Preemption, Verdict } from "./answers.js";
import { installConsole, shown } from "./console.js";
import { imports } from "./generated-host.js";
import type { Pair } from "./generated.js";
import type { Policy, PolicyDefinition } from "./policy.js";
import { settingsOf } from "./policy.js";
import type { Schema, Values } from "./settings.js";
import { SettingsError } from "./settings.js";
import { describe, frames } from "./trace.js";
import { Candidate, Node, Nodes, Pod } from "./views.js";

/** A case of a variant of the contract, as componentize-qjs passes it. */
interface Variant {
  readonly tag: string;
  readonly val?: unknown;
}

/** A thrown value that componentize-qjs turns into the `err` of a WIT `result`. */
class Err {
  constructor(readonly value: unknown) {}
}

const log = installConsole(imports.host);

/** One policy. Its settings are read at the first call of an instance. */
export class Guest {
  readonly #policy: Policy;
  /** With all verbs: the module exports those that the policy has, and so the host calls no other. */
  readonly #definition: Required<PolicyDefinition<Schema>>;
  #values: Values<Schema> | undefined;

  constructor(policy: Policy) {
    this.#policy = policy;
    this.#definition = policy.definition as Required<PolicyDefinition<Schema>>;
  }

  readonly validate = guarded((): void => {
    try {
      this.#settings();
    } catch (error) {
      if (error instanceof SettingsError) throw new Err(error.message);
      throw error;
    }
  });

  readonly filter = guarded((node: number): Variant =>
    verdict(this.#definition.filter(new Pod(imports), new Node(imports, node), this.#settings())),
  );

  readonly score = guarded((node: number): number =>
    score(this.#definition.score(new Pod(imports), new Node(imports, node), this.#settings())),
  );

  readonly rank = guarded((): number[] => {
    const scores = this.#definition.rank(new Pod(imports), new Nodes(imports), this.#settings());
    return Array.isArray(scores) ? scores.map(score) : unexpected("rank", scores, "an array of scores");
  });

  readonly preempt = guarded((candidate: number): Variant =>
    preemption(this.#definition.preempt(new Pod(imports), new Candidate(imports, candidate), this.#settings())),
  );

  readonly bind = guarded((node: number): unknown =>
    binding(this.#definition.bind(new Pod(imports), new Node(imports, node), this.#settings())),
  );

  #settings(): Values<Schema> {
    this.#values ??= settingsOf(this.#policy, JSON.parse(imports.host.settings()));
    return this.#values;
  }
}

/** An error that nobody catches is the fault `panic`: with its text and line, and its stack in the log. */
function guarded<A extends unknown[], T>(handler: (...args: A) => T): (...args: A) => T {
  return (...args) => {
    log.open();
    try {
      return handler(...args);
    } catch (error) {
      if (error instanceof Err) throw error.value;
      const stack = frames(error);
      for (const frame of stack) imports.host.log("error", `    at ${frame}`);
      imports.host.panic(describe(error) + (stack[0] === undefined ? "" : `, at ${stack[0]}`));
      throw error;
    }
  };
}

function verdict(answer: Verdict): Variant {
  switch (answer?.kind) {
    case "fits":
      return { tag: answer.kind };
    case "unschedulable":
    case "unresolvable":
      return reasoned(answer);
    default:
      return unexpected("filter", answer, "fits, unschedulable(...) or unresolvable(...)");
  }
}

function preemption(answer: Preemption): Variant {
  switch (answer?.kind) {
    case "keep":
      return { tag: answer.kind };
    case "reject":
      return reasoned(answer);
    case "replace":
      return { tag: answer.kind, val: answer.victims };
    default:
      return unexpected("preempt", answer, "keep, reject(...) or replaceWith(...)");
  }
}

function binding(answer: Binding): unknown {
  switch (answer?.kind) {
    case "bound":
      return { annotations: pairs(answer.annotations), labels: pairs(answer.labels) };
    case "refused":
    case "retry":
      throw new Err(reasoned(answer));
    default:
      return unexpected("bind", answer, "bound(...), refused(...) or retry(...)");
  }
}

function reasoned({ kind, reason }: { readonly kind: string; readonly reason: string }): Variant {
  return typeof reason === "string" ? { tag: kind, val: reason } : unexpected("a reason", reason, "a string");
}

function pairs(of: Readonly<Record<string, string>>): Pair[] {
  return Object.entries(of).map(([key, value]) => ({ key, value }));
}

function score(answer: number): number {
  return Number.isInteger(answer) && answer >= 0 && answer <= 100
    ? answer
    : unexpected("a score", answer, "a whole number from 0 to 100");
}

function unexpected(of: string, answer: unknown, expected: string): never {
  const found = answer instanceof Promise ? "a promise; a policy has nothing to wait for" : shown(answer);
  throw new TypeError(`${of}: expected ${expected}, found ${found}`);
}
