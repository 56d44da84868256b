/** Reads of the whole cluster. */

import { entry, isSame, sum } from "./known.mjs";
import { compareTexts } from "./objects.mjs";

const MAX_LABEL_VALUES = 1000;

export function clusterReads(asked, nodes) {
  const isMatch = (selector, node, pod) =>
    !isSame(pod, asked) &&
    (selector.namespace ?? pod.namespace) === pod.namespace &&
    has(pod.spec.labels, selector.label) &&
    has(pod.spec.annotations, selector.annotation) &&
    has(node.spec.labels, selector.nodeLabel);
  const matching = (selector) =>
    nodes?.flatMap((node) => node.pods.filter((pod) => isMatch(selector, node, pod)));
  const count = (selector) => matching(selector)?.length ?? null;
  const atMost = (number, n) => (number === null || number < n ? number : n);
  return {
    count,
    countUpTo: (selector, n) => atMost(count(selector), n),
    atLeast(selector, n) {
      const number = count(selector);
      return number === null ? null : number >= n;
    },
    requested(selector, name) {
      const pods = matching(selector);
      return pods === undefined ? null : sum(pods, name);
    },
    nodesWithLabel: (key, value) => nodes?.filter((node) => entry(node.spec.labels, key) === value).length ?? null,
    labelValues: (key) => (nodes === undefined ? null : labelValues(nodes, key)),
  };
}

function labelValues(all, key) {
  const counts = new Map();
  for (const node of all) {
    const value = entry(node.spec.labels, key);
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  if (counts.size > MAX_LABEL_VALUES) {
    throw new RangeError(`cluster.label-values lists at most ${MAX_LABEL_VALUES} values; the label has more`);
  }
  return [...counts].sort(([a], [b]) => compareTexts(a, b)).map(([value, nodes]) => ({ value, nodes }));
}

function has(entries, pair) {
  return pair === undefined || entry(entries, pair.key) === pair.value;
}
