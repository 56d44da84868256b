/** Frames of errors name the lines of the sources. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { lineTable } from "#internal/builder/source-map";
import { describe, frames, LINE_TABLE } from "#internal/trace";

const globals = globalThis as Record<string, unknown>;
afterEach(() => delete globals[LINE_TABLE]);

/** Line 1 of the bundle is line 1 of the package; its lines 2 and 4 are lines 3 and 7 of the policy. */
const MAP = { sources: ["guest.js", "needs-label.ts"], mappings: "AAAA;ACEA,IAAI;;EAIF" };

/** An error with a stack as QuickJS writes it. */
function thrown(...stack: string[]): Error {
  const error = new RangeError("too far");
  error.stack = stack.join("\n");
  return error;
}

function namedByAuthor(source: string): string | undefined {
  return source.endsWith(".ts") ? source : undefined;
}

test("the table has the lines of the policy's sources alone", () => {
  assert.deepEqual(lineTable(MAP, namedByAuthor), { sources: ["", "needs-label.ts"], lines: [2, 1, 3, 4, 1, 7] });
});

test("frames are those of the policy, with the lines of its sources", () => {
  globals[LINE_TABLE] = lineTable(MAP, namedByAuthor);
  const error = thrown(
    "    at inner (componentize-qjs:user.js:4:9)",
    "    at <anonymous> (componentize-qjs:user.js:2:3)",
    "    at guarded (componentize-qjs:user.js:1:1)",
    "    at map (native)",
  );
  assert.deepEqual(frames(error), ["inner (needs-label.ts:7)", "needs-label.ts:3"]);
});

test("a thrown value that is no error has no frames", () => {
  assert.deepEqual([frames("text"), describe("text"), describe(thrown())], [[], "thrown: text", "RangeError: too far"]);
});

test("without a table there are no frames", () => {
  assert.deepEqual(frames(thrown("    at filter (componentize-qjs:user.js:3:9)")), []);
});
