/** Values as Rust shows them. */

import type { LabelCount, Owner, Taint } from "plimsoll";

/** A text in quotes; a number or a boolean as it is. */
export function show(value: unknown): string {
  return JSON.stringify(value);
}

/** A value that may be absent. */
export function option<T>(value: T | undefined, of: (value: T) => string = show): string {
  return value === undefined ? "None" : `Some(${of(value)})`;
}

/** A list. */
export function list<T>(values: readonly T[], of: (value: T) => string): string {
  return `[${values.map(of).join(", ")}]`;
}

/** A tuple of values that are shown already. */
export function row(...shown: string[]): string {
  return `(${shown.join(", ")})`;
}

/** Seconds since 1970. */
export function unix(time: Date | undefined): number | undefined {
  return time && time.getTime() / 1000;
}

export function taint({ key, value, effect }: Taint): string {
  return `Taint { key: ${show(key)}, value: ${show(value)}, effect: ${show(effect)} }`;
}

export function owner({ apiVersion, kind, name, uid }: Owner): string {
  return `Owner { api_version: ${show(apiVersion)}, kind: ${show(kind)}, name: ${show(name)}, uid: ${show(uid)} }`;
}

export function labelCount({ value, nodes }: LabelCount): string {
  return `LabelCount { value: ${show(value)}, nodes: ${nodes} }`;
}
