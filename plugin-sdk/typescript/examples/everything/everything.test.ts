/** The reads of a world give what the host gives: the answers are those of the Rust SDK and of the modules. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { bound, fits, keep, refused, reject, retry, unresolvable, unschedulable } from "plimsoll";
import { type Node, type Pod, World } from "plimsoll/testing";

import everything from "./everything.js";

/** From the folder of the built test. */
const ANSWERS = new URL("../../../../go/examples/everything/testdata/answers.txt", import.meta.url);
const CREATED = new Date("2026-01-31T12:00:00Z");
const VICTIMS = ["web/b", "web/c"];

const PLACED: Pod = {
  name: "b",
  namespace: "web",
  labels: { app: "web" },
  annotations: { a: "x" },
  priority: 2 ** 31 - 1,
  requests: { memory: "6Gi" },
  created: CREATED,
  priorityClass: "high",
  controller: { kind: "ReplicaSet", name: "b-5d7", apiVersion: "apps/v1", uid: "ReplicaSet/b-5d7" },
  phase: "Running",
};

const FIRST: Node = {
  name: "node-1",
  labels: { "é": "😀" },
  annotations: { a: "1", large: "é".repeat(3000), score: "100" },
  taints: [
    { key: "k", value: "v", effect: "NoSchedule" },
    { key: "l", value: "", effect: "NoExecute" },
  ],
  allocatable: { cpu: "4" },
  capacity: { cpu: "5" },
  conditions: { Ready: "Unknown" },
  unschedulable: true,
  images: { "web:1": 2 ** 32 + 4 },
  pods: [PLACED, { name: "c", namespace: "web", labels: { app: "web" } }],
};

/** That of tests/policies/tests/policies/everything.rs. */
const world = new World({
  pod: {
    name: "p",
    namespace: "web",
    labels: { a: "ä" },
    annotations: { empty: "" },
    priority: -5,
    priorityClass: "low",
    controller: { kind: "Job", name: "é", apiVersion: "batch/v1", uid: "Job/é" },
    created: CREATED,
    requests: { cpu: "1500m", memory: "1Gi" },
    images: ["web:1", "proxy"],
  },
  nodes: [
    FIRST,
    { name: "node-2", annotations: { verdict: "fits", score: "7" } },
    { name: "node-3", annotations: { verdict: "unresolvable" } },
  ],
  candidates: [
    { node: "node-3" },
    { node: "node-1", victims: VICTIMS, pdbViolations: 1 },
    { node: "node-1", victims: VICTIMS, pdbViolations: 2 },
  ],
  now: new Date(1_769_864_399_000),
});

for (const line of readFileSync(ANSWERS, "utf8").trim().split("\n")) {
  const [topic, answer] = [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)];
  test(`the topic ${topic} is told as the host tells it`, () => {
    assert.deepEqual(world.filter(everything, "node-1", { topic }), unschedulable(answer));
  });
}

test("without a view every read of it is none", () => {
  const none = "(None, None, None) (None, None, None) (None, None) (None, None) None";
  const without = world.with({ withoutCluster: true });
  assert.deepEqual(without.filter(everything, "node-1", { topic: "cluster" }), unschedulable(none));
  const podless = world.with({ withoutPods: true });
  assert.deepEqual(podless.filter(everything, "node-1", { topic: "placed" }), unschedulable("[] false 0"));
});

test("every kind of answer is that of the node", () => {
  const settings = { topic: "time" };
  assert.deepEqual(world.filter(everything, "node-2", settings), fits);
  assert.deepEqual(world.filter(everything, "node-3", settings), unresolvable("a text that is not allocated"));
  assert.equal(world.score(everything, "node-1", settings), 100);
  assert.deepEqual(world.rank(everything, settings), { "node-1": 100, "node-2": 7, "node-3": 0 });
});

test("every kind of preemption", () => {
  const settings = { topic: "pod" };
  assert.deepEqual(world.preempt(everything, "node-3", settings), keep);
  assert.deepEqual(world.preempt(everything, "node-1", settings), { kind: "replace", victims: [0] });
  const twice = world.with({ candidates: [{ node: "node-3" }, { node: "node-1", victims: VICTIMS, pdbViolations: 2 }] });
  assert.deepEqual(twice.preempt(everything, "node-1", settings), reject('["b", "c"] of ["node-3", "node-1"]'));
});

test("a bind gives metadata or says why not", () => {
  const bind = (value: string) =>
    world.with({ nodes: [{ name: "n", annotations: { bind: value } }] }).bind(everything, "n", { topic: "pod" });
  assert.deepEqual(bind("é"), bound({ annotations: { value: "é", node: "n" }, labels: { rack: "r1" } }));
  assert.deepEqual(bind("nothing"), bound());
  assert.deepEqual(bind("later"), retry("not yet"));
  assert.deepEqual(world.bind(everything, "node-1", { topic: "pod" }), refused("p cannot be bound"));
});
