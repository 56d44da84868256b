// The values of all reads, one function for each topic.
#include "show.h"

static const plimsoll_str none = PLIMSOLL_STR_INIT("none"), memory = PLIMSOLL_STR_INIT("memory");

static void tell_pod(plimsoll_text *to) {
  plimsoll_str text;
  plimsoll_owner owner;
  LINE(to, "name", plimsoll_pod_name(), plimsoll_add);
  LINE(to, "namespace", plimsoll_pod_namespace(), plimsoll_add);
  LINE(to, "uid", plimsoll_pod_uid(), plimsoll_add);
  SOME(to, "label", plimsoll_pod_label(PLIMSOLL_STR("a"), &text), text, plimsoll_add);
  SOME(to, "label-none", plimsoll_pod_label(none, &text), text, plimsoll_add);
  SOME(to, "annotation-empty", plimsoll_pod_annotation(PLIMSOLL_STR("empty"), &text), text, plimsoll_add);
  SOME(to, "annotation-none", plimsoll_pod_annotation(none, &text), text, plimsoll_add);
  LINE(to, "priority", plimsoll_pod_priority(), plimsoll_add_int);
  SOME(to, "priority-class", plimsoll_pod_priority_class(&text), text, plimsoll_add);
  SOME(to, "controller", plimsoll_pod_controller(&owner), owner, show_owner);
  // The SDKs of other languages give a time of 0 as none.
  SOME(to, "created", plimsoll_pod_created(), plimsoll_pod_created(), plimsoll_add_uint);
  LINE(to, "request-cpu", plimsoll_pod_request(PLIMSOLL_STR("cpu")), plimsoll_add_int);
  LINE(to, "request-memory", plimsoll_pod_request(memory), plimsoll_add_int);
  LINE(to, "request-none", plimsoll_pod_request(none), plimsoll_add_int);
  key(to, "images");
  plimsoll_list_str images = plimsoll_pod_images();
  SHOW_LIST(to, images, plimsoll_add);
}

static void tell_node(plimsoll_text *to, uint32_t node) {
  plimsoll_str text;
  int64_t amount;
  uint64_t size;
  LINE(to, "name", plimsoll_nodes_name(node), plimsoll_add);
  SOME(to, "label", plimsoll_nodes_label(node, PLIMSOLL_STR("é"), &text), text, plimsoll_add);
  SOME(to, "label-none", plimsoll_nodes_label(node, none, &text), text, plimsoll_add);
  SOME(to, "annotation", plimsoll_nodes_annotation(node, PLIMSOLL_STR("a"), &text), text, plimsoll_add);
  key(to, "taints");
  plimsoll_list_taint taints = plimsoll_nodes_taints(node);
  SHOW_LIST(to, taints, show_taint);
  LINE(to, "allocatable", plimsoll_nodes_allocatable(node, PLIMSOLL_STR("cpu")), plimsoll_add_int);
  LINE(to, "known", plimsoll_nodes_resource_known(node, PLIMSOLL_STR("cpu")), show_bool);
  LINE(to, "known-device", plimsoll_nodes_resource_known(node, PLIMSOLL_STR("example.com/gpu")), show_bool);
  LINE(to, "capacity", plimsoll_nodes_capacity(node, PLIMSOLL_STR("cpu")), plimsoll_add_int);
  LINE(to, "capacity-none", plimsoll_nodes_capacity(node, none), plimsoll_add_int);
  SOME(to, "requested", plimsoll_nodes_requested(node, memory, &amount), amount, plimsoll_add_int);
  SOME(to, "requested-none", plimsoll_nodes_requested(node, none, &amount), amount, plimsoll_add_int);
  SOME(to, "image-size", plimsoll_nodes_image_size(node, PLIMSOLL_STR("web:1"), &size), size, plimsoll_add_uint);
  SOME(to, "image-size-none", plimsoll_nodes_image_size(node, none, &size), size, plimsoll_add_uint);
  SOME(to, "condition", plimsoll_nodes_condition(node, PLIMSOLL_STR("Ready"), &text), text, plimsoll_add);
  SOME(to, "condition-none", plimsoll_nodes_condition(node, none, &text), text, plimsoll_add);
  LINE(to, "unschedulable", plimsoll_nodes_unschedulable(node), show_bool);
}

