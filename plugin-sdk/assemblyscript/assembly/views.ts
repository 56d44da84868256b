import { Grouping } from "./generated";
import {
  candidatesCount,
  candidatesNode,
  candidatesVictims,
  hostNow,
  nodesByLabel,
  nodesCount,
  placedCreated,
  podCreated,
} from "./generated-imports";
import { CandidateReads, ClusterReads, FactsReads, NodeReads, NodesReads, PlacedReads, PodReads } from "./generated-views";
import { Json } from "./json";

/** The pod being scheduled. */
export class Pod extends PodReads {
  /** When the pod was created, in Unix seconds; 0 if unknown. Answers that depend on it are cached for that pod alone. */
  get created(): u64 {
    return podCreated();
  }

  /** The value at an RFC 6901 pointer into the whole object, such as `/spec/schedulerName`. */
  field(pointer: string): Json | null {
    return parsed(this.fieldText(pointer));
  }

  /**
   * The time of the request in Unix seconds, rounded down to a multiple of the granularity in seconds.
   *
   * An answer stays cached as long as this value is the same, so use the coarsest that is good enough.
   */
  now(granularity: u32): u64 {
    return hostNow(granularity);
  }
}

/** One node of the request. */
export class Node extends NodeReads {
  /** As `Pod.field`. */
  field(pointer: string): Json | null {
    return parsed(this.fieldText(pointer));
  }

  /**
   * The amount of a resource that the pods on the node leave: cpu in millicores, all else in base units. Its `reason` says
   * why there is none: the pods are not known, or the resource is not (see `Node.resourceKnown`), which kube-scheduler
   * checks itself.
   */
  free(name: string): Free {
    if (!this.resourceKnown(name)) return new Free(0, "DRA provides the resource on the node, and a policy cannot count its devices");
    const requested = this.requested(name);
    if (requested === null) return new Free(0, "the pods on the node are not known");
    return new Free(this.allocatable(name) - requested.value, null);
  }

  /** The pods placed on the node, or being bound to it; empty where the host has no view of pods. */
  get placed(): Array<Placed> {
    const pods = new Array<Placed>();
    for (let pod: u32 = 0, count = this.placedCount; pod < count; pod++) pods.push(new Placed(this.index, pod));
    return pods;
  }

  /** All nodes and pods that the gateway knows. */
  get cluster(): Cluster {
    return new Cluster();
  }

  /** The facts that are about no single node. */
  get facts(): Facts {
    return new Facts();
  }
}

/** What pods leave of a resource; `reason` is not null where the amount is not known. */
export class Free {
  constructor(
    readonly amount: i64,
    readonly reason: string | null,
  ) {}
}

/** All nodes of the request, in their order. */
export class Nodes extends NodesReads {
  /** The number of nodes in the request. */
  get length(): u32 {
    return nodesCount();
  }

  /** The node with this index: `nodes[0]`. A read of a node that does not exist ends the call with a fault. */
  // @ts-ignore: decorator
  @operator("[]")
  at(index: u32): Node {
    return new Node(index);
  }

  /** All nodes by the value of a label, in one read. */
  byLabel(key: string): Groups {
    return new Groups(nodesByLabel(key));
  }

  /** All nodes and pods that the gateway knows. */
  get cluster(): Cluster {
    return new Cluster();
  }

  /** The facts that are about no single node. */
  get facts(): Facts {
    return new Facts();
  }
}

/** Nodes by the value of a label: one group for each value. */
export class Groups {
  /** The values of the groups, in their order. */
  readonly values: Array<string>;
  private readonly groups: Array<u32>;

  constructor(grouping: Grouping) {
    this.values = grouping.values;
    this.groups = grouping.groups;
  }

  /** The number of groups. */
  get length(): i32 {
    return this.values.length;
  }

  /** The group of a node; -1 for a node without the label. */
  of(node: Node): i32 {
    const group = <i32>this.groups[node.index];
    return group < this.values.length ? group : -1;
  }
}

/** A pod placed on a node, or being bound to it. Its index is among the pods of its node. */
export class Placed extends PlacedReads {
  /** When the pod was created, in Unix seconds; 0 if unknown. */
  get created(): u64 {
    return placedCreated(this.ofNode, this.index);
  }
}

/** A node on which kube-scheduler could make room, with the pods that it would evict. */
export class Candidate extends CandidateReads {
  /** The candidate's node. */
  get node(): Node {
    return new Node(candidatesNode(this.index));
  }

  /** The pods that would be evicted, by descending priority. */
  get victims(): Array<Placed> {
    const node = candidatesNode(this.index);
    const indices = candidatesVictims(this.index);
    const pods = new Array<Placed>();
    for (let at = 0; at < indices.length; at++) pods.push(new Placed(node, indices[at]));
    return pods;
  }

  /** All candidates of the request, this one among them. */
  get all(): Array<Candidate> {
    const all = new Array<Candidate>();
    for (let index: u32 = 0, count = candidatesCount(); index < count; index++) all.push(new Candidate(index));
    return all;
  }

  /** All nodes and pods that the gateway knows. */
  get cluster(): Cluster {
    return new Cluster();
  }

  /** The facts that are about no single node. */
  get facts(): Facts {
    return new Facts();
  }
}

/**
 * All nodes and pods that the gateway knows, those outside of the request included.
 *
 * Each answer is `null` where the gateway has no view of the cluster: a limit should refuse then. Read it again for each
 * node: a value that is kept from one call to the next makes cached answers wrong.
 */
export class Cluster extends ClusterReads {}

/**
 * Facts from outside the cluster by their keys, in sources that the policy's sidecar names: prices, budgets, calendars.
 *
 * Read a fact again for each node: a value that is kept from one call to the next makes cached answers wrong.
 */
export class Facts extends FactsReads {}

function parsed(text: string | null): Json | null {
  return text === null ? null : Json.parse(text);
}
