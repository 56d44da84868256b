/** The reads of a world give what the host gives: the answers are those of the Rust SDK and of the modules. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { bound, fits, keep, refused, reject, retry, unresolvable, unschedulable } from "plimsoll";
import { type Node, type Pod, World } from "plimsoll/testing";

import conformance from "./conformance.js";

/** From the folder of the built test. */
const ANSWERS = new URL("../../../../conformance/answers/", import.meta.url);
const TOPICS = ["pod", "node", "placed", "cluster", "namespace", "facts", "field", "large", "time"];
const CREATED = new Date("2026-01-31T12:00:00Z");

const PLACED: Pod = {
  name: "b",
  namespace: "web",
  labels: { app: "web" },
  annotations: { a: "x" },
  priority: 2 ** 31 - 1,
  requests: { memory: "6Gi" },
  created: CREATED,
  priorityClass: "high",
  controller: { kind: "ReplicaSet", name: "b-5d7", apiVersion: "apps/v1", uid: "uid-b" },
  phase: "Running",
};

const FIRST: Node = {
  name: "node-1",
  labels: { "é": "😀", group: "other", pool: "blue" },
  annotations: { a: "1", large: "é".repeat(3000), score: "100" },
  taints: [
    { key: "k", value: "v", effect: "NoSchedule" },
    { key: "l", value: "", effect: "NoExecute" },
  ],
  allocatable: { cpu: "4" },
  capacity: { cpu: "5" },
  conditions: { Ready: "Unknown" },
  unschedulable: true,
  resourcesUnknown: ["example.com/gpu"],
  images: { "web:1": 2 ** 32 + 4 },
  pods: [PLACED, { name: "c", namespace: "web", labels: { app: "web" }, terminating: true }],
};

/** That of plugin-sdk/conformance/world.yaml. */
const world = new World({
  pod: {
    name: "p",
    namespace: "web",
    uid: "uid-p",
    labels: { a: "ä", pool: "blue" },
    annotations: { empty: "" },
    priority: -5,
    priorityClass: "low",
    controller: { kind: "Job", name: "é", apiVersion: "batch/v1", uid: "uid-é" },
    created: CREATED,
    requests: { cpu: "1500m", memory: "1Gi" },
    images: ["web:1", "proxy"],
  },
  nodes: [
    FIRST,
    {
      name: "node-2",
      labels: { group: "best" },
      annotations: { verdict: "fits", score: "7", bind: "later" },
      pods: [{ name: "d", namespace: "web", labels: { app: "web" }, terminating: true }],
    },
    { name: "node-3", annotations: { verdict: "unresolvable", bind: "nothing" } },
    {
      name: "node-4",
      labels: { group: "best", pool: "red" },
      annotations: { score: "5", bind: "é\n😀" },
      pods: [{ name: "e", namespace: "other", labels: { app: "web" }, requests: { memory: "1Gi" } }],
    },
  ],
  candidates: [
    { node: "node-3" },
    { node: "node-1", victims: ["web/b", "web/c"], pdbViolations: 1 },
    { node: "node-2", victims: ["web/d"], pdbViolations: 2 },
  ],
  namespaces: { web: { tenant: "a" } },
  facts: { load: { "node-1": "0.5" }, prices: { gpu: "3.25", loss: "-0.125", note: "é" } },
  now: new Date(1_769_864_399_000),
});

function told(world: World, topic: string, answer: string): void {
  const expected = readFileSync(new URL(`${answer}.txt`, ANSWERS), "utf8").trimEnd();
  assert.deepEqual(world.filter(conformance, "node-1", { topic }), unschedulable(expected));
}

for (const topic of TOPICS) {
  test(`the topic ${topic} is told as the host tells it`, () => told(world, topic, topic));
}

test("without a view every read of it is none", () => {
  told(world.with({ withoutCluster: true }), "cluster", "cluster-unknown");
  told(world.with({ withoutPods: true }), "placed", "placed-unknown");
  told(world.with({ namespaces: {} }), "namespace", "namespace-unknown");
});

test("every kind of answer is that of the node", () => {
  const settings = { topic: "pool" };
  assert.deepEqual(world.filter(conformance, "node-1", settings), fits);
  assert.deepEqual(world.filter(conformance, "node-2", settings), fits);
  assert.deepEqual(world.filter(conformance, "node-3", settings), unresolvable("eviction does not help"));
  assert.deepEqual(world.filter(conformance, "node-4", settings), unschedulable("another pool"));
  assert.equal(world.score(conformance, "node-1", settings), 100);
  const ranks = { "node-1": 100, "node-2": 8, "node-3": 0, "node-4": 5 };
  assert.deepEqual(world.rank(conformance, settings), ranks);
});

test("every kind of preemption", () => {
  const preempt = (node: string) => world.preempt(conformance, node, { topic: "pod" });
  assert.deepEqual(preempt("node-3"), keep);
  assert.deepEqual(preempt("node-1"), { kind: "replace", victims: [0] });
  assert.deepEqual(preempt("node-2"), reject("victims=d\nnodes=node-3 node-1 node-2"));
});

test("a bind gives metadata or says why not", () => {
  const bind = (node: string) => world.bind(conformance, node, { topic: "pod" });
  const expected = bound({ annotations: { value: "é\n😀", node: "node-4" }, labels: { rack: "r1" } });
  assert.deepEqual(bind("node-4"), expected);
  assert.deepEqual(bind("node-3"), bound());
  assert.deepEqual(bind("node-2"), retry("not yet"));
  assert.deepEqual(bind("node-1"), refused("p cannot be bound"));
});
