/** The pod, the nodes and all else that a policy reads. The names are those of the contract (docs/contract.md). */

import type { Grouping } from "./generated.js";
import { CandidateReads, ClusterReads, FactsReads, NodeReads, NodesReads, PlacedReads, PodReads } from "./generated-views.js";

/** The pod being scheduled. */
export class Pod extends PodReads {
  /** When the pod was created. Answers that depend on it are cached for that pod alone. */
  get created(): Date | undefined {
    return time(this.imports.pod.created());
  }

  /** The value at an RFC 6901 pointer into the whole object, such as `/spec/schedulerName`. */
  field(pointer: string): unknown {
    return parsed(this.fieldText(pointer));
  }

  /**
   * The time of the request, rounded down to a multiple of the granularity in seconds.
   *
   * An answer stays cached as long as this value is the same, so use the coarsest that is good enough. The clock of
   * `Date` stands still.
   */
  now(granularity: number): Date {
    return new Date(this.imports.host.now(Math.max(Math.trunc(granularity), 1)) * 1000);
  }
}

/** One node of the request. */
export class Node extends NodeReads {
  /** As {@link Pod.field}. */
  field(pointer: string): unknown {
    return parsed(this.fieldText(pointer));
  }

  /**
   * The amount of a resource that the pods on the node leave: cpu in millicores, all else in base units. A text is the
   * reason why there is none: the pods are not known, or the resource is not (see {@link Node.resourceKnown}), which
   * kube-scheduler checks itself.
   */
  free(name: string): number | string {
    if (!this.resourceKnown(name)) return "DRA provides the resource on the node, and a policy cannot count its devices";
    const requested = this.requested(name);
    return requested === undefined ? "the pods on the node are not known" : this.allocatable(name) - requested;
  }

  /** The pods placed on the node, or being bound to it; empty where the host has no view of pods. */
  get placed(): Placed[] {
    return Array.from({ length: this.placedCount }, (_, pod) => new Placed(this.imports, this.index, pod));
  }

  /** All nodes and pods that the gateway knows. */
  get cluster(): Cluster {
    return new Cluster(this.imports);
  }

  /** The facts that are about no single node. */
  get facts(): Facts {
    return new Facts(this.imports);
  }
}

/** All nodes of the request, in their order. */
export class Nodes extends NodesReads implements Iterable<Node> {
  /** The number of nodes in the request. */
  get length(): number {
    return this.imports.nodes.count();
  }

  /** The node with this index; `undefined` if there is none. */
  at(index: number): Node | undefined {
    return index >= 0 && index < this.length ? new Node(this.imports, index) : undefined;
  }

  /** One value for each node, such as its score. */
  map<T>(of: (node: Node) => T): T[] {
    return Array.from(this, of);
  }

  *[Symbol.iterator](): Iterator<Node> {
    const length = this.length;
    for (let index = 0; index < length; index++) yield new Node(this.imports, index);
  }

  /** All nodes by the value of a label, in one read. */
  byLabel(key: string): Groups {
    return new Groups(this.imports.nodes.byLabel(key));
  }

  /** All nodes and pods that the gateway knows. */
  get cluster(): Cluster {
    return new Cluster(this.imports);
  }

  /** The facts that are about no single node. */
  get facts(): Facts {
    return new Facts(this.imports);
  }
}

/** Nodes by the value of a label: one group for each value. */
export class Groups {
  /** The values of the groups, in their order. */
  readonly values: readonly string[];
  readonly #groups: readonly number[];

  constructor(grouping: Grouping) {
    this.values = grouping.values;
    this.#groups = grouping.groups;
  }

  /** The number of groups. */
  get length(): number {
    return this.values.length;
  }

  /** The group of a node; `undefined` for a node without the label. */
  of(node: Node): number | undefined {
    const group = this.#groups[node.index];
    return group !== undefined && group < this.values.length ? group : undefined;
  }
}

/** A pod placed on a node, or being bound to it. Its index is among the pods of its node. */
export class Placed extends PlacedReads {
  /** When the pod was created. */
  get created(): Date | undefined {
    return time(this.imports.placed.created(this.ofNode, this.index));
  }
}

/** A node on which kube-scheduler could make room, with the pods that it would evict. */
export class Candidate extends CandidateReads {
  /** The candidate's node. */
  get node(): Node {
    return new Node(this.imports, this.imports.candidates.node(this.index));
  }

  /** The pods that would be evicted, by descending priority. */
  get victims(): Placed[] {
    const node = this.imports.candidates.node(this.index);
    return this.imports.candidates.victims(this.index).map((pod) => new Placed(this.imports, node, pod));
  }

  /** All candidates of the request, this one among them. */
  get all(): Candidate[] {
    return Array.from({ length: this.imports.candidates.count() }, (_, index) => new Candidate(this.imports, index));
  }

  /** All nodes and pods that the gateway knows. */
  get cluster(): Cluster {
    return new Cluster(this.imports);
  }

  /** The facts that are about no single node. */
  get facts(): Facts {
    return new Facts(this.imports);
  }
}

/**
 * All nodes and pods that the gateway knows, those outside of the request included.
 *
 * Each answer is `undefined` where the gateway has no view of the cluster: a limit should refuse then. Read it again for
 * each node: a value that is kept from one call to the next makes cached answers wrong.
 */
export class Cluster extends ClusterReads {}

/**
 * Facts from outside the cluster by their keys, in sources that the policy's sidecar names: prices, budgets, calendars.
 *
 * Read a fact again for each node: a value that is kept from one call to the next makes cached answers wrong.
 */
export class Facts extends FactsReads {}

function time(seconds: number): Date | undefined {
  return seconds === 0 ? undefined : new Date(seconds * 1000);
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}
