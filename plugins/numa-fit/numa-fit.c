// Numa-fit keeps a pod off nodes where its request does not fit into one NUMA zone, and fills zones up one after another.
//
//   settings: {zones: example.com/numa-zones, zone: example.com/numa-zone, plain: false}
//
// A node says in an annotation which amounts each of its zones has: `cpu=32,memory=120Gi;cpu=30,memory=124Gi`. A pod says
// in one in which zone it runs; a placed pod that does not is taken to be in every zone.
#include "plimsoll.h"

// The most zones of a node, and the most resources that its zones may name. They bound the time of a call.
enum { MAX_ZONES = 16, MAX_RESOURCES = 8 };

// The annotation of a node with its zones.
static plimsoll_str zones_key = PLIMSOLL_STR_INIT("example.com/numa-zones");
// The annotation of a pod with the number of its zone, from 0.
static plimsoll_str zone_key = PLIMSOLL_STR_INIT("example.com/numa-zone");
// Whether a node without the annotation is one zone; otherwise no pod is placed there.
static bool plain = false;

static void settings(plimsoll_settings *from) {
  plimsoll_setting_str(from, PLIMSOLL_STR("zones"), &zones_key);
  plimsoll_setting_str(from, PLIMSOLL_STR("zone"), &zone_key);
  plimsoll_setting_bool(from, PLIMSOLL_STR("plain"), &plain);
  if (!zones_key.len) plimsoll_refuse_settings(from, PLIMSOLL_STR("zones: it is empty"));
  if (!zone_key.len) plimsoll_refuse_settings(from, PLIMSOLL_STR("zone: it is empty"));
}
PLIMSOLL_SETTINGS(settings);

// The zones of a node: what each has of each resource, and what its pods leave of that. A zone has 0 of a resource that
// only other zones name. Cpu is in millicores, all else in base units, as the host has them.
typedef struct {
  size_t zones, resources;
  plimsoll_str names[MAX_RESOURCES];
  int64_t size[MAX_ZONES][MAX_RESOURCES];
  int64_t left[MAX_ZONES][MAX_RESOURCES];
} layout;

// Takes the part of a text before a separator off the text.
static plimsoll_str take(plimsoll_str *rest, char separator) {
  size_t at = 0;
  while (at < rest->len && rest->data[at] != separator) at++;
  plimsoll_str part = plimsoll_str_of(rest->data, at);
  size_t step = at < rest->len ? at + 1 : at;
  *rest = plimsoll_str_of(rest->data + step, rest->len - step);
  return plimsoll_json_trimmed(part);
}

// The place of a resource, which is added if no zone before has named it; MAX_RESOURCES if there are too many.
static size_t resource(layout *node, plimsoll_str name) {
  for (size_t at = 0; at < node->resources; at++)
    if (plimsoll_str_eq(node->names[at], name)) return at;
  if (node->resources == MAX_RESOURCES) return MAX_RESOURCES;
  node->names[node->resources] = name;
  return node->resources++;
}

// Reads `cpu=32,memory=120Gi` into a zone; false if it is something else, or names a resource twice.
static bool parse_zone(layout *node, size_t zone, plimsoll_str text) {
  bool is_named[MAX_RESOURCES] = {false};
  while (text.len) {
    plimsoll_str amount = take(&text, ','), name = take(&amount, '=');
    size_t at = resource(node, name);
    uint32_t per_unit = plimsoll_str_eq(name, PLIMSOLL_STR("cpu")) ? 1000 : 1;
    if (!name.len || at == MAX_RESOURCES || is_named[at]) return false;
    is_named[at] = true;
    if (!plimsoll_quantity(plimsoll_json_trimmed(amount), per_unit, &node->size[zone][at]) || node->size[zone][at] < 0)
      return false;
  }
  return true;
}

static bool parse(layout *node, plimsoll_str text) {
  while (text.len) {
    plimsoll_str zone = take(&text, ';');
    if (!zone.len || node->zones == MAX_ZONES || !parse_zone(node, node->zones, zone)) return false;
    node->zones++;
  }
  return node->zones > 0;
}

// A node without the annotation, as one zone with all that pods may have of its cpu and memory.
static void take_as_one_zone(layout *node, uint32_t index) {
  node->names[0] = PLIMSOLL_STR("cpu");
  node->names[1] = PLIMSOLL_STR("memory");
  node->resources = 2;
  node->zones = 1;
  for (size_t at = 0; at < node->resources; at++)
    node->size[0][at] = plimsoll_nodes_allocatable(index, node->names[at]);
}

// The zone that a placed pod says it is in; one that the node does not have if it says none.
static size_t zone_of(const layout *node, uint32_t index, uint32_t pod) {
  plimsoll_str text;
  int64_t zone;
  bool is_zone = plimsoll_placed_annotation(index, pod, zone_key, &text) && plimsoll_json_int(text, &zone) && zone >= 0;
  return is_zone && (uint64_t)zone < node->zones ? (size_t)zone : node->zones;
}

