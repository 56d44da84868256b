/** Reads source maps: https://tc39.es/ecma426. */

import type { LineTable } from "../trace.js";

/** The parts of a source map that places need. */
export interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * The lines of the bundle that are of a policy's source: each with the place of its first mapping.
 *
 * @param named the name of a source, or nothing if it is not the policy's.
 */
export function lineTable({ sources, mappings }: SourceMap, named: (source: string) => string | undefined): LineTable {
  const names = sources.map(named);
  const lines: number[] = [];
  // Each number is the difference to the one before it, in earlier lines as well.
  let [source, line] = [0, 0];
  for (const [index, segments] of mappings.split(";").entries()) {
    let isKnown = false;
    for (const segment of segments.split(",")) {
      const [, toSource, toLine = 0] = numbers(segment);
      if (toSource === undefined) continue;
      source += toSource;
      line += toLine;
      if (isKnown || names[source] === undefined) continue;
      lines.push(index + 1, source, line + 1);
      isKnown = true;
    }
  }
  return { sources: names.map((name) => name ?? ""), lines };
}

/** The numbers of a segment: base 64 with five bits in a digit; the sixth says that more follow. */
function numbers(segment: string): number[] {
  const read: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    read.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return read;
}
