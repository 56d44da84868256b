import type { Node } from "plimsoll";

/** The ways to fail, and the limits; those of the last line are of TypeScript alone. */
export const FAULTS = [
  ...["panic", "trap", "recursion", "loop", "memory", "long-reason", "missing-node", "missing-pod", "foreign-source"],
  ...["log", "log-flood"],
  ...["async", "eval", "world", "print"],
];

/** Fails as the topic says, reaches a limit without a fault, or tells of the world outside. */
export function misbehave(topic: string, node: Node): string {
  switch (topic) {
    case "trap":
      return (undefined as unknown as Node).name;
    case "loop":
      for (;;);
    case "memory":
      return fill();
    case "recursion":
      return `${misbehave(topic, node)}.`;
    case "long-reason":
      return "x".repeat(2000);
    case "missing-node":
    case "missing-pod":
      // The types of this SDK have no node and no pod that does not exist.
      return "impossible";
    case "foreign-source":
      return String(node.facts.text("foreign", "key"));
    case "log":
      return logEachLevel();
    case "log-flood":
      for (let line = 0; line < 10_000; line++) console.info(`line ${line}`);
      return "lines=10000";
    case "async":
      // As a verb that is an async function.
      return Promise.resolve("later") as unknown as string;
    case "eval":
      return String(new Function("return 6 * 7")());
    case "print":
      console.log("to the output", { a: 1 }, new Error("an error"));
      console.error("to the error");
      return "printed";
    case "world":
      return world();
    default:
      throw new RangeError(`no ${node.name} here`);
  }
}

function logEachLevel(): string {
  console.debug("é at level debug");
  console.info("é at level info");
  console.warn("é at level warn");
  console.error("é at level error");
  return "lines=4";
}

function fill(): string {
  const kept: Uint8Array[] = [];
  for (;;) kept.push(new Uint8Array(1 << 20));
}

/** Time and chance, which stand still, and the names that a browser or Node.js would have. */
function world(): string {
  const outside = ["process", "require", "fetch", "setTimeout", "XMLHttpRequest", "WebAssembly"];
  const found = outside.filter((name) => name in globalThis);
  return `${Date.now()} ${new Date().getTimezoneOffset()} ${Math.random()} [${found.join(", ")}]`;
}
