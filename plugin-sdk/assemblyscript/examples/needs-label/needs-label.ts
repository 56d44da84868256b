/** Rejects nodes that lack the label a pod asks for, and prefers nodes with few pods. */

import { Filter, fits, Node, Pod, Score, Settings, unresolvable, Verdict } from "plimsoll-assemblyscript";

export class NeedsLabel implements Filter, Score {
  /** The annotation in which a pod names the label. */
  private readonly annotation: string;

  constructor(settings: Settings) {
    this.annotation = settings.stringOr("annotation", "example.com/needs");
    if (this.annotation == "") settings.refuse("annotation: it must not be empty");
  }

  filter(pod: Pod, node: Node): Verdict {
    const key = pod.annotation(this.annotation);
    if (key === null || node.label(key) !== null) return fits;
    console.info(node.name + " lacks " + key);
    return unresolvable("node lacks the label that the pod needs");
  }

  score(pod: Pod, node: Node): u32 {
    return 100 - min(node.placedCount, 100);
  }
}
