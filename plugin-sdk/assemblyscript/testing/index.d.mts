/**
 * Asks a policy without the gateway: Node.js runs the module, and a world answers each read as the gateway does.
 *
 * ```js
 * const needsLabel = await loadPolicy("needs-label.ts");
 * const world = new World({
 *   pod: { name: "p", annotations: { "example.com/needs": "ssd" } },
 *   nodes: [{ name: "fast", labels: { ssd: "true" } }, { name: "slow" }],
 * });
 * assert.deepEqual(world.filter(needsLabel, "fast"), fits);
 * ```
 *
 * An invalid world, such as one with a malformed quantity, throws `RangeError`. So does a read that the gateway
 * would end as a fault. There is no limit of time or memory: an endless loop is ended by the timeout of the test runner.
 *
 * @packageDocumentation
 */

type Texts = Readonly<Record<string, string>>;

/** A policy that a world can ask. */
export declare class Policy {
  private constructor();
}

/** The policy of a source (`.ts`), which is compiled in memory, or of a module (`.wasm`). */
export declare function loadPolicy(file: string | URL): Promise<Policy>;

/** The policy ended the call: by `throw`, a failed `assert`, or an error that the standard library found. */
export declare class PolicyPanic extends Error {}

/** The settings are wrong. The text says which one, for the operator. */
export declare class SettingsError extends Error {}

/**
 * Makes the check of settings that the gateway makes as it loads a policy.
 *
 * @throws SettingsError if the policy refuses them.
 */
export declare function checkSettings(policy: Policy, settings?: unknown): void;

/** The pod to schedule, or one that is placed. */
export interface Pod {
  readonly name?: string;
  /** `default` if it is not given. */
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Texts;
  readonly annotations?: Texts;
  readonly priority?: number;
  readonly priorityClass?: string;
  readonly controller?: { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string };
  readonly created?: Date;
  /** The requests of the pod as a whole, written as in Kubernetes: `{ cpu: "500m", memory: "4Gi" }`. */
  readonly requests?: Texts;
  readonly images?: readonly string[];
  /** A pod that is `Succeeded` or `Failed` is not placed any more. */
  readonly phase?: string;
  /** Whether it has a `metadata.deletionTimestamp`. */
  readonly terminating?: boolean;
  /** The rest of the object, for policies that read fields. */
  readonly object?: Readonly<Record<string, unknown>>;
}

/** A node with the pods placed on it. */
export interface Node {
  readonly name: string;
  readonly labels?: Texts;
  readonly annotations?: Texts;
  readonly taints?: readonly { readonly key: string; readonly value: string; readonly effect: string }[];
  readonly allocatable?: Texts;
  readonly capacity?: Texts;
  /** The status of each condition: `{ Ready: "True" }`. */
  readonly conditions?: Texts;
  readonly unschedulable?: boolean;
  /** Its IP addresses and host names, by which facts may know it. */
  readonly addresses?: readonly string[];
  /** The bytes of each image that it has pulled. */
  readonly images?: Readonly<Record<string, number>>;
  readonly pods?: readonly Pod[];
  /** Whether it may have other pods as well, which the gateway does not know. */
  readonly podsUnknown?: boolean;
  /** The resources that a DeviceClass provides on it: how much it has of them is not known. */
  readonly resourcesUnknown?: readonly string[];
  /** The rest of the object, for policies that read fields. */
  readonly object?: Readonly<Record<string, unknown>>;
}

/** A node on which kube-scheduler could make room. */
export interface Candidate {
  readonly node: string;
  /** As namespace/name, by descending priority. */
  readonly victims?: readonly string[];
  readonly pdbViolations?: number;
}

/** The cluster and the pod of a test. */
export interface WorldOptions {
  /** The pod to schedule. */
  readonly pod?: Pod;
  /** The nodes of the request, which are all nodes of the cluster. */
  readonly nodes?: readonly Node[];
  /** The evictions that kube-scheduler would propose, for `preempt`. */
  readonly candidates?: readonly Candidate[];
  /** The labels of each namespace that the gateway knows. */
  readonly namespaces?: Readonly<Record<string, Texts>>;
  /** The facts of each source by key; those about a node have its name as their key. */
  readonly facts?: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
  /** The time of the request. */
  readonly now?: Date;
  /** The gateway has no view of the whole cluster: every read of it is `null`. */
  readonly withoutCluster?: boolean;
  /** The gateway knows no pods but the one to schedule, and so has no view of the cluster either. */
  readonly withoutPods?: boolean;
}

/** The answer of a filter. */
export type Verdict = { readonly kind: "fits" } | { readonly kind: "unschedulable" | "unresolvable"; readonly reason: string };

/** The pod may run on the node. */
export declare const fits: Verdict;
/** The pod does not fit now, but may once other pods are gone. */
export declare function unschedulable(reason: string): Verdict;
/** The pod does not fit, whatever else is evicted. */
export declare function unresolvable(reason: string): Verdict;

/** The decision about one preemption candidate; `victims` are indices of pods placed on its node. */
export type Preemption =
  | { readonly kind: "keep" }
  | { readonly kind: "reject"; readonly reason: string }
  | { readonly kind: "replace"; readonly victims: readonly number[] };

/** The pods that kube-scheduler proposed are evicted. */
export declare const keep: Preemption;
/** There is no preemption on the node. */
export declare function reject(reason: string): Preemption;

/** The answer of a bind. */
export type Binding =
  | { readonly kind: "bound"; readonly annotations: Texts; readonly labels: Texts }
  | { readonly kind: "refused" | "retry"; readonly reason: string };

/** The pod is bound, with this metadata. */
export declare function bound(metadata?: { readonly annotations?: Texts; readonly labels?: Texts }): Binding;
/** The pod is not bound. */
export declare function refused(reason: string): Binding;
/** The pod cannot be bound yet. */
export declare function retry(reason: string): Binding;

/** A world that a policy can be asked about. `settings` are those of the sidecar; without them all have their defaults. */
export declare class World {
  constructor(options?: WorldOptions);
  /** A world that differs from this one. */
  with(options: WorldOptions): World;
  /** Asks about one node. */
  filter(policy: Policy, node: string, settings?: unknown): Verdict;
  /** Asks for the score of one node. */
  score(policy: Policy, node: string, settings?: unknown): number;
  /** Asks for the scores of all nodes; by their names. */
  rank(policy: Policy, settings?: unknown): Record<string, number>;
  /** Asks about the first candidate on a node. */
  preempt(policy: Policy, node: string, settings?: unknown): Preemption;
  /**
   * Asks what the pod gets as it is bound to a node.
   *
   * @throws RangeError if the metadata breaks the rules of Kubernetes: the gateway ends such a call as a fault.
   */
  bind(policy: Policy, node: string, settings?: unknown): Binding;
}