// Begins a line about a placed pod.
static void placed_key(plimsoll_text *to, uint32_t pod, const char *name) {
  raw(to, "\n");
  plimsoll_add_uint(to, pod);
  raw(to, ".");
  raw(to, name);
  raw(to, "=");
}

#define PLACED_LINE(name, value, show) \
  do {                                 \
    placed_key(to, pod, name);         \
    show(to, value);                   \
  } while (0)

#define PLACED_SOME(name, read, out, show) \
  do {                                     \
    placed_key(to, pod, name);             \
    if (read) show(to, out);               \
    else raw(to, "-");                     \
  } while (0)

static void tell_placed_pod(plimsoll_text *to, uint32_t node, uint32_t pod) {
  plimsoll_str text;
  plimsoll_owner owner;
  PLACED_LINE("name", plimsoll_placed_name(node, pod), plimsoll_add);
  PLACED_LINE("namespace", plimsoll_placed_namespace(node, pod), plimsoll_add);
  PLACED_SOME("label", plimsoll_placed_label(node, pod, PLIMSOLL_STR("app"), &text), text, plimsoll_add);
  PLACED_SOME("annotation", plimsoll_placed_annotation(node, pod, PLIMSOLL_STR("a"), &text), text, plimsoll_add);
  PLACED_LINE("priority", plimsoll_placed_priority(node, pod), plimsoll_add_int);
  PLACED_SOME("priority-class", plimsoll_placed_priority_class(node, pod, &text), text, plimsoll_add);
  PLACED_SOME("controller", plimsoll_placed_controller(node, pod, &owner), owner, show_owner);
  PLACED_SOME("phase", plimsoll_placed_phase(node, pod, &text), text, plimsoll_add);
  PLACED_LINE("terminating", plimsoll_placed_terminating(node, pod), show_bool);
  PLACED_LINE("request", plimsoll_placed_request(node, pod, memory), plimsoll_add_int);
  PLACED_SOME("created", plimsoll_placed_created(node, pod), plimsoll_placed_created(node, pod), plimsoll_add_uint);
}

static void tell_placed(plimsoll_text *to, uint32_t node) {
  plimsoll_str web = PLIMSOLL_STR("web");
  LINE(to, "known", plimsoll_placed_known(node), show_bool);
  LINE(to, "count-labelled", plimsoll_placed_count_labelled(node, web, PLIMSOLL_STR("app"), web), plimsoll_add_uint);
  LINE(to, "count-active", plimsoll_placed_count_active(node, web, PLIMSOLL_STR("app"), web), plimsoll_add_uint);
  for (uint32_t pod = 0; pod < plimsoll_placed_count(node); pod++) tell_placed_pod(to, node, pod);
}

static void tell_cluster(plimsoll_text *to) {
  plimsoll_selector all = PLIMSOLL_ZERO, web = all, annotated, smiling = all;
  plimsoll_list_label_count values;
  uint64_t count;
  uint32_t nodes;
  int64_t sum;
  bool is_reached;
  web.namespace_ = plimsoll_some(PLIMSOLL_STR("web"));
  web.label = plimsoll_pair_of(PLIMSOLL_STR("app"), PLIMSOLL_STR("web"));
  annotated = web;
  annotated.annotation = plimsoll_pair_of(PLIMSOLL_STR("a"), PLIMSOLL_STR("x"));
  smiling.node_label = plimsoll_pair_of(PLIMSOLL_STR("é"), PLIMSOLL_STR("😀"));
  SOME(to, "count", plimsoll_cluster_count(all, &count), count, plimsoll_add_uint);
  SOME(to, "count-web", plimsoll_cluster_count(web, &count), count, plimsoll_add_uint);
  SOME(to, "count-annotated", plimsoll_cluster_count(annotated, &count), count, plimsoll_add_uint);
  SOME(to, "count-up-to-1", plimsoll_cluster_count_up_to(all, 1, &count), count, plimsoll_add_uint);
  SOME(to, "count-smiling", plimsoll_cluster_count_up_to(smiling, 9, &count), count, plimsoll_add_uint);
  SOME(to, "at-least-2", plimsoll_cluster_at_least(all, 2, &is_reached), is_reached, show_bool);
  SOME(to, "at-least-4-web", plimsoll_cluster_at_least(web, 4, &is_reached), is_reached, show_bool);
  SOME(to, "requested", plimsoll_cluster_requested(all, memory, &sum), sum, plimsoll_add_int);
  SOME(to, "requested-smiling", plimsoll_cluster_requested(smiling, memory, &sum), sum, plimsoll_add_int);
  SOME(to, "nodes-with-label", plimsoll_cluster_nodes_with_label(PLIMSOLL_STR("é"), PLIMSOLL_STR("😀"), &nodes), nodes,
       plimsoll_add_uint);
  SOME(to, "label-values", plimsoll_cluster_label_values(PLIMSOLL_STR("group"), &values), values, show_label_counts);
}

