/** Values as the log and the errors show them. */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { installConsole, shown } from "#internal/console";

const original = globalThis.console;
after(() => Object.assign(globalThis, { console: original }));

test("a value of the wrong kind is shown as JSON", () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const values = [{ kind: "fist" }, ["a"], "cheap", undefined, null, new RangeError("too far"), cyclic];
  const expected = ['{"kind":"fist"}', '["a"]', "cheap", "undefined", "null", "RangeError: too far", "[object Object]"];
  assert.deepEqual(values.map(shown), expected);
});

test("the console writes to the log of the host once it is open", () => {
  const lines: string[] = [];
  const log = installConsole({
    settings: () => "null",
    now: () => 0,
    log: (level, text) => lines.push(`${level}: ${text}`),
    panic: () => undefined,
  });
  console.info("while the module is built");
  log.open();
  console.warn("node", { name: "n" });
  console.log(3);
  assert.deepEqual(lines, ['warn: node {"name":"n"}', "info: 3"]);
});
