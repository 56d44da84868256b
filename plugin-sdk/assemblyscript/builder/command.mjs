/** `plimsoll-asc POLICY.ts -o POLICY.wasm` */

import { writeFileSync } from "node:fs";

import { compile, CompileError } from "./compile.mjs";
import { UsageError } from "./policy.mjs";

const USAGE = "usage: plimsoll-asc POLICY.ts -o POLICY.wasm [further options of asc, such as --debug]";

/** Runs the command; the exit code: 1 if the policy does not compile, 2 for an error in the arguments. */
export async function main(args) {
  try {
    const { source, out, options } = parsed(args);
    writeFileSync(out, await compile(source, options));
    return 0;
  } catch (error) {
    const isExpected = error instanceof UsageError || error instanceof CompileError || error.syscall !== undefined;
    if (!isExpected) throw error;
    console.error(`plimsoll-asc: ${error.message}`);
    return error instanceof CompileError ? 1 : 2;
  }
}

function parsed([source, ...rest]) {
  const at = rest.findIndex((arg) => arg === "-o" || arg === "--outFile");
  const out = rest[at + 1];
  if (source === undefined || !source.endsWith(".ts") || at < 0 || out === undefined) throw new UsageError(USAGE);
  return { source, out, options: rest.toSpliced(at, 2) };
}
