/** Rejects nodes that lack the label a pod asks for, and prefers nodes with few pods. */

import { definePolicy, fits, setting, SettingsError, unresolvable } from "plimsoll";

export default definePolicy({
  settings: {
    /** The annotation in which a pod names the label. */
    annotation: setting.string({ default: "example.com/needs" }),
  },

  validate({ annotation }) {
    if (annotation === "") throw new SettingsError("annotation: it must not be empty");
  },

  filter(pod, node, { annotation }) {
    const key = pod.annotation(annotation);
    if (key !== undefined && node.label(key) === undefined) {
      console.info(`${node.name} lacks ${key}`);
      return unresolvable("node lacks the label that the pod needs");
    }
    return fits;
  },

  score(_pod, node) {
    return Math.max(100 - node.placedCount, 0);
  },
});
