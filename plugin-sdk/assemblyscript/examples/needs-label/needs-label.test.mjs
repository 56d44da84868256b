import assert from "node:assert/strict";
import { test } from "node:test";

import { checkSettings, fits, loadPolicy, unresolvable, World } from "plimsoll-assemblyscript/testing";

const needsLabel = await loadPolicy(new URL("needs-label.ts", import.meta.url));

const world = new World({
  pod: { name: "p", annotations: { "example.com/needs": "ssd" } },
  nodes: [
    { name: "fast", labels: { ssd: "true" }, pods: [{ name: "a" }, { name: "b" }] },
    { name: "slow" },
  ],
});

test("a node without the label is refused", () => {
  const settings = { annotation: "example.com/needs" };
  assert.deepEqual(world.filter(needsLabel, "fast", settings), fits);
  assert.deepEqual(world.filter(needsLabel, "slow", settings), unresolvable("node lacks the label that the pod needs"));
});

test("nodes with few pods are preferred", () => {
  assert.deepEqual([world.score(needsLabel, "fast"), world.score(needsLabel, "slow")], [98, 100]);
});

test("an empty annotation is refused", () => {
  assert.throws(() => checkSettings(needsLabel, { annotation: "" }), { message: "annotation: it must not be empty" });
});
