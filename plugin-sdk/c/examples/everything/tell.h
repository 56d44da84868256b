// The texts about each topic: the values of all reads, in the order of the twins in Rust and Go.
#include "show.h"

static const plimsoll_str none = PLIMSOLL_STR_INIT("none"), memory = PLIMSOLL_STR_INIT("memory");

static void tell_pod(plimsoll_text *to) {
  plimsoll_str text;
  plimsoll_owner owner;
  raw(to, "(");
  show_str(to, plimsoll_pod_name());
  raw(to, ", ");
  show_str(to, plimsoll_pod_namespace());
  raw(to, ", ");
  show_str(to, plimsoll_pod_uid());
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_pod_label(PLIMSOLL_STR("a"), &text), text, show_str);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_pod_label(none, &text), text, show_str);
  raw(to, ") (");
  SHOW_SOME(to, plimsoll_pod_annotation(PLIMSOLL_STR("empty"), &text), text, show_str);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_pod_annotation(none, &text), text, show_str);
  raw(to, ") (");
  plimsoll_add_int(to, plimsoll_pod_priority());
  raw(to, ", ");
  plimsoll_add_int(to, plimsoll_pod_request(PLIMSOLL_STR("cpu")));
  raw(to, ", ");
  plimsoll_add_int(to, plimsoll_pod_request(memory));
  raw(to, ", ");
  plimsoll_add_int(to, plimsoll_pod_request(none));
  raw(to, ") (");
  SHOW_SOME(to, plimsoll_pod_priority_class(&text), text, show_str);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_pod_controller(&owner), owner, show_owner);
  raw(to, ", ");
  // The SDKs of other languages give a time of 0 as none.
  SHOW_SOME(to, plimsoll_pod_created(), plimsoll_pod_created(), plimsoll_add_uint);
  raw(to, ") ");
  plimsoll_list_str images = plimsoll_pod_images();
  SHOW_LIST(to, images, show_str);
}

static void tell_node(plimsoll_text *to, uint32_t node) {
  plimsoll_str text;
  int64_t amount;
  uint64_t size;
  raw(to, "(");
  show_str(to, plimsoll_nodes_name(node));
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_nodes_label(node, PLIMSOLL_STR("é"), &text), text, show_str);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_nodes_label(node, none, &text), text, show_str);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_nodes_annotation(node, PLIMSOLL_STR("a"), &text), text, show_str);
  raw(to, ") ");
  plimsoll_list_taint taints = plimsoll_nodes_taints(node);
  SHOW_LIST(to, taints, show_taint);
  raw(to, " (");
  plimsoll_add_int(to, plimsoll_nodes_allocatable(node, PLIMSOLL_STR("cpu")));
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_nodes_requested(node, memory, &amount), amount, plimsoll_add_int);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_nodes_requested(node, none, &amount), amount, plimsoll_add_int);
  raw(to, ") (");
  SHOW_SOME(to, plimsoll_nodes_image_size(node, PLIMSOLL_STR("web:1"), &size), size, plimsoll_add_uint);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_nodes_image_size(node, none, &size), size, plimsoll_add_uint);
  raw(to, ") (");
  SHOW_SOME(to, plimsoll_nodes_condition(node, PLIMSOLL_STR("Ready"), &text), text, show_str);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_nodes_condition(node, none, &text), text, show_str);
  raw(to, ", ");
  show_bool(to, plimsoll_nodes_unschedulable(node));
  raw(to, ") (");
  plimsoll_add_int(to, plimsoll_nodes_capacity(node, PLIMSOLL_STR("cpu")));
  raw(to, ", ");
  plimsoll_add_int(to, plimsoll_nodes_capacity(node, none));
  raw(to, ")");
}

static plimsoll_str tell_placed_pod(uint32_t node, uint32_t pod) {
  plimsoll_text text = PLIMSOLL_ZERO, *to = &text;
  plimsoll_str value;
  plimsoll_owner owner;
  raw(to, "(");
  show_str(to, plimsoll_placed_name(node, pod));
  raw(to, ", ");
  show_str(to, plimsoll_placed_namespace(node, pod));
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_placed_label(node, pod, PLIMSOLL_STR("app"), &value), value, show_str);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_placed_annotation(node, pod, PLIMSOLL_STR("a"), &value), value, show_str);
  raw(to, ") (");
  plimsoll_add_int(to, plimsoll_placed_priority(node, pod));
  raw(to, ", ");
  plimsoll_add_int(to, plimsoll_placed_request(node, pod, memory));
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_placed_created(node, pod), plimsoll_placed_created(node, pod), plimsoll_add_uint);
  raw(to, ") (");
  SHOW_SOME(to, plimsoll_placed_priority_class(node, pod, &value), value, show_str);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_placed_controller(node, pod, &owner), owner, show_owner);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_placed_phase(node, pod, &value), value, show_str);
  raw(to, ")");
  return plimsoll_text_str(to);
}

