/** `plimsoll-build policy.ts -o policy.wasm`: bundles a policy with esbuild, and makes a module of it with componentize-qjs. */

import { mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { componentize } from "componentize-qjs";
import { build, type BuildOptions } from "esbuild";

import { isPolicy, type Verb, verbsOf } from "../policy.js";
import { inSources, LINE_TABLE, type LineTable } from "../trace.js";
import { lineTable, type SourceMap } from "./source-map.js";

const USAGE = `plimsoll-build: makes a module (.wasm) of a policy

Usage: plimsoll-build SOURCE [-o FILE] [--opt-size]

  SOURCE          the file (.ts, .mts, .js, .mjs) whose default export is the policy
  -o, --output    the module; without it beside the source
  --opt-size      a third smaller, and slower
  -h, --help      this text
`;

const WIT = fileURLToPath(new URL("../../policy.wit", import.meta.url));
const GUEST = fileURLToPath(new URL("../guest.js", import.meta.url));

/** The interface of a verb in the contract, where it has another name. */
const INTERFACES: Readonly<Record<string, string>> = { bind: "binding" };

/** The form in which componentize-qjs passes on an error of the policy's top level. */
const TOP_LEVEL_ERROR = /^(?:: )?Failed to evaluate user JavaScript module: (?:Failed to [^:]*: )?(.*)$/s;

/** An error in the arguments or the source; exit code 2. */
class BuildError extends Error {}

/** A policy in one file. */
interface Bundle {
  readonly text: string;
  readonly table: LineTable;
}

/** Options of a build. */
export interface Options {
  /** The module; beside the source if it is not given. */
  readonly output?: string | undefined;
  /** Whether the module is to be small rather than fast. */
  readonly optSize?: boolean | undefined;
}

/** The command; its exit code. */
export async function main(args: string[]): Promise<number> {
  try {
    const { values, positionals } = parsed(args);
    if (values.help) {
      process.stdout.write(USAGE);
      return 0;
    }
    const [source, ...more] = positionals;
    if (source === undefined || more.length > 0) throw new BuildError(`expected one SOURCE, found ${positionals.length}`);
    await buildModule(source, { output: values.output, optSize: values["opt-size"] });
    return 0;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // componentize-qjs gives its errors an empty name.
    process.stderr.write(`plimsoll-build: ${error.message.replace(/^: /, "")}\n`);
    return error instanceof BuildError ? 2 : 1;
  }
}

function parsed(args: string[]) {
  try {
    const options = {
      output: { type: "string", short: "o" },
      "opt-size": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    } as const;
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new BuildError(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Builds the policy of a file.
 *
 * @throws Error if there is none, or if a tool refuses it.
 */
export async function buildModule(source: string, options: Options = {}): Promise<void> {
  if (!(await stat(source).catch(() => undefined))?.isFile()) throw new BuildError(`${source}: there is no such file`);
  const output = options.output ?? join(dirname(source), `${basename(source, extname(source))}.wasm`);
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-build-"));
  try {
    const verbs = await findVerbs(source, folder);
    const wit = join(folder, "policy.wit");
    await writeFile(wit, (await readFile(WIT, "utf8")) + witWorld(verbs));
    const bundle = await bundlePolicy(source, verbs);
    // The table at the end, so that it moves no line that it is about.
    const jsSource = `${bundle.text}\nglobalThis.${LINE_TABLE} = ${JSON.stringify(bundle.table)};\n`;
    const optSize = options.optSize ?? false;
    const { component } = await componentize({ witPath: wit, world: "built", jsSource, sync: true, optSize }).catch(
      (error: unknown) => rethrown(error, source, bundle.table),
    );
    // In one step, so that a gateway that follows the directory reads no half of it.
    await writeFile(`${output}.new`, component);
    await rename(`${output}.new`, output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The verbs of a policy: its top level runs in Node.js to tell them. */
async function findVerbs(source: string, folder: string): Promise<Verb[]> {
  const { text, table } = await runEsbuild({ entryPoints: [source] }, source);
  const file = join(folder, "policy.mjs");
  await writeFile(file, text);
  const { href } = pathToFileURL(file);
  const module: { default?: unknown } = await import(href).catch((error: unknown) => {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    // Without the frames of Node.js itself.
    const lines = stack.split("\n").filter((line) => !/^ +at /.test(line) || line.includes(href));
    throw new BuildError(`${source}: its top level fails in Node.js: ${inSources(lines.join("\n"), table)}`);
  });
  const policy = module.default;
  if (!isPolicy(policy)) {
    throw new BuildError(`${source}: its default export is no policy; expected export default definePolicy({...})`);
  }
  return verbsOf(policy);
}

/** The error of componentize-qjs; one of the policy's top level with the places in its sources. */
function rethrown(error: unknown, source: string, table: LineTable): never {
  const found = error instanceof Error ? TOP_LEVEL_ERROR.exec(error.message) : null;
  if (found === null) throw error;
  throw new BuildError(`${source}: its top level fails in QuickJS: ${inSources(found[1] ?? "", table).trimEnd()}`);
}

/** The world of a policy with these verbs. */
function witWorld(verbs: readonly Verb[]): string {
  const exports = ["validate", ...verbs].map((verb) => `export ${INTERFACES[verb] ?? verb};`);
  return `\nworld built { include imports; ${exports.join(" ")} }\n`;
}

/** The policy with all that it needs, as the one module that componentize-qjs takes. */
function bundlePolicy(source: string, verbs: readonly Verb[]): Promise<Bundle> {
  const exported = ["validate", ...verbs].map((verb) => `export const ${INTERFACES[verb] ?? verb} = { ${verb}: guest.${verb} };`);
  const contents = [
    // First, since it defines the console.
    `import { Guest } from ${JSON.stringify(GUEST)};`,
    `import policy from ${JSON.stringify(resolve(source))};`,
    "const guest = new Guest(policy);",
    ...exported,
  ].join("\n");
  return runEsbuild({ stdin: { contents, resolveDir: dirname(resolve(source)), loader: "js" } }, source);
}

/** A source as the author names it; nothing for those of this package, and for the code that joins them. */
function authorsName(path: string, source: string): string | undefined {
  const absolute = resolve(path);
  const isAuthors = !absolute.startsWith(dirname(GUEST)) && basename(path) !== "<stdin>";
  return isAuthors ? relative(dirname(resolve(source)), absolute) : undefined;
}

async function runEsbuild(entry: Pick<BuildOptions, "entryPoints" | "stdin">, source: string): Promise<Bundle> {
  const options: BuildOptions = {
    ...entry,
    outfile: "policy.js",
    sourcemap: "external",
    sourcesContent: false,
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2023",
    external: ["plimsoll:*"],
    charset: "utf8",
    logLevel: "silent",
    write: false,
  };
  try {
    const files = (await build(options)).outputFiles ?? [];
    const text = (ending: string): string => files.find((file) => file.path.endsWith(ending))?.text ?? "";
    const table = lineTable(JSON.parse(text(".js.map")) as SourceMap, (path) => authorsName(path, source));
    return { text: text(".js"), table };
  } catch (error) {
    const { errors } = error as { errors?: { text: string; location: { file: string; line: number } | null }[] };
    if (errors === undefined) throw error;
    const lines = errors.map(({ text, location }) => (location ? `${location.file}:${location.line}: ${text}` : text));
    throw new BuildError(lines.join("\n"));
  }
}
