import { Binding, Preemption, Verdict } from "./answers";
import { Candidate, Node, Nodes, Pod } from "./views";

/** May the pod run on this node? Asked about one node of the request after another. */
export interface Filter {
  filter(pod: Pod, node: Node): Verdict;
}

/** 0 to 100; higher is better. */
export interface Score {
  score(pod: Pod, node: Node): u32;
}

/** One score of 0 to 100 for each node, in the order of the nodes. */
export interface Rank {
  rank(pod: Pod, nodes: Nodes): Array<u32>;
}

/** May the victims of this candidate be evicted for the pod? */
export interface Preempt {
  preempt(pod: Pod, candidate: Candidate): Preemption;
}

/** The metadata that the pod carries from its binding on, or the reason why it is not bound. */
export interface Bind {
  bind(pod: Pod, node: Node): Binding;
}
