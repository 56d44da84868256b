/** The ways to fail, and the limits. */

import { Node, Nodes, Placed } from "plimsoll-assemblyscript";

/** Fails as the topic says, or reaches a limit without a fault. */
export function misbehave(topic: string, node: Node): string {
  if (topic == "trap") return [node.name][topic.length];
  if (topic == "loop") while (true) {}
  if (topic == "memory") return fill();
  if (topic == "recursion") return misbehave(topic, node) + ".";
  if (topic == "long-reason") return "x".repeat(2000);
  if (topic == "missing-node") return new Nodes()[1000].name;
  if (topic == "missing-pod") return new Placed(node.index, 1000).name;
  if (topic == "foreign-source") return node.facts.text("foreign", "key") === null ? "none" : "some";
  if (topic == "log") return logEachLevel();
  if (topic == "log-flood") {
    for (let line = 0; line < 10_000; line++) console.info("line " + line.toString());
    return "lines=10000";
  }
  throw new Error("no " + node.name + " here");
}

function logEachLevel(): string {
  console.debug("é at level debug");
  console.info("é at level info");
  console.warn("é at level warn");
  console.error("é at level error");
  return "lines=4";
}

function fill(): string {
  const kept = new Array<ArrayBuffer>();
  while (true) kept.push(new ArrayBuffer(1 << 20));
}
