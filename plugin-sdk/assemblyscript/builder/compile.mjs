/** Compiles a policy with asc. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import asc from "assemblyscript/asc";
import { Transform } from "assemblyscript/transform";

import { entryText, exportNames } from "./entry.mjs";
import { policyOf, UsageError } from "./policy.mjs";

/** The package by which policies import the SDK, and its sources. */
const SDK = "plimsoll-assemblyscript";
const SOURCES = fileURLToPath(new URL("../assembly", import.meta.url));

/** A name that no file of an author has. */
const ENTRY = "plimsoll-entry";

const MODULE = `${ENTRY}.wasm`;

/** asc has written its errors to standard error. */
export class CompileError extends Error {}

/** Gives each export the name that the contract says, which no function of the language can have. */
class ContractNames extends Transform {
  #names;

  constructor(names) {
    super();
    this.#names = names;
  }

  afterCompile(module) {
    for (const [name, contractName] of this.#names) {
      const internal = name === "reallocate" ? `~lib/${SDK}/memory/${name}` : `${ENTRY}/${name}`;
      module.removeExport(name);
      module.addFunctionExport(internal, contractName);
    }
  }
}

/**
 * The module of a policy.
 *
 * @param {string | URL} file
 * @param {string[]} options Further options of asc, such as `--debug`.
 * @returns {Promise<Uint8Array>}
 * @throws UsageError if the source has no policy, CompileError if it does not compile.
 */
export async function compile(file, options = []) {
  const source = file instanceof URL ? fileURLToPath(file) : file;
  if (!existsSync(source)) throw new UsageError(`${source} does not exist`);
  const policy = policyOf(readFileSync(source, "utf8"), source);
  const entry = entryText(policy, basename(source, ".ts"), SDK);
  let module;
  const { error } = await asc.main(argumentsOf(source, options), {
    stdout: process.stdout,
    stderr: process.stderr,
    transforms: [new ContractNames(exportNames(policy.verbs))],
    readFile: (name, baseDir) => (name === `${ENTRY}.ts` ? entry : readSource(name, baseDir)),
    writeFile(name, contents, baseDir) {
      if (name === MODULE) module = contents;
      else writeFileSync(resolve(baseDir, name), contents);
    },
  });
  if (error || module === undefined) throw new CompileError(`${source} does not compile`);
  return module;
}

function argumentsOf(source, options) {
  const sdk = (name) => `~lib/${SDK}/${name}`;
  const uses = [`abort=${sdk("fault/abort")}`, `seed=${sdk("fault/seed")}`, `console=${sdk("log/console")}`];
  const isOptimized = options.some((option) => option.startsWith("-O") || option.startsWith("--optimize") || option === "--debug");
  return [
    `${ENTRY}.ts`,
    ...["--baseDir", dirname(resolve(source)), "--outFile", MODULE, "--exportStart", "_initialize"],
    ...uses.flatMap((use) => ["--use", use]),
    ...(isOptimized ? [] : ["--optimizeLevel", "3", "--shrinkLevel", "1"]),
    ...options,
  ];
}

/** The text of a file; null if there is none. asc looks for packages in `node_modules` of each folder above. */
function readSource(file, baseDir) {
  const inPackage = `node_modules/${SDK}/`;
  const path = file.startsWith(inPackage) ? join(SOURCES, file.slice(inPackage.length)) : resolve(baseDir, file);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}
