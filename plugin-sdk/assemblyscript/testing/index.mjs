/** Asks a policy without the gateway: Node.js runs the module, and a world answers each read as the gateway does. */

import { checkMetadata } from "./metadata.mjs";
import { loadPolicy } from "./policy.mjs";
import { answers, PolicyPanic } from "./reads.mjs";

export { bound, fits, keep, refused, reject, retry, unresolvable, unschedulable } from "./answers.mjs";
export { loadPolicy, PolicyPanic };

/** The settings are wrong. */
export class SettingsError extends Error {}

/** A world that a policy can be asked about. */
export class World {
  #options;

  constructor(options = {}) {
    this.#options = options;
  }

  /** A world that differs from this one. */
  with(options) {
    return new World({ ...this.#options, ...options });
  }

  /** Asks about one node. */
  filter(policy, node, settings) {
    return policy.call(this.#answers(settings), "filter")(this.#index(node));
  }

  /** Asks for the score of one node. */
  score(policy, node, settings) {
    return checked(policy.call(this.#answers(settings), "score")(this.#index(node)), node);
  }

  /** Asks for the scores of all nodes; by their names. */
  rank(policy, settings) {
    const scores = policy.call(this.#answers(settings), "rank")();
    const nodes = this.#nodes;
    if (scores.length !== nodes.length) {
      throw new RangeError(`the policy gave ${scores.length} scores for ${nodes.length} nodes`);
    }
    return Object.fromEntries(nodes.map(({ name }, at) => [name, checked(scores[at], name)]));
  }

  /** Asks about the first candidate on a node. */
  preempt(policy, node, settings) {
    const { candidates = [] } = this.#options;
    const index = candidates.findIndex((candidate) => candidate.node === node);
    if (index < 0) throw new RangeError(`the test asks about a candidate on the node ${node}; there is none`);
    const nodes = candidates.map((candidate) => this.#nodes[this.#index(candidate.node)]);
    return policy.call(this.#answers(settings, nodes, candidates), "preempt")(index);
  }

  /** Asks what the pod gets as it is bound to a node. */
  bind(policy, node, settings) {
    const binding = policy.call(this.#answers(settings), "bind")(this.#index(node));
    if (binding.kind === "bound") checkMetadata(binding.annotations, binding.labels);
    return binding;
  }

  get #nodes() {
    return this.#options.nodes ?? [];
  }

  #answers(settings = null, nodes = this.#nodes, candidates = []) {
    const { pod = {}, withoutCluster = false, withoutPods = false, namespaces = {}, facts = {}, now } = this.#options;
    const cluster = withoutCluster || withoutPods ? undefined : this.#nodes;
    const call = { now: now ?? new Date(0), withoutPods, settings: JSON.stringify(settings) };
    return answers({ pod, nodes, candidates, cluster, namespaces, facts, ...call });
  }

  #index(name) {
    const index = this.#nodes.findIndex((node) => node.name === name);
    if (index < 0) throw new RangeError(`the test names the node ${name}; there is no such node`);
    return index;
  }
}

/**
 * Makes the check of settings that the gateway makes as it loads a policy.
 *
 * @throws SettingsError if the policy refuses them.
 */
export function checkSettings(policy, settings = null) {
  const world = { pod: {}, nodes: [], candidates: [], namespaces: {}, facts: {}, now: new Date(0), withoutPods: true };
  const error = policy.call(answers({ ...world, settings: JSON.stringify(settings) }), "validate")();
  if (error !== undefined) throw new SettingsError(error);
}

function checked(score, node) {
  if (score > 100) throw new RangeError(`the policy gave ${node} the score ${score}; it may give whole numbers from 0 to 100`);
  return score;
}
