// The answers of the verbs as the host reads them. `plimsoll-asc` writes the exports, which call these functions.

import { Binding, BindingKind, Preemption, PreemptionKind, Verdict } from "./answers";
import { Pair } from "./generated";
import { hostPanic, hostSettings } from "./generated-imports";
import { lowerText, releaseAll, take } from "./memory";
import { Settings } from "./settings";

export { reallocate } from "./memory";

/** The case of a result: a value, or an error. */
const OK: u8 = 0;
const ERROR: u8 = 1;

/** The case of an error of a bind. */
const NOT_BOUND_REFUSED: u8 = 0;
const NOT_BOUND_RETRY: u8 = 1;

/** The beginning of a call. */
export function begin(): void {
  releaseAll();
}

/** The settings of the sidecar. */
export function readSettings(): Settings {
  return new Settings(hostSettings());
}

/** Ends the call if its settings are refused: they are checked as the policy is loaded, but the call may come first. */
export function requireValid(settings: Settings): void {
  const error = settings.finish();
  if (error !== null) hostPanic(error);
}

/** A result without a value, or with the error. */
export function validation(error: string | null): usize {
  const at = take(12);
  store<u8>(at, error === null ? OK : ERROR);
  if (error !== null) lowerText(error, at + 4);
  return at;
}

export function verdict(answer: Verdict): usize {
  const at = take(12);
  store<u8>(at, answer.kind);
  lowerText(answer.reason, at + 4);
  return at;
}

export function scores(answer: Array<u32>): usize {
  const at = take(8);
  lowerIntegers(answer, at);
  return at;
}

export function preemption(answer: Preemption): usize {
  const at = take(12);
  store<u8>(at, answer.kind);
  if (answer.kind == PreemptionKind.Replace) lowerIntegers(answer.victims, at + 4);
  else lowerText(answer.reason, at + 4);
  return at;
}

export function binding(answer: Binding): usize {
  const at = take(20);
  const isBound = answer.kind == BindingKind.Bound;
  store<u8>(at, isBound ? OK : ERROR);
  if (isBound) {
    lowerPairs(answer.annotations, at + 4);
    lowerPairs(answer.labels, at + 12);
  } else {
    store<u8>(at + 4, answer.kind == BindingKind.Retry ? NOT_BOUND_RETRY : NOT_BOUND_REFUSED);
    lowerText(answer.reason, at + 8);
  }
  return at;
}

function lowerIntegers(integers: Array<u32>, at: usize): void {
  const items = take(4 * integers.length);
  for (let item = 0; item < integers.length; item++) store<u32>(items + 4 * item, integers[item]);
  store<usize>(at, items);
  store<i32>(at + 4, integers.length);
}

function lowerPairs(pairs: Array<Pair>, at: usize): void {
  const items = take(16 * pairs.length);
  for (let item = 0; item < pairs.length; item++) {
    lowerText(pairs[item].key, items + 16 * item);
    lowerText(pairs[item].value, items + 16 * item + 8);
  }
  store<usize>(at, items);
  store<i32>(at + 4, pairs.length);
}
