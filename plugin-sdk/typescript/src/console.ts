/** `console` within a component: its lines go to the log of the gateway. */

import type { HostImports, Level } from "./generated.js";

/** Opens the log. */
export interface Log {
  /** From now on lines are logged: while a module is built there is no host. */
  open(): void;
}

/** Makes `console` write to the log of the host. QuickJS has none of its own. */
export function installConsole(host: HostImports): Log {
  let isOpen = false;
  const at = (level: Level) => (...values: unknown[]): void => {
    if (isOpen) host.log(level, values.map(shown).join(" "));
  };
  const methods = { debug: at("debug"), error: at("error"), info: at("info"), log: at("info"), trace: at("debug"), warn: at("warn") };
  Object.assign(globalThis, { console: methods });
  return {
    open() {
      isOpen = true;
    },
  };
}

/** A value as text: objects as JSON, errors with their message. */
export function shown(value: unknown): string {
  if (typeof value !== "object" || value === null || value instanceof Error) return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
