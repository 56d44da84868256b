/** Settings: an error names the setting, with its place. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { definePolicy, fits, Quantity, setting, SettingsError } from "plimsoll";
import { checkSettings } from "plimsoll/testing";

const policy = definePolicy({
  settings: {
    label: setting.string(),
    limit: setting.integer({ default: 3 }),
    strict: setting.boolean({ default: false }),
    memory: setting.quantity({ default: "1Gi" }),
    mode: setting.oneOf(["soft", "hard"], { default: "soft" }),
    pools: setting.list(setting.object({ name: setting.string(), share: setting.number({ default: 0.5 }) }), { default: [] }),
    weights: setting.map(setting.integer(), { default: new Map() }),
    zone: setting.optional(setting.string()),
  },
  filter: () => fits,
});

const DEFAULTS = {
  label: "a",
  limit: 3,
  strict: false,
  memory: Quantity.parse("1Gi"),
  mode: "soft",
  pools: [],
  weights: new Map(),
  zone: undefined,
};

test("settings are read into their fields", () => {
  const given = {
    label: "a",
    limit: 4,
    strict: true,
    memory: "512Mi",
    mode: "hard",
    pools: [{ name: "p", share: 1 }, { name: "q" }],
    weights: { x: 2 },
    zone: null,
  };
  const pools = [{ name: "p", share: 1 }, { name: "q", share: 0.5 }];
  const expected = { ...given, memory: Quantity.parse("512Mi"), pools, weights: new Map([["x", 2]]), zone: undefined };
  assert.deepEqual(checkSettings(policy, given), expected);
  assert.deepEqual(checkSettings(policy, { label: "a" }), DEFAULTS);
});

const WRONG: readonly (readonly [unknown, string])[] = [
  [null, "the field label is missing"],
  [[], "the settings: expected an object, found a list"],
  [{ label: 3 }, "label: expected a string, found a number"],
  [{ label: "a", limit: true }, "limit: expected a whole number, found true or false"],
  [{ label: "a", limit: 1.5 }, "limit: expected a whole number, found a number"],
  [
    { label: "a", limit: 2 ** 53 },
    "limit: expected a whole number from -9007199254740991 to 9007199254740991, found 9007199254740992",
  ],
  [{ label: "a", strict: "yes" }, "strict: expected true or false, found a string"],
  [{ label: "a", memory: "much" }, "memory: expected a quantity such as 512Mi, found a string"],
  [{ label: "a", mode: "mild" }, 'mode: expected one of soft, hard, found "mild"'],
  [{ label: "a", pools: {} }, "pools: expected a list, found an object"],
  [{ label: "a", pools: [{ name: 3 }] }, "pools[0].name: expected a string, found a number"],
  [{ label: "a", pools: [{ nam: "p" }] }, "there is no field pools[0].nam; expected pools[0].name, pools[0].share"],
  [{ label: "a", weights: { x: "2" } }, "weights.x: expected a whole number, found a string"],
  [{ label: "a", zone: 3 }, "zone: expected a string, found a number"],
  [JSON.parse('{"label": "a", "__proto__": {}}'), "there is no field __proto__; expected label, limit, strict, memory"],
];

for (const [settings, error] of WRONG) {
  test(`an error names the setting: ${error}`, () => {
    const isIt = (own: unknown) => own instanceof SettingsError && own.message.startsWith(error);
    assert.throws(() => checkSettings(policy, settings), isIt);
  });
}

test("the values of settings have the types of their fields", () => {
  definePolicy({
    settings: { mode: setting.oneOf(["soft", "hard"]), names: setting.list(setting.string()) },
    score(_pod, _node, { mode, names }) {
      // @ts-expect-error: mode is neither.
      if (mode === "mild") return 0;
      const first: string | undefined = names[0];
      return first === undefined ? 0 : 1;
    },
  });
});

test("a definition that is no policy is refused", () => {
  const define = (definition: object) => () => definePolicy(definition as { filter: () => typeof fits });
  assert.throws(define({}), { message: "a policy needs a verb: filter, score, rank, preempt, bind" });
  assert.throws(define({ fliter: () => fits }), { message: /^a policy has no fliter; expected settings, validate, filter/ });
  assert.throws(define(new (class Own { fliter = () => fits; filter() { return fits; } })()), {
    message: "a policy is a plain object such as { filter() { ... } }, found an instance of Own",
  });
  assert.throws(define({ filter: fits }), { message: "filter of a policy: expected a function, found object" });
});

const AMOUNTS: readonly (readonly [string, number, number])[] = [
  ["500m", 1, 500],
  ["1.5Gi", 3 * 2 ** 29, 3000 * 2 ** 29],
  ["3", 3, 3000],
  ["1e3", 1000, 1_000_000],
  ["2E", 2e18, 2 ** 63],
  ["1n", 1, 1],
  ["-1500m", -2, -1500],
  ["9e99999", 2 ** 63, 2 ** 63],
  ["0e99999", 0, 0],
  ["1e-99999", 1, 1],
];

test("quantities are read as Kubernetes does", () => {
  for (const [text, value, millis] of AMOUNTS) {
    const own = Quantity.parse(text);
    assert.deepEqual([own.value, own.millis], [value, millis], text);
  }
});

test("a text that is no quantity is refused", () => {
  for (const text of ["", ".", "1 Gi", "1gi", "Gi", "1.2.3", "e3", "1e", "٣", "1\n", "9".repeat(1000)]) {
    assert.throws(() => Quantity.parse(text), { name: "RangeError", message: /is no quantity$/ }, text);
  }
});
