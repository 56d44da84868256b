/** Lines of `key=value`; a value that is absent is `-`. */

import type { Owner } from "plimsoll";

export function lines(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${show(value)}`)
    .join("\n");
}

function show(value: unknown): string {
  if (value === undefined) return "-";
  if (value instanceof Date) return String(value.getTime() / 1000);
  if (Array.isArray(value)) return value.join(" ");
  return String(value);
}

export function owner(own: Owner | undefined): string | undefined {
  return own && [own.apiVersion, own.kind, own.name, own.uid].join(" ");
}

/** A whole number: not every language writes a fraction in the same way. */
export function thousandths(number: number | undefined): number | undefined {
  return number === undefined ? undefined : Math.trunc(number * 1000);
}
