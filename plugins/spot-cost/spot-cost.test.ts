import assert from "node:assert/strict";
import { test } from "node:test";

import { type Node, type Pod, World } from "plimsoll/testing";
import { checkSettings } from "plimsoll/testing";

import spotCost from "./spot-cost.js";

const prices = {
  "m5.large/a/spot": "0.04",
  "m5.large/b/spot": "0.05",
  "m5.large/a/on-demand": "0.10",
  "m5.4xlarge/a/on-demand": "0.60",
};

function node(name: string, pool: string, pods: readonly Pod[] = []): Node {
  const [type = "", zone = "", capacity = ""] = pool.split("/");
  const labels = {
    "node.kubernetes.io/instance-type": type,
    "topology.kubernetes.io/zone": zone,
    "karpenter.sh/capacity-type": capacity,
  };
  const size = type === "m5.4xlarge" ? 8 : 1;
  return { name, labels, pods, allocatable: { cpu: `${2 * size}`, memory: `${8 * size}Gi` } };
}

const web = (name: string): Pod => ({ name, namespace: "web", labels: { app: "web" } });
const pod: Pod = { ...web("web-9"), requests: { cpu: "500m", memory: "1Gi" } };

function ranked(nodes: readonly Node[]): Record<string, number> {
  return new World({ pod, nodes, facts: { prices } }).rank(spotCost);
}

test("cheaper nodes score higher, by the part of the node that the pod takes", () => {
  const nodes = [
    node("spot", "m5.large/a/spot"),
    node("large", "m5.large/a/on-demand"),
    node("huge", "m5.4xlarge/a/on-demand"),
  ];
  assert.deepEqual(ranked(nodes), { spot: 100, large: 40, huge: 53 });
});

test("a spot pool is worth less the more pods of the application it has", () => {
  const placed = [web("web-1"), web("web-2"), web("web-3")];
  const nodes = [node("a", "m5.large/a/spot", placed), node("b", "m5.large/b/spot", [web("web-4")]), node("a2", "m5.large/a/spot")];
  assert.deepEqual(ranked(nodes), { a: 42, b: 100, a2: 42 });
});

test("pods on demand are not spread", () => {
  const nodes = [node("demand", "m5.large/a/on-demand", [web("web-1")]), node("huge", "m5.4xlarge/a/on-demand")];
  assert.deepEqual(ranked(nodes), { demand: 75, huge: 100 });
});

test("nodes without a price or a pool score 0", () => {
  const nodes = [node("spot", "m5.large/a/spot"), node("new", "m6.large/a/spot"), { name: "bare" }];
  assert.deepEqual(ranked(nodes), { spot: 100, new: 0, bare: 0 });
});

test("where the only spot pool has all pods no node is better", () => {
  assert.deepEqual(ranked([node("a", "m5.large/a/spot", [web("web-1")])]), { a: 0 });
  assert.deepEqual(ranked([]), {});
});

test("settings without a label are refused", () => {
  assert.throws(() => checkSettings(spotCost, { poolLabels: [] }), { message: "poolLabels: expected at least one label" });
});
