/**
 * Asks a policy natively: no WebAssembly, no cluster. A world answers each read as the gateway does.
 *
 * ```ts
 * const world = new World({
 *   pod: { name: "p", annotations: { "example.com/needs": "ssd" } },
 *   nodes: [{ name: "fast", labels: { ssd: "true" } }, { name: "slow" }],
 * });
 * assert.deepEqual(world.filter(needsLabel, "fast"), fits);
 * ```
 *
 * An invalid world, such as one with a malformed quantity, throws `RangeError`. So does a read that the gateway
 * would end as a fault.
 *
 * @packageDocumentation
 */

import type { Binding, Preemption, Verdict } from "../answers.js";
import type { Policy } from "../policy.js";
import { settingsOf, type Verb } from "../policy.js";
import type { Schema, Values } from "../settings.js";
import * as views from "../views.js";
import { checkMetadata } from "./metadata.js";
import type { Candidate, Node, Pod } from "./objects.js";
import { answers, type Answers, type Facts } from "./reads.js";

export type { Candidate, Node, Pod } from "./objects.js";

/** The cluster and the pod of a test. */
export interface WorldOptions {
  /** The pod to schedule. */
  readonly pod?: Pod;
  /** The nodes of the request, which are all nodes of the cluster. */
  readonly nodes?: readonly Node[];
  /** The evictions that kube-scheduler would propose, for `preempt`. */
  readonly candidates?: readonly Candidate[];
  /** The labels of each namespace that the gateway knows. */
  readonly namespaces?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The facts of each source by key; those about a node have its name as their key. */
  readonly facts?: Facts;
  /** The time of the request. */
  readonly now?: Date;
  /** The gateway has no view of the whole cluster: every read of it is `undefined`. */
  readonly withoutCluster?: boolean;
  /** The gateway knows no pods but the one to schedule, and so has no view of the cluster either. */
  readonly withoutPods?: boolean;
}

/** A world that a policy can be asked about. `settings` are those of the sidecar; without them all have their defaults. */
export class World {
  readonly #options: WorldOptions;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
  }

  /** A world that differs from this one. */
  with(options: WorldOptions): World {
    return new World({ ...this.#options, ...options });
  }

  /** Asks about one node. */
  filter<S extends Schema>(policy: Policy<S>, node: string, settings?: unknown): Verdict {
    const imports = this.#imports();
    const { definition, values } = prepared(policy, "filter", settings);
    return definition.filter(new views.Pod(imports), nodeOf(imports, node), values);
  }

  /** Asks for the score of one node. */
  score<S extends Schema>(policy: Policy<S>, node: string, settings?: unknown): number {
    const imports = this.#imports();
    const { definition, values } = prepared(policy, "score", settings);
    return checked(definition.score(new views.Pod(imports), nodeOf(imports, node), values), node);
  }

  /** Asks for the scores of all nodes; by their names. */
  rank<S extends Schema>(policy: Policy<S>, settings?: unknown): Record<string, number> {
    const imports = this.#imports();
    const { definition, values } = prepared(policy, "rank", settings);
    const scores = definition.rank(new views.Pod(imports), new views.Nodes(imports), values);
    const nodes = this.#options.nodes ?? [];
    if (scores.length !== nodes.length) {
      throw new RangeError(`the policy gave ${scores.length} scores for ${nodes.length} nodes`);
    }
    return Object.fromEntries(nodes.map(({ name }, at) => [name, checked(scores[at] ?? NaN, name)]));
  }

  /** Asks about the first candidate on a node. */
  preempt<S extends Schema>(policy: Policy<S>, node: string, settings?: unknown): Preemption {
    const candidates = this.#options.candidates ?? [];
    const index = candidates.findIndex((candidate) => candidate.node === node);
    if (index < 0) throw new RangeError(`the test asks about a candidate on the node ${node}; there is none`);
    const imports = this.imports(candidates.map((candidate) => this.#node(candidate.node)), candidates);
    const { definition, values } = prepared(policy, "preempt", settings);
    return definition.preempt(new views.Pod(imports), new views.Candidate(imports, index), values);
  }

  /**
   * Asks what the pod gets as it is bound to a node.
   *
   * @throws RangeError if the metadata breaks the rules of Kubernetes: the gateway ends such a call as a fault.
   */
  bind<S extends Schema>(policy: Policy<S>, node: string, settings?: unknown): Binding {
    const imports = this.#imports();
    const { definition, values } = prepared(policy, "bind", settings);
    const binding = definition.bind(new views.Pod(imports), nodeOf(imports, node), values);
    if (binding.kind === "bound") checkMetadata(binding.annotations, binding.labels);
    return binding;
  }

  /** @internal The answers to the reads of a call about these nodes. */
  imports(nodes: readonly Node[], candidates: readonly Candidate[] = []): Answers {
    const { pod = {}, withoutCluster = false, withoutPods = false, namespaces = {}, facts = {}, now } = this.#options;
    const cluster = withoutCluster || withoutPods ? undefined : (this.#options.nodes ?? []);
    return answers({ pod, nodes, candidates, cluster, namespaces, facts, now: now ?? new Date(0), withoutPods });
  }

  #imports(): Answers {
    return this.imports(this.#options.nodes ?? []);
  }

  #node(name: string): Node {
    const node = this.#options.nodes?.find((other) => other.name === name);
    if (node === undefined) throw new RangeError(`a candidate names the node ${name}; there is no such node`);
    return node;
  }
}

/**
 * Makes the checks of settings that the gateway makes as it loads a policy.
 *
 * @throws SettingsError if the policy refuses them.
 */
export function checkSettings<S extends Schema>(policy: Policy<S>, settings?: unknown): Values<S> {
  // As the sidecar gives them: JSON has no `undefined`.
  return settingsOf(policy, settings === undefined ? null : JSON.parse(JSON.stringify(settings)));
}

function prepared<S extends Schema, V extends Verb>(policy: Policy<S>, verb: V, settings: unknown) {
  const { definition } = policy;
  if (definition[verb] === undefined) throw new RangeError(`the policy has no ${verb}`);
  type Definition = typeof definition;
  return { definition: definition as Definition & Required<Pick<Definition, V>>, values: checkSettings(policy, settings) };
}

function nodeOf(imports: Answers, name: string): views.Node {
  for (const node of new views.Nodes(imports)) if (node.name === name) return node;
  throw new RangeError(`the test asks about the node ${name}; there is no such node`);
}

function checked(score: number, node: string): number {
  if (!Number.isInteger(score) || score < 0 || score > 100) {
    throw new RangeError(`the policy gave ${node} the score ${score}; it may give whole numbers from 0 to 100`);
  }
  return score;
}
