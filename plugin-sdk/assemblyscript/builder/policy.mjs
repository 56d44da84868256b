/** Finds the policy in a source: its class, the verbs that it has, and whether it reads settings. */

import * as compiler from "assemblyscript";

/** The verbs by the interface that the class of a policy implements. */
export const VERBS = { Filter: "filter", Score: "score", Rank: "rank", Preempt: "preempt", Bind: "bind" };

/** An error in the arguments or the source; exit code 2. */
export class UsageError extends Error {}

/**
 * The policy of a source.
 *
 * @param {string} text
 * @param {string} path The name of the file, for errors.
 * @throws UsageError if it has none, or more than one.
 */
export function policyOf(text, path) {
  const program = compiler.newProgram(compiler.newOptions());
  compiler.parse(program, text, path, true);
  const [source] = program.sources;
  const policies = source.statements.filter(isClass).filter((own) => verbsOf(own).length > 0);
  const [policy] = policies;
  if (policy === undefined) {
    throw new UsageError(`${path} has no policy: expected an exported class that implements ${Object.keys(VERBS).join(", ")}`);
  }
  const names = policies.map((own) => own.name.text);
  if (policies.length > 1) throw new UsageError(`${path} has the policies ${names.join(" and ")}: expected one`);
  if (!policy.is(compiler.CommonFlags.Export)) {
    throw new UsageError(`${path}: the policy ${policy.name.text} is not exported: write export class ${policy.name.text}`);
  }
  return { name: policy.name.text, verbs: verbsOf(policy), readsSettings: readsSettings(policy) };
}

function isClass(statement) {
  return statement.kind === compiler.NodeKind.ClassDeclaration;
}

function verbsOf(policy) {
  const implemented = (policy.implementsTypes ?? []).map((type) => type.name.identifier.text);
  return implemented.filter((name) => Object.hasOwn(VERBS, name)).map((name) => VERBS[name]);
}

/** Whether the constructor has a parameter, which is the settings. */
function readsSettings(policy) {
  const constructor = policy.members.find((member) => member.is(compiler.CommonFlags.Constructor));
  return constructor !== undefined && constructor.signature.parameters.length > 0;
}
