// Needs-label rejects nodes that lack the label a pod asks for in an annotation, and prefers nodes with memory to spare.
//
//   settings: {annotation: example.com/needs, spare: 16Gi}
#include "plimsoll.h"

// The annotation in which a pod names the label.
static plimsoll_str annotation = PLIMSOLL_STR_INIT("example.com/needs");
// Bytes of memory that a node should have left to get the full score.
static int64_t spare = 16LL << 30;

static void settings(plimsoll_settings *from) {
  plimsoll_setting_str(from, PLIMSOLL_STR("annotation"), &annotation);
  plimsoll_setting_quantity(from, PLIMSOLL_STR("spare"), 1, &spare);
  if (!annotation.len) plimsoll_refuse_settings(from, PLIMSOLL_STR("annotation: it is empty"));
  if (spare <= 0) plimsoll_refuse_settings(from, PLIMSOLL_STR("spare: it must be above 0"));
}
PLIMSOLL_SETTINGS(settings);

// Keeps the nodes that have the label.
static plimsoll_verdict needs_label(uint32_t node) {
  plimsoll_str key, value;
  if (plimsoll_pod_annotation(annotation, &key) && !plimsoll_nodes_label(node, key, &value))
    return plimsoll_unresolvable(PLIMSOLL_STR("node lacks the label that the pod needs"));
  return plimsoll_fits();
}
PLIMSOLL_FILTER(needs_label);

// Prefers nodes with memory to spare; a node whose pods are not known gets nothing.
static uint32_t memory_to_spare(uint32_t node) {
  int64_t left;
  plimsoll_str reason;
  if (!plimsoll_nodes_free(node, PLIMSOLL_STR("memory"), &left, &reason)) return 0;
  if (left >= spare) return 100;
  return left <= 0 ? 0 : (uint32_t)(100 * (double)left / (double)spare);
}
PLIMSOLL_SCORE(memory_to_spare);