static void tell_namespace(plimsoll_text *to) {
  plimsoll_str text;
  LINE(to, "known", plimsoll_pod_namespace_known(), show_bool);
  SOME(to, "label", plimsoll_pod_namespace_label(PLIMSOLL_STR("tenant"), &text), text, plimsoll_add);
  SOME(to, "label-none", plimsoll_pod_namespace_label(none, &text), text, plimsoll_add);
}

static void tell_facts(plimsoll_text *to, uint32_t node) {
  plimsoll_str text, prices = PLIMSOLL_STR("prices"), load = PLIMSOLL_STR("load"), note = PLIMSOLL_STR("note");
  double number;
  SOME(to, "text", plimsoll_facts_text(prices, note, &text), text, plimsoll_add);
  SOME(to, "text-none", plimsoll_facts_text(prices, none, &text), text, plimsoll_add);
  SOME(to, "number", plimsoll_facts_number(prices, PLIMSOLL_STR("gpu"), &number), number, show_double);
  SOME(to, "number-negative", plimsoll_facts_number(prices, PLIMSOLL_STR("loss"), &number), number, show_double);
  SOME(to, "number-of-text", plimsoll_facts_number(prices, note, &number), number, show_double);
  SOME(to, "node-text", plimsoll_facts_node_text(node, load, &text), text, plimsoll_add);
  SOME(to, "node-number", plimsoll_facts_node_number(node, load, &number), number, show_double);
}

static void tell_fields(plimsoll_text *to, uint32_t node) {
  plimsoll_str json, name;
  int64_t priority;
  SOME(to, "priority", plimsoll_pod_field(PLIMSOLL_STR("/spec/priority"), &json) && plimsoll_json_int(json, &priority),
       priority, plimsoll_add_int);
  SOME(to, "name", plimsoll_nodes_field(node, PLIMSOLL_STR("/metadata/name"), &json) && plimsoll_json_str(json, &name),
       name, plimsoll_add);
  SOME(to, "none", plimsoll_pod_field(PLIMSOLL_STR("/none"), &json), json, plimsoll_add);
  SOME(to, "spec", plimsoll_nodes_field(node, PLIMSOLL_STR("/spec"), &json), json, plimsoll_add);
}

static void tell_large(plimsoll_text *to, uint32_t node) {
  plimsoll_str text;
  uint64_t count = 0, sum = 0;
  for (int round = 0; round < 20; round++) {
    count += plimsoll_nodes_annotation(node, PLIMSOLL_STR("large"), &text);
    for (size_t at = 0; at < text.len; at++) sum += (uint8_t)text.data[at];
  }
  LINE(to, "count", count, plimsoll_add_uint);
  LINE(to, "sum", sum, plimsoll_add_uint);
  SOME(to, "label", plimsoll_nodes_label(node, PLIMSOLL_STR("é"), &text), text, plimsoll_add);
}

static void tell_time(plimsoll_text *to) {
  LINE(to, "now-0", plimsoll_host_now(0), plimsoll_add_uint);
  LINE(to, "now-60", plimsoll_host_now(60), plimsoll_add_uint);
  LINE(to, "now-3600", plimsoll_host_now(3600), plimsoll_add_uint);
}

// The victims of a candidate, and the nodes of all candidates.
static void tell_eviction(plimsoll_text *to, uint32_t candidate) {
  plimsoll_list_u32 victims = plimsoll_candidates_victims(candidate);
  uint32_t node = plimsoll_candidates_node(candidate);
  key(to, "victims");
  for (size_t at = 0; at < victims.count; at++) {
    if (at) raw(to, " ");
    plimsoll_add(to, plimsoll_placed_name(node, victims.items[at]));
  }
  key(to, "nodes");
  for (uint32_t at = 0; at < plimsoll_candidates_count(); at++) {
    if (at) raw(to, " ");
    plimsoll_add(to, plimsoll_nodes_name(plimsoll_candidates_node(at)));
  }
}
