import type { Node } from "plimsoll";

/** Fails as the topic says, or tells of the world outside. */
export function misbehave(topic: string, node: Node): string {
  switch (topic) {
    case "none":
      return (undefined as unknown as Node).name;
    case "loop":
      for (;;);
    case "memory":
      return fill();
    case "recursion":
      return `${misbehave(topic, node)}.`;
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
