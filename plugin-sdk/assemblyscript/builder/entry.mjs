/** The source that exports the verbs of a policy. */

import { PACKAGE, VERSION } from "../testing/generated.mjs";

/** For each verb: the interface that exports it, its parameter, the body and the type of the result. */
const EXPORTS = {
  filter: { of: "filter", parameter: "node: u32", answer: "guest.verdict(policy().filter(new Pod(), new Node(node)))" },
  score: { of: "score", parameter: "node: u32", answer: "policy().score(new Pod(), new Node(node))", result: "u32" },
  rank: { of: "rank", parameter: "", answer: "guest.scores(policy().rank(new Pod(), new Nodes()))" },
  preempt: {
    of: "preempt",
    parameter: "candidate: u32",
    answer: "guest.preemption(policy().preempt(new Pod(), new Candidate(candidate)))",
  },
  bind: { of: "binding", parameter: "node: u32", answer: "guest.binding(policy().bind(new Pod(), new Node(node)))" },
};

/**
 * The text of the source.
 *
 * The policy is made in the first call of an instance: while a module is instantiated nothing can be read.
 */
export function entryText({ name, verbs, readsSettings }, source, sdk) {
  const exported = verbs.map((verb) => {
    const { parameter, answer, result = "usize" } = EXPORTS[verb];
    return `export function ${verb}(${parameter}): ${result} {\n  guest.begin();\n  return ${answer};\n}\n`;
  });
  return `import "${sdk}/fault";
import "${sdk}/log";
import * as guest from "${sdk}/guest";
import { Settings } from "${sdk}/settings";
import { Candidate, Node, Nodes, Pod } from "${sdk}/views";
import { ${name} as Policy } from ${JSON.stringify(`./${source}`)};

export { reallocate } from "${sdk}/guest";

let instance: Policy | null = null;

function make(settings: Settings): Policy {
  return new Policy(${readsSettings ? "settings" : ""});
}

function policy(): Policy {
  const own = instance;
  if (own !== null) return own;
  const settings = guest.readSettings();
  const created = make(settings);
  guest.requireValid(settings);
  instance = created;
  return created;
}

export function validate(): usize {
  guest.begin();
  const settings = guest.readSettings();
  const created = make(settings);
  const refusal = settings.finish();
  // Kept: the host asks this of an instance before it asks the first verb.
  if (refusal === null) instance = created;
  return guest.validation(refusal);
}

${exported.join("\n")}`;
}

/** The name of each export in the contract, by its name in the source. */
export function exportNames(verbs) {
  const own = (verb, of) => [verb, `${PACKAGE}/${of}@${VERSION}#${verb}`];
  return new Map([
    ["reallocate", "cabi_realloc"],
    own("validate", "validate"),
    ...verbs.map((verb) => own(verb, EXPORTS[verb].of)),
  ]);
}
