/** `plimsoll-asc`: errors name the file and what was expected. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../bin/plimsoll-asc.mjs", import.meta.url));
const IMPORTS = 'import { Filter, fits, Node, Pod, Verdict } from "plimsoll-assemblyscript";\n';
const FILTER = "filter(pod: Pod, node: Node): Verdict { return fits; }";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-asc-"));
after(() => rmSync(folder, { recursive: true }));

function asc(...args) {
  const { status, stderr } = spawnSync(process.execPath, [COMMAND, ...args], { cwd: folder, encoding: "utf8" });
  return { status, stderr };
}

function built(text, ...options) {
  writeFileSync(join(folder, "policy.ts"), text);
  return asc("policy.ts", "-o", "policy.wasm", ...options);
}

function refused(run, status, message) {
  assert.equal(run.status, status, run.stderr);
  assert.ok(run.stderr.includes(message), run.stderr);
  assert.ok(!existsSync(join(folder, "policy.wasm")));
}

test("a source without exactly one exported policy is refused", () => {
  const of = (name, prefix = "export ") => `${prefix}class ${name} implements Filter { ${FILTER} }\n`;
  const interfaces = "Filter, Score, Rank, Preempt, Bind";
  refused(built("export class P {}"), 2, `policy.ts has no policy: expected an exported class that implements ${interfaces}`);
  refused(built(IMPORTS + of("P") + of("Q")), 2, "policy.ts has the policies P and Q: expected one");
  refused(built(IMPORTS + of("P", "")), 2, "policy.ts: the policy P is not exported: write export class P");
});

test("a verb that would be left out is refused with its line", () => {
  const score = "score(pod: Pod, node: Node): u32 { return 1; }";
  const of = (head, members, from = IMPORTS) => built(`${from}${head} {\n${members}\n}`);
  const interfaces = "expected only Filter, Score, Rank, Preempt, Bind, by these names";
  const refusedAs = (run, line, problem) => refused(run, 2, `policy.ts:${line}: the policy P ${problem}`);
  const alias = IMPORTS.replace("Filter,", "Filter as F, Score,");
  refusedAs(of("export class P implements F, Score", FILTER + score, alias), 2, `implements F: ${interfaces}`);
  const space = `import * as sdk from "plimsoll-assemblyscript";\n${IMPORTS}`;
  refusedAs(of("export class P implements Filter, sdk.Score", FILTER + score, space), 3, `implements sdk.Score: ${interfaces}`);
  refusedAs(of("export class P extends Base implements Filter", FILTER), 2, "extends Base: expected a class that extends none");
  const method = "has a method score and does not implement Score: add Score to `implements`, or rename the method";
  refusedAs(of("export class P implements Filter", `${FILTER}\n${score}`), 4, method);
});

test("a private or static helper may have the name of a verb, and another class its own base and interfaces", () => {
  const helpers = "private score(): u32 { return 1; }\nstatic rank(): u32 { return 1; }";
  const other = "interface Named {}\nclass Base {}\nclass Other extends Base implements Named { bind(): void {} }\n";
  const run = built(`${IMPORTS}${other}export class P implements Filter {\n${FILTER}\n${helpers}\n}`);
  assert.deepEqual(run, { status: 0, stderr: "" });
  rmSync(join(folder, "policy.wasm"));
});

test("a verb that the class lacks, or that has another type, does not compile", () => {
  refused(built(`${IMPORTS}export class P implements Filter {}`), 1, "'policy/P' does not implement");
  const wrong = FILTER.replace("Verdict", "bool").replace("fits", "true");
  refused(built(`${IMPORTS}export class P implements Filter { ${wrong} }`), 1, "policy.ts does not compile");
});

test("arguments that are wrong are refused", () => {
  refused(asc(), 2, "usage: plimsoll-asc POLICY.ts -o POLICY.wasm");
  refused(asc("policy.ts"), 2, "usage: plimsoll-asc POLICY.ts -o POLICY.wasm");
  refused(asc("none.ts", "-o", "policy.wasm"), 2, "none.ts does not exist");
});

test("a module imports what the policy calls, and nothing of the compiler", async () => {
  const policy = `${IMPORTS}export class P implements Filter { ${FILTER.replace("return", "assert(Math.random() < 2); return")} }`;
  assert.deepEqual(built(policy, "--textFile", "policy.wat"), { status: 0, stderr: "" });
  assert.ok(existsSync(join(folder, "policy.wat")));
  const module = await WebAssembly.compile(readFileSync(join(folder, "policy.wasm")));
  const imports = WebAssembly.Module.imports(module).map(({ module, name }) => `${module} ${name}`);
  assert.deepEqual(imports.sort(), ["plimsoll:policy/host@0.1.0 panic", "plimsoll:policy/host@0.1.0 settings"]);
  const exports = WebAssembly.Module.exports(module).map(({ name }) => name);
  const verbs = ["filter", "validate"].map((verb) => `plimsoll:policy/${verb}@0.1.0#${verb}`);
  assert.deepEqual(exports.sort(), ["_initialize", "cabi_realloc", "memory", ...verbs]);
  rmSync(join(folder, "policy.wasm"));
});
