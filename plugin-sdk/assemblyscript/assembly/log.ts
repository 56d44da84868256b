import { Level } from "./generated";
import { hostLog } from "./generated-imports";

/** `console`: its lines go to the log of the gateway, with the name of the policy. `plimsoll-asc` puts it in place. */
export namespace console {
  /** Logs a line at the level debug. */
  export function debug(message: string = ""): void {
    hostLog(Level.Debug, message);
  }

  /** Logs a line at the level info. */
  export function log(message: string = ""): void {
    hostLog(Level.Info, message);
  }

  /** Logs a line at the level info. */
  export function info(message: string = ""): void {
    hostLog(Level.Info, message);
  }

  /** Logs a line at the level warn. */
  export function warn(message: string = ""): void {
    hostLog(Level.Warn, message);
  }

  /** Logs a line at the level error. */
  export function error(message: string = ""): void {
    hostLog(Level.Error, message);
  }
}
