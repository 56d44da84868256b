/** `plimsoll-build` makes a module, or says why there is none. The gateway's own tests call the modules. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

/** From the folder of the built test. */
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILD = join(ROOT, "bin/plimsoll-build.mjs");

// Within the package, so that a policy finds it by its name.
const folder = mkdtempSync(join(ROOT, "build", "policies-"));
after(() => rmSync(folder, { recursive: true }));

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BUILD, ...args], { cwd: folder, encoding: "utf8", timeout: 60_000 });
  return { status, stdout, stderr };
}

function policy(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

test("a policy in plain JavaScript becomes a component with its verbs", () => {
  const source = policy("plain.js", 'import { definePolicy, fits } from "plimsoll";\nexport default definePolicy({ filter: () => fits });\n');
  assert.deepEqual(run(source), { status: 0, stdout: "", stderr: "" });
  const module = readFileSync(join(folder, "plain.wasm"));
  // The header of a component, version 0x0d.
  assert.deepEqual([...module.subarray(0, 8)], [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]);
  const [filter, score] = ["filter", "score"].map((verb) => module.includes(`plimsoll:policy/${verb}@0.1.0`));
  assert.deepEqual([filter, score], [true, false]);
});

test("the build ends when it is done, though the top level has started a timer", () => {
  const timer = "globalThis.setInterval?.(() => undefined, 1000);\n";
  const source = policy("timer.js", `import { definePolicy, fits } from "plimsoll";\n${timer}export default definePolicy({ filter: () => fits });\n`);
  assert.deepEqual(run(source), { status: 0, stdout: "", stderr: "" });
});

/** Fails at its line 3, which line 5 of the policy calls. */
function thrower(condition: string): string {
  return `export function lookup(key) {
  if (${condition}) {
    throw new Error(\`no \${key} here\`);
  }
  return key;
}
`;
}

const THROWING = `import { definePolicy, fits } from "plimsoll";

import { lookup } from "./lookup.js";

const zone = lookup("zone");

export default definePolicy({ filter: () => (zone ? fits : fits) });
`;

for (const [engine, condition] of [["Node.js", 'typeof process !== "undefined"'], ["QuickJS", 'typeof process === "undefined"']] as const) {
  test(`an error of the top level names the author's lines: ${engine}`, () => {
    policy("lookup.js", thrower(condition));
    const error = "Error: no zone here\n    at lookup (lookup.js:3)\n    at throwing.js:5";
    const stderr = `plimsoll-build: throwing.js: its top level fails in ${engine}: ${error}\n`;
    assert.deepEqual(run(policy("throwing.js", THROWING)), { status: 2, stdout: "", stderr });
  });
}

const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  ["number.ts", "export default 3;\n", /number\.ts: its default export is no policy; expected export default definePolicy/],
  ["verbless.ts", 'import { definePolicy } from "plimsoll";\nexport default definePolicy({});\n', /a policy needs a verb: filter/],
  ["syntax.ts", "export default 3 +;\n", /syntax\.ts:1: Unexpected ";"/],
  ["file.ts", 'import { readFileSync } from "node:fs";\nexport default readFileSync("a");\n', /file\.ts:1: Could not resolve "node:fs"/],
];

for (const [name, text, error] of REFUSED) {
  test(`a file that is no policy is refused, and nothing is left behind: ${name}`, () => {
    const { status, stderr } = run(policy(name, text), "-o", "out.wasm");
    assert.match(stderr, error);
    assert.notEqual(status, 0);
    assert.deepEqual(readdirSync(folder).filter((file) => file.startsWith("out.")), []);
  });
}

test("wrong arguments are refused", () => {
  assert.deepEqual(run(), { status: 2, stdout: "", stderr: "plimsoll-build: expected one SOURCE, found 0\n" });
  assert.deepEqual(run("none.ts").stderr, "plimsoll-build: none.ts: there is no such file\n");
  assert.equal(run("--fast", "none.ts").status, 2);
  assert.match(run("--help").stdout, /^plimsoll-build: makes a module/);
});
