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
 * @throws UsageError if it has none or more than one, or if a verb of it would be left out.
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
  refuseHiddenVerbs(policy, path);
  return { name: policy.name.text, verbs: verbsOf(policy), readsSettings: readsSettings(policy) };
}

function isClass(statement) {
  return statement.kind === compiler.NodeKind.ClassDeclaration;
}

function verbsOf(policy) {
  return implemented(policy).filter(isVerb).map((name) => VERBS[name]);
}

/** The names of the interfaces as they are written. */
function implemented(policy) {
  return (policy.implementsTypes ?? []).map((type) => type.range.toString());
}

function isVerb(name) {
  return Object.hasOwn(VERBS, name);
}

/**
 * Only the text of the class is read, so a verb that it has by another name, or by another class, would not be exported.
 *
 * @throws UsageError
 */
function refuseHiddenVerbs(policy, path) {
  const refuse = (node, problem) => {
    throw new UsageError(`${path}:${node.range.source.lineAt(node.range.start)}: the policy ${policy.name.text} ${problem}`);
  };
  const { extendsType: base } = policy;
  if (base) refuse(base, `extends ${base.range}: expected a class that extends none, and implements its verbs itself`);
  const names = implemented(policy);
  const unknown = names.findIndex((name) => !isVerb(name));
  if (unknown >= 0) {
    const expected = Object.keys(VERBS).join(", ");
    refuse(policy.implementsTypes[unknown], `implements ${names[unknown]}: expected only ${expected}, by these names`);
  }
  for (const [name, verb] of Object.entries(VERBS)) {
    const method = policy.members.find((member) => isPublicMethod(member) && member.name.text === verb);
    if (method && !names.includes(name)) {
      refuse(method, `has a method ${verb} and does not implement ${name}: add ${name} to \`implements\`, or rename the method`);
    }
  }
}

/** Whether the method could be that of an interface. */
function isPublicMethod({ kind, flags }) {
  const { Constructor, Get, Set, Static, Private, Protected } = compiler.CommonFlags;
  const isMethod = kind === compiler.NodeKind.MethodDeclaration;
  return isMethod && (flags & (Constructor | Get | Set | Static | Private | Protected)) === 0;
}

/** Whether the constructor has a parameter, which is the settings. */
function readsSettings(policy) {
  const constructor = policy.members.find((member) => member.is(compiler.CommonFlags.Constructor));
  return constructor !== undefined && constructor.signature.parameters.length > 0;
}
