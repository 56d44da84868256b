/** Metadata that the gateway would end as a fault fails in a test, too. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkMetadata } from "../testing/metadata.mjs";

const WRONG = [
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
  test(`metadata is refused: ${expected}`, () => {
    assert.throws(() => checkMetadata(annotations, labels), (error) => {
      return error instanceof RangeError && error.message.startsWith(`the gateway would end this call as a fault: ${expected}`);
    });
  });
}

test("metadata by the rules passes", () => {
  assert.doesNotThrow(() => checkMetadata({ "Example.com/a": "any text" }, { a: "", "b.c/d-e": "F_1" }));
});
