// The policy conformance in C: it reads all that a policy can read, answers all that it can answer, and fails in every way.
// docs/conformance.md says what each topic is, and `plimsoll conformance` compares.
#include "misbehave.h"

// The topic to tell about, or a way to fail.
static plimsoll_str topic;

static const char *const topics[] = {
    "pod",       "node",       "placed",         "cluster", "namespace",   "facts",        "field",       "large",
    "time",      "pool",       "panic",          "trap",    "recursion",   "loop",         "memory",      "long-reason",
    "high-score", "no-victims", "missing-node",  "missing-pod", "missing-candidate", "foreign-source", "log", "log-flood",
};

static bool is_topic(const char *name) {
  size_t at = 0;
  while (at < topic.len && name[at] && name[at] == topic.data[at]) at++;
  return at == topic.len && !name[at];
}

static void settings(plimsoll_settings *from) {
  if (!plimsoll_setting_str(from, PLIMSOLL_STR("topic"), &topic)) plimsoll_missing_setting(from, PLIMSOLL_STR("topic"));
  if (is_topic("refused")) plimsoll_refuse_settings(from, PLIMSOLL_STR("topic: é is refused"));
  plimsoll_text text = PLIMSOLL_ZERO;
  raw(&text, "topic: expected one of ");
  for (size_t at = 0; at < sizeof topics / sizeof *topics; at++) {
    if (is_topic(topics[at])) return;
    if (at) raw(&text, ", ");
    raw(&text, topics[at]);
  }
  raw(&text, ", found ");
  plimsoll_add(&text, topic);
  plimsoll_refuse_settings(from, plimsoll_text_str(&text));
}
PLIMSOLL_SETTINGS(settings);

// The label `pool` of the node must be that of the pod.
static plimsoll_verdict filter_by_pool(uint32_t node) {
  plimsoll_str own, wanted;
  plimsoll_nodes_label(node, PLIMSOLL_STR("pool"), &own);
  plimsoll_pod_label(PLIMSOLL_STR("pool"), &wanted);
  return plimsoll_str_eq(own, wanted) ? plimsoll_fits() : plimsoll_unschedulable(PLIMSOLL_STR("another pool"));
}

// Tells about the topic, unless the node has an answer.
static plimsoll_verdict filter(uint32_t node) {
  plimsoll_str verdict;
  plimsoll_nodes_annotation(node, PLIMSOLL_STR("verdict"), &verdict);
  if (plimsoll_str_eq(verdict, PLIMSOLL_STR("fits"))) return plimsoll_fits();
  if (plimsoll_str_eq(verdict, PLIMSOLL_STR("unresolvable")))
    return plimsoll_unresolvable(PLIMSOLL_STR("eviction does not help"));
  if (is_topic("pool")) return filter_by_pool(node);
  plimsoll_text told = PLIMSOLL_ZERO;
  if (is_topic("pod")) tell_pod(&told);
  else if (is_topic("node")) tell_node(&told, node);
  else if (is_topic("placed")) tell_placed(&told, node);
  else if (is_topic("cluster")) tell_cluster(&told);
  else if (is_topic("namespace")) tell_namespace(&told);
  else if (is_topic("facts")) tell_facts(&told, node);
  else if (is_topic("field")) tell_fields(&told, node);
  else if (is_topic("large")) tell_large(&told, node);
  else if (is_topic("time")) tell_time(&told);
  else misbehave(&told, node);
  return plimsoll_unschedulable(plimsoll_text_str(&told));
}
PLIMSOLL_FILTER(filter);

// The score in the annotation of the node.
static uint32_t score(uint32_t node) {
  plimsoll_str text;
  int64_t own;
  if (is_topic("high-score")) return 101;
  if (!plimsoll_nodes_annotation(node, PLIMSOLL_STR("score"), &text) || !plimsoll_quantity(text, 1, &own)) return 0;
  return (uint32_t)own;
}
PLIMSOLL_SCORE(score);

// Gives the nodes of the best group one more for each pod that is counted, and another if it does not terminate.
static void rank(uint32_t *scores, uint32_t count) {
  plimsoll_str web = PLIMSOLL_STR("web");
  plimsoll_grouping grouping = plimsoll_nodes_by_label(PLIMSOLL_STR("group"));
  plimsoll_list_u32 counts = plimsoll_placed_counts_labelled(web, PLIMSOLL_STR("app"), web);
  plimsoll_list_u32 active = plimsoll_placed_counts_active(web, PLIMSOLL_STR("app"), web);
  for (uint32_t node = 0; node < count; node++) {
    uint32_t group = grouping.groups.items[node];
    scores[node] = score(node);
    if (group < grouping.values.count && plimsoll_str_eq(grouping.values.items[group], PLIMSOLL_STR("best")))
      scores[node] += counts.items[node] + active.items[node];
  }
}
PLIMSOLL_RANK(rank);

// Answers by the number of violated budgets.
static plimsoll_preemption preempt(uint32_t candidate) {
  if (is_topic("no-victims")) return plimsoll_replace(NULL, 0);
  if (is_topic("missing-candidate")) candidate = 1000;
  plimsoll_list_u32 victims = plimsoll_candidates_victims(candidate);
  uint32_t violations = plimsoll_candidates_pdb_violations(candidate);
  if (violations == 0) return plimsoll_keep();
  if (violations == 1) return plimsoll_replace(victims.items + victims.count - 1, 1);
  plimsoll_text text = PLIMSOLL_ZERO;
  tell_eviction(&text, candidate);
  return plimsoll_reject(plimsoll_text_str(&text));
}
PLIMSOLL_PREEMPT(preempt);

// Gives the pod the annotation of the node.
static plimsoll_binding bind(uint32_t node) {
  plimsoll_str value;
  if (!plimsoll_nodes_annotation(node, PLIMSOLL_STR("bind"), &value)) {
    plimsoll_text text = PLIMSOLL_ZERO;
    plimsoll_add(&text, plimsoll_pod_name());
    raw(&text, " cannot be bound");
    return plimsoll_refused(plimsoll_text_str(&text));
  }
  if (plimsoll_str_eq(value, PLIMSOLL_STR("later"))) return plimsoll_retry(PLIMSOLL_STR("not yet"));
  plimsoll_binding binding = plimsoll_bound();
  if (plimsoll_str_eq(value, PLIMSOLL_STR("nothing"))) return binding;
  plimsoll_bind_annotation(&binding, PLIMSOLL_STR("node"), plimsoll_nodes_name(node));
  plimsoll_bind_annotation(&binding, PLIMSOLL_STR("value"), value);
  plimsoll_bind_label(&binding, PLIMSOLL_STR("rack"), PLIMSOLL_STR("r1"));
  return binding;
}
PLIMSOLL_BIND(bind);