// Subtracts without going below the smallest number.
static int64_t minus(int64_t a, int64_t b) {
  int64_t difference;
  return __builtin_sub_overflow(a, b, &difference) ? INT64_MIN : difference;
}

// Takes the requests of the placed pods off the zones; false if the pods are not known.
//
// The sum of all pods and those with a zone are read, not each pod without one: reads are the cost of a call.
static bool subtract_pods(layout *node, uint32_t index) {
  int64_t elsewhere[MAX_RESOURCES];
  if (!plimsoll_placed_known(index)) return false;
  for (size_t at = 0; at < node->resources; at++)
    if (!plimsoll_nodes_requested(index, node->names[at], &elsewhere[at])) return false;
  for (size_t zone = 0; zone < node->zones; zone++)
    for (size_t at = 0; at < node->resources; at++) node->left[zone][at] = node->size[zone][at];

  for (uint32_t pod = 0, count = plimsoll_placed_count(index); pod < count; pod++) {
    size_t zone = zone_of(node, index, pod);
    if (zone == node->zones) continue;
    for (size_t at = 0; at < node->resources; at++) {
      int64_t request = plimsoll_placed_request(index, pod, node->names[at]);
      node->left[zone][at] = minus(node->left[zone][at], request);
      elsewhere[at] = minus(elsewhere[at], request);
    }
  }
  // Nobody says where these are, so they are taken to be in each zone. A sum that was cut to the largest number may be less
  // than its parts.
  for (size_t zone = 0; zone < node->zones; zone++)
    for (size_t at = 0; at < node->resources; at++)
      if (elsewhere[at] > 0) node->left[zone][at] = minus(node->left[zone][at], elsewhere[at]);
  return true;
}

// Whether a request is at most what each resource of a zone has.
static bool holds(const layout *node, const int64_t *zone, const int64_t *request) {
  for (size_t at = 0; at < node->resources; at++)
    if (request[at] > 0 && request[at] > zone[at]) return false;
  return true;
}

static void read_request(const layout *node, int64_t *request) {
  for (size_t at = 0; at < node->resources; at++) request[at] = plimsoll_pod_request(node->names[at]);
}

// Reads the zones of a node, or says why a pod cannot be placed there.
static plimsoll_verdict read_zones(layout *node, uint32_t index) {
  plimsoll_str text;
  if (plimsoll_nodes_annotation(index, zones_key, &text)) {
    if (!parse(node, text)) return plimsoll_unresolvable(PLIMSOLL_STR("the node's NUMA zones cannot be read"));
  } else if (plain) {
    take_as_one_zone(node, index);
  } else {
    return plimsoll_unresolvable(PLIMSOLL_STR("node does not say which NUMA zones it has"));
  }
  return plimsoll_fits();
}

static plimsoll_verdict filter(uint32_t index) {
  layout node = PLIMSOLL_ZERO;
  int64_t request[MAX_RESOURCES];
  plimsoll_verdict verdict = read_zones(&node, index);
  if (verdict.kind != PLIMSOLL_FITS) return verdict;
  read_request(&node, request);
  bool is_possible = false, has_room = false;
  for (size_t zone = 0; zone < node.zones; zone++) is_possible |= holds(&node, node.size[zone], request);
  if (!is_possible) return plimsoll_unresolvable(PLIMSOLL_STR("pod is larger than each NUMA zone of the node"));
  if (!subtract_pods(&node, index)) return plimsoll_unresolvable(PLIMSOLL_STR("the node's pods are not known"));
  for (size_t zone = 0; zone < node.zones; zone++) has_room |= holds(&node, node.left[zone], request);
  if (!has_room) return plimsoll_unschedulable(PLIMSOLL_STR("no NUMA zone of the node has room for the pod"));
  return plimsoll_fits();
}
PLIMSOLL_FILTER(filter);

// The share of a zone that is in use with the pod, of the resource with the largest, in percent.
static uint32_t use(const layout *node, size_t zone, const int64_t *request) {
  double largest = 0;
  for (size_t at = 0; at < node->resources; at++) {
    double size = (double)node->size[zone][at], used = size - (double)node->left[zone][at] + (double)request[at];
    if (size > 0 && used / size > largest) largest = used / size;
  }
  return largest < 1 ? (uint32_t)(100 * largest) : 100;
}

// The fullest zone that has room decides, so that empty zones are kept for large pods.
static uint32_t score(uint32_t index) {
  layout node = PLIMSOLL_ZERO;
  int64_t request[MAX_RESOURCES];
  uint32_t best = 0;
  if (read_zones(&node, index).kind != PLIMSOLL_FITS) return 0;
  read_request(&node, request);
  if (!subtract_pods(&node, index)) return 0;
  for (size_t zone = 0; zone < node.zones; zone++) {
    if (!holds(&node, node.left[zone], request)) continue;
    uint32_t own = use(&node, zone, request);
    if (own > best) best = own;
  }
  return best;
}
PLIMSOLL_SCORE(score);
