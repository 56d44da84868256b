import { hostPanic } from "./generated-imports";

/** The end of a call by `throw`, a failed `assert`, or an error that the standard library finds. The compiler calls it. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const text = message === null ? "abort" : message;
  const place = file === null ? "" : ", at " + file + ":" + line.toString() + ":" + column.toString();
  hostPanic(text + place);
  unreachable();
}

/** The seed of `Math.random`: the same in each instance, so that answers do not depend on chance. */
export function seed(): f64 {
  return 1;
}