static void tell_placed(plimsoll_text *to, uint32_t node) {
  plimsoll_str web = PLIMSOLL_STR("web");
  raw(to, "[");
  for (uint32_t pod = 0; pod < plimsoll_placed_count(node); pod++) {
    if (pod) raw(to, ", ");
    show_str(to, tell_placed_pod(node, pod));
  }
  raw(to, "] ");
  show_bool(to, plimsoll_placed_known(node));
  raw(to, " ");
  plimsoll_add_uint(to, plimsoll_placed_count_labelled(node, web, PLIMSOLL_STR("app"), web));
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
  raw(to, "(");
  SHOW_SOME(to, plimsoll_cluster_count(all, &count), count, plimsoll_add_uint);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_cluster_count(web, &count), count, plimsoll_add_uint);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_cluster_count(annotated, &count), count, plimsoll_add_uint);
  raw(to, ") (");
  SHOW_SOME(to, plimsoll_cluster_count_up_to(all, 1, &count), count, plimsoll_add_uint);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_cluster_count_up_to(smiling, 9, &count), count, plimsoll_add_uint);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_cluster_at_least(web, 3, &is_reached), is_reached, show_bool);
  raw(to, ") (");
  SHOW_SOME(to, plimsoll_cluster_requested(all, memory, &sum), sum, plimsoll_add_int);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_cluster_requested(smiling, memory, &sum), sum, plimsoll_add_int);
  raw(to, ") (");
  SHOW_SOME(to, plimsoll_cluster_nodes_with_label(PLIMSOLL_STR("é"), PLIMSOLL_STR("😀"), &nodes), nodes, plimsoll_add_uint);
  raw(to, ", ");
  SHOW_SOME(to, plimsoll_cluster_label_values(PLIMSOLL_STR("é"), &values), values, show_label_counts);
  raw(to, ") ");
  SHOW_SOME(to, plimsoll_cluster_at_least(all, 2, &is_reached), is_reached, show_bool);
}

static void tell_fields(plimsoll_text *to, uint32_t node) {
  plimsoll_str json, text;
  int64_t priority;
  bool has = plimsoll_pod_field(PLIMSOLL_STR("/spec/priority"), &json) && plimsoll_json_int(json, &priority);
  raw(to, "Ok(");
  SHOW_SOME(to, has, priority, plimsoll_add_int);
  raw(to, ") Ok(");
  has = plimsoll_nodes_field(node, PLIMSOLL_STR("/metadata/name"), &json) && plimsoll_json_str(json, &text);
  SHOW_SOME(to, has, text, show_str);
  raw(to, ") ");
  SHOW_SOME(to, plimsoll_pod_field(PLIMSOLL_STR("/none"), &json), json, show_str);
  raw(to, " ");
  SHOW_SOME(to, plimsoll_nodes_field(node, PLIMSOLL_STR("/spec"), &json), json, show_str);
}

static void tell_large(plimsoll_text *to, uint32_t node) {
  plimsoll_str text;
  uint64_t count = 0, sum = 0;
  for (int round = 0; round < 20; round++) {
    count += plimsoll_nodes_annotation(node, PLIMSOLL_STR("large"), &text);
    for (size_t at = 0; at < text.len; at++) sum += (uint8_t)text.data[at];
  }
  plimsoll_add_uint(to, count);
  raw(to, " ");
  plimsoll_add_uint(to, sum);
  raw(to, " ");
  SHOW_SOME(to, plimsoll_nodes_label(node, PLIMSOLL_STR("é"), &text), text, show_str);
}

static void tell_time(plimsoll_text *to) {
  plimsoll_add_uint(to, plimsoll_host_now(0));
  raw(to, " ");
  plimsoll_add_uint(to, plimsoll_host_now(60));
  raw(to, " ");
  plimsoll_add_uint(to, plimsoll_host_now(3600));
}
