/** Stacks of errors, with the lines of the sources that the module was bundled from. */

/** The places of a bundle's lines in the policy's sources. `plimsoll-build` appends it to the bundle. */
export interface LineTable {
  readonly sources: readonly string[];
  /** For each line of the policy three numbers: the line of the bundle, its source's index, and the line there. */
  readonly lines: readonly number[];
}

/** The name under which the bundle has its table. */
export const LINE_TABLE = "__plimsollLines";

/** Maximum frames that are shown: a call logs at most 64 lines. */
const MAX_FRAMES = 20;

/** An error in one line: its class and its text. */
export function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
}

/** The frames of an error within the policy, the innermost first, such as `filter (needs-label.ts:12)`. */
export function frames(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const table = (globalThis as Record<string, unknown>)[LINE_TABLE] as LineTable | undefined;
  const own: string[] = [];
  for (const line of stack.split("\n")) {
    // The form of QuickJS: `    at name (file:line:column)`.
    const found = /^\s*at (?:(.*) )?\(?[^()]*:(\d+):\d+\)?$/.exec(line);
    const place = found && table && placed(table, Number(found[2]));
    if (!place) continue;
    const name = found[1] ?? "";
    own.push(name === "" || name === "<anonymous>" ? place : `${name} (${place})`);
    if (own.length === MAX_FRAMES) break;
  }
  return own;
}

/** The place in the policy's sources of a line of the bundle; none in the code of this package. */
function placed({ sources, lines }: LineTable, line: number): string | undefined {
  for (let at = 0; at < lines.length; at += 3) {
    if (lines[at] === line) return `${sources[lines[at + 1] ?? 0] ?? ""}:${lines[at + 2]}`;
  }
  return undefined;
}
