/** Settings, JSON, quantities and texts in a module, and the errors about them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkSettings, loadPolicy, PolicyPanic, unschedulable, World } from "plimsoll-assemblyscript/testing";

const probe = await loadPolicy(new URL("probe.ts", import.meta.url));
const world = new World({ nodes: [{ name: "n" }] });

function told(annotations, settings = { label: "a" }) {
  const verdict = world.with({ pod: { annotations } }).filter(probe, "n", settings);
  assert.equal(verdict.kind, "unschedulable");
  return verdict.reason;
}

test("settings are read with their defaults", () => {
  assert.equal(told({}), "a 3 0.5 false 1073741824    -");
  const settings = { label: "é", limit: 4, share: 2, strict: true, memory: "512Mi", pools: ["x", "y"] };
  const rest = { b: [1, null, true, "z"] };
  assert.equal(
    told({}, { ...settings, weights: { p: "1", q: "2" }, rest }),
    "é 4 2.0 true 536870912 x+y p+q 1+2 {b:[1,null,true,\"z\"];}",
  );
});

const WRONG = [
  [null, "the field label is missing"],
  [[], "the settings: expected an object, found a list"],
  [{ label: 3 }, "label: expected a string, found a number"],
  [{ label: "a", limit: true }, "limit: expected a whole number, found true or false"],
  [{ label: "a", limit: 1.5 }, "limit: expected a whole number, found a number"],
  [
    { label: "a", limit: 2 ** 63 },
    "limit: expected a whole number from -9223372036854775808 to 9223372036854775807, found 9223372036854776000",
  ],
  [{ label: "a", limit: null }, "limit: expected a whole number, found null"],
  [{ label: "a", pools: null }, "pools: expected a list, found null"],
  [{ label: "a", limit: 0 }, "limit: expected 1 or more, found 0"],
  [{ label: "a", share: "half" }, "share: expected a number, found a string"],
  [{ label: "a", strict: "yes" }, "strict: expected true or false, found a string"],
  [{ label: "a", memory: "much" }, "memory: expected a quantity such as 512Mi, found a string"],
  [{ label: "a", memory: {} }, "memory: expected a quantity such as 512Mi, found an object"],
  [{ label: "a", pools: "x" }, "pools: expected a list, found a string"],
  [{ label: "a", pools: ["x", 1] }, "pools[1]: expected a string, found a number"],
  [{ label: "a", weights: [] }, "weights: expected an object, found a list"],
  [{ label: "a", weights: { x: 1 } }, "weights.x: expected a string, found a number"],
  [
    { label: "a", lable: "b" },
    "there is no field lable; expected label, limit, share, strict, memory, pools, weights, rest",
  ],
];

for (const [settings, message] of WRONG) {
  test(`${JSON.stringify(settings)} is refused: ${message}`, () => {
    assert.throws(() => checkSettings(probe, settings), { message });
  });
}

test("a call with settings that were refused ends with the error", () => {
  assert.throws(() => told({}, { label: 3 }), { message: "label: expected a string, found a number" });
});

test("JSON is read as it was written", () => {
  const rows = [
    [' {"a" : [ 1 , -2 ] , "b":{}} ', "{a:[1,-2];b:{};}"],
    ['"\\u00e9\\ud83d\\ude00\\n\\t\\"\\\\\\/"', '"é😀\n\t"\\/"'],
    ["9223372036854775807", "9223372036854775807"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["9223372036854775808", "9223372036854775808"],
    ["1.50e-3", "1.50e-3"],
    ["[[],[false,null]]", "[[],[false,null]]"],
  ];
  for (const [json, expected] of rows) assert.equal(told({ json }), expected, json);
});

test("a text that is no JSON ends the call with its place", () => {
  const rows = [
    ["", "JSON: expected a value at character 0"],
    ["[1", "JSON: expected a comma or ] at character 2"],
    ['{"a" 1}', "JSON: expected a colon at character 5"],
    ["{1:2}", "JSON: expected a key at character 1"],
    ['"a', "JSON: expected the end of a string at character 2"],
    ['"\\u00g0"', "JSON: expected four hexadecimal digits at character 5"],
    ['"\\x"', "JSON: expected an escaped character at character 3"],
    ["nul", "JSON: expected null at character 0"],
    ["1 2", "JSON: expected the end at character 2"],
    ["[".repeat(200), "JSON: more than 128 brackets within each other"],
  ];
  for (const [json, message] of rows) {
    assert.throws(() => told({ json }), (error) => error instanceof PolicyPanic && error.message.startsWith(message), json);
  }
});

test("quantities are read as Kubernetes reads them", () => {
  const largest = "9223372036854775807";
  const rows = [
    ["0", "0 0"],
    ["100m", "1 100"],
    ["0.5", "1 500"],
    ["1.5Gi", "1610612736 1610612736000"],
    ["1k", "1000 1000000"],
    ["2E3", "2000 2000000"],
    ["1E", `1000000000000000000 ${largest}`],
    ["1e-3", "1 1"],
    ["1n", "1 1"],
    [".5", "1 500"],
    ["5.", "5 5000"],
    ["+3", "3 3000"],
    ["-3", "-3 -3000"],
    ["7Ei", `8070450532247928832 ${largest}`],
    ["16Ei", `${largest} ${largest}`],
    ["9223372036854775806", `9223372036854775806 ${largest}`],
    ["1.0000000000000000001", "2 1001"],
    ["0.00000000000000000012e30", "120000000000 120000000000000"],
    ["99999999999999999999999999999999999999999999e-40", "10000 10000000"],
    ["0e2147483647", "0 0"],
    ["1e2147483647", `${largest} ${largest}`],
    ["1e-2147483648", "1 1"],
    [`${"0".repeat(48)}1`, "1 1000"],
  ];
  for (const [quantity, expected] of rows) assert.equal(told({ quantity }), expected, quantity);
  for (const quantity of ["", "Gi", "1Q", "1.2.3", "1 Gi", "--1", "1e", "1e3.5", "0x10", "é", ".", "1é", "1nu", "1ni", "1e+-3"]) {
    assert.equal(told({ quantity }), "none", quantity);
  }
});

test("a text of any length comes back as it was", () => {
  for (const length of [0, 1, 8191, 8192, 100_000]) {
    const echo = "é".repeat(length);
    assert.equal(told({ echo }), echo);
  }
});

test("half of a surrogate pair leaves the module as a replacement character", () => {
  assert.equal(told({ half: "" }), "\ufffd");
});

test("a test that asks about a node that is not there says so", () => {
  assert.throws(() => world.filter(probe, "m"), { message: "the test names the node m; there is no such node" });
  assert.throws(() => world.score(probe, "n"), { message: "the policy has no score" });
});
