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

/** A frame, as QuickJS and Node.js write it: `    at name (file:line:column)`; the name and the line. */
const FRAME = /^\s*at (?:(.*) )?\(?[^()]*:(\d+):\d+\)?$/;

/** An error in one line: its class and its text. */
export function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
}

/** The frames of an error within the policy, the innermost first, such as `filter (needs-label.ts:12)`. */
export function frames(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const table = (globalThis as Record<string, unknown>)[LINE_TABLE] as LineTable | undefined;
  if (table === undefined) return [];
  const frames: string[] = [];
  for (const line of stack.split("\n")) {
    const found = FRAME.exec(line);
    const frame = found && sourceFrame(table, found);
    if (frame) frames.push(frame);
    if (frames.length === MAX_FRAMES) break;
  }
  return frames;
}

/** The text of an error with its stack: frames have the places in the policy's sources, others are left out. */
export function inSources(text: string, table: LineTable): string {
  const lines = text.split("\n").map((line) => {
    const found = FRAME.exec(line);
    if (found === null) return line;
    const frame = sourceFrame(table, found);
    return frame && `    at ${frame}`;
  });
  return lines.filter((line) => line !== undefined).join("\n");
}

function sourceFrame(table: LineTable, [, name = "", line]: RegExpExecArray): string | undefined {
  const place = sourcePlace(table, Number(line));
  return place === undefined || name === "" || name === "<anonymous>" ? place : `${name} (${place})`;
}

/** The place in the policy's sources of a line of the bundle; none in the code of this package. */
function sourcePlace({ sources, lines }: LineTable, line: number): string | undefined {
  for (let at = 0; at < lines.length; at += 3) {
    if (lines[at] === line) return `${sources[lines[at + 1] ?? 0] ?? ""}:${lines[at + 2]}`;
  }
  return undefined;
}
