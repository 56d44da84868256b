/** Lines of `key=value`; a value that is absent is `-`. */

import { Owner, Some } from "plimsoll-assemblyscript";

export class Lines {
  private text: string = "";

  constructor(private readonly prefix: string = "") {}

  /** Adds a line. */
  add(key: string, value: string | null): this {
    if (this.text != "") this.text += "\n";
    this.text += this.prefix + key + "=" + (value === null ? "-" : value);
    return this;
  }

  toString(): string {
    return this.text;
  }
}

export function owner(own: Owner | null): string | null {
  return own === null ? null : own.apiVersion + " " + own.kind + " " + own.name + " " + own.uid;
}

/** A time in seconds; 0 is none. */
export function time(seconds: u64): string | null {
  return seconds == 0 ? null : seconds.toString();
}

export function number<T>(own: Some<T> | null): string | null {
  return own === null ? null : own.value.toString();
}

/** A whole number: not every language writes a fraction in the same way. */
export function thousandths(own: Some<f64> | null): string | null {
  return own === null ? null : (<i64>(own.value * 1000)).toString();
}
