// Everything reads all that a policy can read and answers all that it can answer, so that its answers in C can be
// compared with those of its twins in the Rust SDK and the Go SDK.
#include "tell.h"

// The topic to tell about, or a way to fail.
static plimsoll_str topic;

static const plimsoll_str topics[] = {
    PLIMSOLL_STR_INIT("pod"),    PLIMSOLL_STR_INIT("node"),   PLIMSOLL_STR_INIT("placed"),    PLIMSOLL_STR_INIT("cluster"),
    PLIMSOLL_STR_INIT("field"),  PLIMSOLL_STR_INIT("large"),  PLIMSOLL_STR_INIT("time"),      PLIMSOLL_STR_INIT("panic"),
    PLIMSOLL_STR_INIT("loop"),   PLIMSOLL_STR_INIT("memory"), PLIMSOLL_STR_INIT("recursion"), PLIMSOLL_STR_INIT("trap"),
    PLIMSOLL_STR_INIT("missing"),
};

static bool is_topic(const char *name) {
  plimsoll_text text = PLIMSOLL_ZERO;
  raw(&text, name);
  return plimsoll_str_eq(topic, plimsoll_text_str(&text));
}

static void settings(plimsoll_settings *from) {
  if (!plimsoll_setting_str(from, PLIMSOLL_STR("topic"), &topic)) plimsoll_missing_setting(from, PLIMSOLL_STR("topic"));
  if (is_topic("refused")) plimsoll_refuse_settings(from, PLIMSOLL_STR("topic: é is refused"));
  plimsoll_text text = PLIMSOLL_ZERO;
  raw(&text, "topic: expected one of ");
  for (size_t at = 0; at < sizeof topics / sizeof *topics; at++) {
    if (plimsoll_str_eq(topic, topics[at])) return;
    if (at) raw(&text, ", ");
    plimsoll_add(&text, topics[at]);
  }
  raw(&text, ", found ");
  show_str(&text, topic);
  plimsoll_refuse_settings(from, plimsoll_text_str(&text));
}
PLIMSOLL_SETTINGS(settings);

// Volatile, or the compiler would remove the code that writes it.
static volatile uint32_t sink;

static uint32_t recursion(uint32_t depth) {
  volatile uint32_t own[64];
  own[depth % 64] = depth;
  return depth == UINT32_MAX ? 0 : recursion(depth + 1) + own[sink % 64];
}

static void misbehave(uint32_t node) {
  if (is_topic("loop"))
    for (;;) sink++;
  if (is_topic("memory"))
    for (;;) sink += (uint32_t)(size_t)plimsoll_alloc(1 << 20);
  if (is_topic("recursion")) sink = recursion(0);
  if (is_topic("trap")) __builtin_trap();
  if (is_topic("missing")) plimsoll_nodes_name(plimsoll_nodes_count());
  plimsoll_text text = PLIMSOLL_ZERO;
  raw(&text, "no ");
  plimsoll_add(&text, plimsoll_nodes_name(node));
  raw(&text, " here");
  PLIMSOLL_PANIC(plimsoll_text_str(&text));
}

// Tells about the topic, unless the node has an answer.
static plimsoll_verdict filter(uint32_t node) {
  plimsoll_str verdict;
  plimsoll_text text = PLIMSOLL_ZERO;
  raw(&text, "asked about ");
  plimsoll_add(&text, plimsoll_nodes_name(node));
  plimsoll_host_log(PLIMSOLL_DEBUG, plimsoll_text_str(&text));
  plimsoll_nodes_annotation(node, PLIMSOLL_STR("verdict"), &verdict);
  if (plimsoll_str_eq(verdict, PLIMSOLL_STR("fits"))) return plimsoll_fits();
  if (plimsoll_str_eq(verdict, PLIMSOLL_STR("unresolvable")))
    return plimsoll_unresolvable(PLIMSOLL_STR("a text that is not allocated"));
  plimsoll_text told = PLIMSOLL_ZERO;
  if (is_topic("pod")) tell_pod(&told);
  else if (is_topic("node")) tell_node(&told, node);
  else if (is_topic("placed")) tell_placed(&told, node);
  else if (is_topic("cluster")) tell_cluster(&told);
  else if (is_topic("field")) tell_fields(&told, node);
  else if (is_topic("large")) tell_large(&told, node);
  else if (is_topic("time")) tell_time(&told);
  else misbehave(node);
  return plimsoll_unschedulable(plimsoll_text_str(&told));
}
PLIMSOLL_FILTER(filter);

// The score in the annotation of the node.
static uint32_t score(uint32_t node) {
  plimsoll_str text;
  int64_t own;
  if (!plimsoll_nodes_annotation(node, PLIMSOLL_STR("score"), &text) || !plimsoll_quantity(text, 1, &own)) return 0;
  return (uint32_t)own;
}
PLIMSOLL_SCORE(score);

// Gives the nodes of the best group one more for each pod that is counted.
static void rank(uint32_t *scores, uint32_t count) {
  plimsoll_str web = PLIMSOLL_STR("web");
  plimsoll_grouping grouping = plimsoll_nodes_by_label(PLIMSOLL_STR("group"));
  plimsoll_list_u32 counts = plimsoll_placed_counts_labelled(web, PLIMSOLL_STR("app"), web);
  for (uint32_t node = 0; node < count; node++) {
    uint32_t group = grouping.groups.items[node];
    scores[node] = score(node);
    if (group < grouping.values.count && plimsoll_str_eq(grouping.values.items[group], PLIMSOLL_STR("best")))
      scores[node] += counts.items[node];
  }
}
PLIMSOLL_RANK(rank);

// Answers by the number of violated budgets.
static plimsoll_preemption preempt(uint32_t candidate) {
  plimsoll_list_u32 victims = plimsoll_candidates_victims(candidate);
  uint32_t node = plimsoll_candidates_node(candidate), violations = plimsoll_candidates_pdb_violations(candidate);
  if (violations == 0) return plimsoll_keep();
  if (violations == 1) return plimsoll_replace(victims.items + victims.count - 1, 1);
  plimsoll_text text = PLIMSOLL_ZERO;
  raw(&text, "[");
  for (size_t at = 0; at < victims.count; at++) {
    if (at) raw(&text, ", ");
    show_str(&text, plimsoll_placed_name(node, victims.items[at]));
  }
  raw(&text, "] of [");
  for (uint32_t at = 0; at < plimsoll_candidates_count(); at++) {
    if (at) raw(&text, ", ");
    show_str(&text, plimsoll_nodes_name(plimsoll_candidates_node(at)));
  }
  raw(&text, "]");
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
