/** A world answers each read as the gateway does. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { bound, Candidate, Cluster, definePolicy, type Node, Nodes, Pod } from "plimsoll";
import { type Pod as PodSpec, World, type WorldOptions } from "plimsoll/testing";

const OWNER = { kind: "ReplicaSet", name: "web-1", apiVersion: "apps/v1", uid: "u" };
const TAINTS = [{ key: "gpu", value: "", effect: "NoSchedule" }];
const PLACED: readonly PodSpec[] = [
  { name: "a", labels: { app: "web" }, requests: { cpu: "250m", memory: "1Gi" }, controller: OWNER, phase: "Running" },
  { name: "b", namespace: "other", labels: { app: "web" }, requests: { cpu: "1" }, priority: 7, terminating: true },
  { name: "done", labels: { app: "web" }, phase: "Succeeded" },
];
const OPTIONS = {
  pod: { name: "p", images: ["nginx", "nginx:latest"], created: new Date("2024-05-01T00:00:00Z") },
  nodes: [
    { name: "n0", labels: { zone: "a" }, allocatable: { cpu: "4" }, images: { "nginx:latest": 5 }, pods: PLACED },
    { name: "n1", labels: { zone: "b" }, taints: TAINTS, podsUnknown: true, resourcesUnknown: ["x/gpu"] },
    { name: "n2", object: { status: { nodeInfo: { architecture: "arm64" } }, kind: "Node" } },
  ],
  candidates: [{ node: "n0", victims: ["other/b", "default/a"], pdbViolations: 2 }],
  namespaces: { default: { team: "x" } },
  now: new Date("2024-05-01T12:34:56Z"),
} satisfies WorldOptions;

function importsOf(options: WorldOptions = OPTIONS) {
  return new World(options).imports(options.nodes ?? []);
}

function nodeOf(nodes: Nodes, index: number): Node {
  const node = nodes.at(index);
  assert.ok(node);
  return node;
}

test("the pod is read", () => {
  const pod = new Pod(importsOf());
  assert.deepEqual([pod.name, pod.namespace, pod.namespaceLabel("team"), pod.priorityClass], ["p", "default", "x", undefined]);
  assert.deepEqual(pod.images, ["nginx:latest"]);
  assert.deepEqual([pod.created, pod.now(3600)], [new Date("2024-05-01T00:00:00Z"), new Date("2024-05-01T12:00:00Z")]);
  assert.deepEqual([pod.field("/metadata/name"), pod.field("/metadata/nothing")], ["p", undefined]);
});

test("nodes and their pods are read", () => {
  const nodes = new Nodes(importsOf());
  const [first, second, third] = [0, 1, 2].map((index) => nodeOf(nodes, index)) as [Node, Node, Node];
  assert.deepEqual([first.allocatable("cpu"), first.requested("cpu"), first.imageSize("nginx")], [4000, 1250, 5]);
  assert.deepEqual([first.free("cpu"), second.free("cpu")], [2750, "the pods on the node are not known"]);
  assert.equal(second.free("x/gpu"), "DRA provides the resource on the node, and a policy cannot count its devices");
  const [a, b] = first.placed;
  assert.deepEqual(first.placed.map((pod) => pod.name), ["a", "b"]);
  assert.deepEqual([a?.controller, a?.phase, b?.priority], [OWNER, "Running", 7]);
  assert.equal(first.countLabelled("default", "app", "web"), 1);
  assert.deepEqual(nodes.countsLabelled("other", "app", "web"), [1, 0, 0]);
  assert.equal(first.countActive("default", "app", "web"), 1);
  assert.deepEqual(nodes.countsActive("other", "app", "web"), [0, 0, 0]);
  assert.deepEqual(first.placed.map((pod) => pod.terminating), [false, true]);
  assert.deepEqual([second.requested("cpu"), second.placedKnown, second.taints], [undefined, false, TAINTS]);
  const groups = nodes.byLabel("zone");
  assert.deepEqual([groups.values, groups.length, nodes.map((node) => groups.of(node))], [["a", "b"], 2, [0, 1, undefined]]);
  assert.deepEqual([third.field("/status/nodeInfo/architecture"), third.field("/kind")], ["arm64", undefined]);
  assert.deepEqual([nodes.length, nodes.at(3), nodes.at(-1)], [3, undefined, undefined]);
});

test("the cluster is read", () => {
  const cluster = new Cluster(importsOf());
  const web = { label: { key: "app", value: "web" } };
  assert.deepEqual([cluster.count(web), cluster.countUpTo(web, 1), cluster.atLeast(web, 3)], [2, 1, false]);
  assert.equal(cluster.count({ namespace: "other", nodeLabel: { key: "zone", value: "a" } }), 1);
  assert.deepEqual([cluster.requested(web, "cpu"), cluster.nodesWithLabel("zone", "a")], [1250, 1]);
  assert.deepEqual(cluster.labelValues("zone"), [{ value: "a", nodes: 1 }, { value: "b", nodes: 1 }]);
});

test("facts are read", () => {
  const facts = { prices: { n0: "1.5", n1: "cheap", spot: "3" } };
  const nodes = new Nodes(importsOf({ nodes: [{ name: "n0" }, { name: "n1" }], facts }));
  assert.equal(nodeOf(nodes, 0).factText("prices"), "1.5");
  assert.deepEqual(nodes.map((node) => node.factNumber("prices")), [1.5, undefined]);
  assert.deepEqual([nodes.facts.number("prices", "spot"), nodes.facts.text("prices", "none")], [3, undefined]);
  const amounts = new Nodes(importsOf({ nodes: [{ name: "n0" }], facts: { load: { n0: 0.85, tiny: 1e-7, zero: "-0" } } }));
  assert.deepEqual([nodeOf(amounts, 0).factNumber("load"), nodeOf(amounts, 0).factText("load")], [0.85, "0.85"]);
  assert.deepEqual([amounts.facts.number("load", "tiny"), amounts.facts.number("load", "zero")], [1e-7, 0]);
  assert.throws(() => nodeOf(nodes, 0).factNumber("load"), { message: /the source of facts load, which the world does not have/ });
});

test("a fact about a node has its name or one of its addresses", () => {
  const addressed = [
    { name: "n0", addresses: ["10.0.0.1", "n0.example"] },
    { name: "n1", addresses: ["n1", "10.0.0.2"] },
    { name: "n2" },
  ];
  const facts = { load: { "n0.example": 1, n1: 2, "10.0.0.2": 3 } };
  const nodes = new Nodes(importsOf({ nodes: addressed, facts }));
  assert.deepEqual(nodes.map((node) => node.factNumber("load")), [1, 2, undefined]);
  const addresses = [{ type: "InternalIP", address: "10.0.0.1" }, { type: "InternalIP", address: "n0.example" }];
  assert.deepEqual([0, 2].map((index) => nodeOf(nodes, index).field("/status/addresses")), [addresses, undefined]);
});

test("a read of what the gateway does not know is undefined", () => {
  for (const without of [{ withoutCluster: true }, { withoutPods: true }]) {
    const cluster = new Cluster(importsOf({ ...OPTIONS, ...without }));
    assert.deepEqual([cluster.count({}), cluster.labelValues("zone")], [undefined, undefined]);
  }
  const node = nodeOf(new Nodes(importsOf({ ...OPTIONS, withoutPods: true })), 0);
  assert.deepEqual([node.placedCount, node.placedKnown, node.requested("cpu")], [0, false, undefined]);
});

test("placed pods are from the oldest to the newest, without the pod itself", () => {
  const made = (name: string, second: number) => ({ name, created: new Date(Date.UTC(2024, 4, 1, 0, 0, second)) });
  const pods = [made("b", 2), { name: "p" }, made("c", 1), made("a", 2)];
  const nodes = new Nodes(importsOf({ pod: { name: "p" }, nodes: [{ name: "n", pods }] }));
  assert.deepEqual(nodeOf(nodes, 0).placed.map((pod) => pod.name), ["c", "a", "b"]);
});

test("candidates have their victims", () => {
  const candidate = new Candidate(new World(OPTIONS).imports(OPTIONS.nodes.slice(0, 1), OPTIONS.candidates), 0);
  assert.deepEqual([candidate.node.name, candidate.victims.map((pod) => pod.name)], ["n0", ["b", "a"]]);
  assert.equal(candidate.pdbViolations, 2);
});

test("a read that the gateway would end throws", () => {
  assert.throws(() => importsOf().nodes.name(5), { message: "there is no node 5; the request has 3" });
  assert.throws(() => importsOf().placed.name(0, 2), { message: "there is no placed pod 2; the request has 2" });
});

test("an invalid world throws", () => {
  const wrong = { nodes: [{ name: "n", allocatable: { cpu: "much" } }] };
  assert.throws(() => importsOf(wrong), { message: 'the node n: "much" is no quantity' });
});

type Entries = Readonly<Record<string, string>>;

const WRONG: readonly (readonly [annotations: Entries, labels: Entries, expected: string])[] = [
  [{}, { "a b": "1" }, "the label key 'a b': its name must have"],
  [{}, { a: "ä" }, "the value 'ä' of the label a: it must be empty, or"],
  [{}, { "A.com/a": "1" }, "the label key 'A.com/a': its domain must have no capital letters"],
  [{ "a/b/c": "" }, {}, "the annotation key 'a/b/c': its name must have"],
  [{ "/a": "" }, {}, "the annotation key '/a': before its slash it must be a domain"],
  [{ "x.k8s.io/a": "" }, {}, "the annotation key 'x.k8s.io/a': kubernetes.io and k8s.io are"],
  [Object.fromEntries([...Array(65).keys()].map((at) => [`k${at}`, ""])), {}, "65 annotations; at most 64 are allowed"],
  [{ a: "x".repeat(256 << 10) }, {}, "annotations of 262145 bytes; at most 262144 are allowed"],
];

for (const [annotations, labels, expected] of WRONG) {
  test(`metadata is refused as a fault of the gateway: ${expected}`, () => {
    const policy = definePolicy({ bind: () => bound({ annotations, labels }) });
    assert.throws(() => new World(OPTIONS).bind(policy, "n0"), (error) => {
      return error instanceof RangeError && error.message.startsWith(`the gateway would end this call as a fault: ${expected}`);
    });
  });
}

test("metadata by the rules of Kubernetes is given back", () => {
  const binding = bound({ annotations: { "Example.com/a": "any text" }, labels: { a: "", "b.c/d-e": "F_1" } });
  assert.deepEqual(new World(OPTIONS).bind(definePolicy({ bind: () => binding }), "n0"), binding);
});
