// Tests of a policy in C without WebAssembly, cluster or gateway: the policy is compiled for this machine, and this
// header answers its reads as the gateway does, from a world that the test describes.
//
//   #include "needs-label.c"
//   #include "plimsoll_test.h"
//
//   static plimsoll_test_world world = {
//     .pod = {.name = "p", .annotations = {{"example.com/needs", "ssd"}}},
//     .nodes = {{.name = "fast", .labels = {{"ssd", "true"}}}, {.name = "slow"}},
//   };
//
//   static void a_node_without_the_label_is_refused(void) {
//     PLIMSOLL_CHECK(plimsoll_test_filter(&world, needs_label, "fast").kind == PLIMSOLL_FITS);
//     PLIMSOLL_CHECK(plimsoll_test_filter(&world, needs_label, "slow").kind == PLIMSOLL_UNRESOLVABLE);
//   }
//
//   int main(void) {
//     PLIMSOLL_TEST(a_node_without_the_label_is_refused);
//     return plimsoll_test_failures();
//   }
//
//   cc -I PATH/TO/THIS -o test test.c && ./test
//
// Include it in one file of a test program: it defines the reads. An invalid world, such as one with a malformed
// quantity, ends the test with the reason; so does a read that the gateway would end as a fault, and a panic of the
// policy. With PLIMSOLL_TEST_LOG set in the environment, lines that the policy logs are printed.
//
// It differs from the gateway in four things: an annotation of a placed pod is kept however large it is, a filter is
// not asked on behalf of preemption, `object` is not joined with the fields beside it (see there), and the keys and values
// of a bind are not checked: the gateway ends a call with an invalid one as a fault.
#ifndef PLIMSOLL_TEST_H
#define PLIMSOLL_TEST_H

#ifdef __wasm__
#error "plimsoll_test.h is for native builds: compile the test without --target=wasm32"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plimsoll.h"

#ifdef __cplusplus
extern "C" {
#endif

// ==== The world of a test ====

// The most entries of a field, pods of a node, and nodes of a world. Define larger ones before the include
// if a test needs them. A list ends at the first entry without a name.
#ifndef PLIMSOLL_TEST_ENTRIES
#define PLIMSOLL_TEST_ENTRIES 8
#endif
#ifndef PLIMSOLL_TEST_PODS
#define PLIMSOLL_TEST_PODS 8
#endif
#ifndef PLIMSOLL_TEST_NODES
#define PLIMSOLL_TEST_NODES 16
#endif

// A label, an annotation, a condition, or an amount written as in Kubernetes: {"memory", "4Gi"}.
typedef struct {
  const char *key, *value;
} plimsoll_test_entry;

typedef struct {
  const char *key, *value, *effect;
} plimsoll_test_taint;

// An image that a node has pulled.
typedef struct {
  const char *name;
  uint64_t size;
} plimsoll_test_image;

typedef struct {
  const char *api_version, *kind, *name, *uid;
} plimsoll_test_owner;

// The pod to schedule, or one that is placed.
typedef struct {
  const char *name;
  // If it is not given, `default`.
  const char *namespace_;
  const char *uid;
  plimsoll_test_entry labels[PLIMSOLL_TEST_ENTRIES];
  plimsoll_test_entry annotations[PLIMSOLL_TEST_ENTRIES];
  int32_t priority;
  const char *priority_class;
  // The owner that controls it.
  plimsoll_test_owner controller;
  // In Unix seconds; 0 is unknown.
  uint64_t created;
  // The effective request of the whole pod.
  plimsoll_test_entry requests[PLIMSOLL_TEST_ENTRIES];
  const char *images[PLIMSOLL_TEST_ENTRIES];
  // A pod that is `Succeeded` or `Failed` is not placed any more.
  const char *phase;
  // Whether it has a `metadata.deletionTimestamp`.
  bool terminating;
  // Further fields of the object, as JSON, for policies that read fields. A pointer that leads to something in this text
  // gives that alone; all other pointers lead into the object that the fields above make.
  const char *object;
} plimsoll_test_pod;

// A node with the pods placed on it, from the oldest to the newest, as the gateway has them.
typedef struct {
  const char *name;
  plimsoll_test_entry labels[PLIMSOLL_TEST_ENTRIES];
  plimsoll_test_entry annotations[PLIMSOLL_TEST_ENTRIES];
  plimsoll_test_taint taints[PLIMSOLL_TEST_ENTRIES];
  plimsoll_test_entry allocatable[PLIMSOLL_TEST_ENTRIES];
  plimsoll_test_entry capacity[PLIMSOLL_TEST_ENTRIES];
  // The status of each condition: {"Ready", "True"}.
  plimsoll_test_entry conditions[PLIMSOLL_TEST_ENTRIES];
  bool unschedulable;
  // Its IP addresses and host names, by which facts may know it.
  const char *addresses[PLIMSOLL_TEST_ENTRIES];
  plimsoll_test_image images[PLIMSOLL_TEST_ENTRIES];
  plimsoll_test_pod pods[PLIMSOLL_TEST_PODS];
  // It may have other pods as well, which the gateway does not know.
  bool pods_unknown;
  // The resources that a DeviceClass provides on it: how much it has of them is not known.
  const char *resources_unknown[PLIMSOLL_TEST_ENTRIES];
  // As for a pod.
  const char *object;
} plimsoll_test_node;

// A node on which kube-scheduler could make room.
typedef struct {
  const char *node;
  // As namespace/name, by descending priority.
  const char *victims[PLIMSOLL_TEST_PODS];
  uint32_t pdb_violations;
} plimsoll_test_candidate;

// A namespace that the gateway knows.
typedef struct {
  const char *name;
  plimsoll_test_entry labels[PLIMSOLL_TEST_ENTRIES];
} plimsoll_test_namespace;

// A fact from outside, in a source. A fact about a node has its name as the key.
typedef struct {
  const char *source, *key, *value;
} plimsoll_test_fact;

// The cluster and the pod of a test.
typedef struct {
  plimsoll_test_pod pod;
  // The nodes of the request, which are all nodes of the cluster.
  plimsoll_test_node nodes[PLIMSOLL_TEST_NODES];
  // For a preempt.
  plimsoll_test_candidate candidates[PLIMSOLL_TEST_NODES];
  plimsoll_test_namespace namespaces[PLIMSOLL_TEST_ENTRIES];
  // The policy may read the sources that have a fact, and no others.
  plimsoll_test_fact facts[PLIMSOLL_TEST_ENTRIES];
  // The time of the request, in Unix seconds.
  uint64_t now;
  // The gateway has no view of the whole cluster: every read of it has no value.
  bool without_cluster;
  // The gateway knows no pods but the one to schedule, and so has no view of the cluster either.
  bool without_pods;
} plimsoll_test_world;

// ==== Checks ====

static int plimsoll_test_failed;

// Runs a test, a function without parameters, and prints its name.
#define PLIMSOLL_TEST(test)                                                             \
  do {                                                                                  \
    int failed_before = plimsoll_test_failed;                                           \
    test();                                                                             \
    printf("%s %s\n", plimsoll_test_failed > failed_before ? "FAILED" : "ok    ", #test); \
  } while (0)

// Notes a failure if the condition is false; the test goes on.
#define PLIMSOLL_CHECK(condition)                                                                                 \
  do {                                                                                                            \
    if (!(condition)) plimsoll_test_failed++, printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);    \
  } while (0)

// Notes a failure if a plimsoll_str is not the text that is expected.
#define PLIMSOLL_CHECK_STR(got, expected) plimsoll_test_check_str(got, expected, __FILE__, __LINE__)

// The number of checks that failed: the result of main.
PLIMSOLL_INLINE int plimsoll_test_failures(void) {
  return plimsoll_test_failed > 100 ? 100 : plimsoll_test_failed;
}

PLIMSOLL_INLINE plimsoll_str plimsoll_test_str(const char *text) {
  return plimsoll_str_of(text ? text : "", text ? strlen(text) : 0);
}

PLIMSOLL_INLINE void plimsoll_test_check_str(plimsoll_str got, const char *expected, const char *file, int line) {
  if (plimsoll_str_eq(got, plimsoll_test_str(expected))) return;
  plimsoll_test_failed++;
  printf("%s:%d:\n   got %.*s\n  want %s\n", file, line, (int)got.len, got.len ? got.data : "", expected);
}

// Ends the test program.
__attribute__((noreturn, format(printf, 1, 2))) PLIMSOLL_INLINE void plimsoll_test_end(const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  fflush(stdout);
  vfprintf(stderr, format, rest);
  fputc('\n', stderr);
  va_end(rest);
  exit(101);
}

// ==== The world as it is asked ====

// The world of the call, and the nodes of its request: of a preempt those of the candidates.
static const plimsoll_test_world *plimsoll_test_own;
static const plimsoll_test_node *plimsoll_test_asked[PLIMSOLL_TEST_NODES];
static uint32_t plimsoll_test_asked_count, plimsoll_test_candidate_count;

// Memory of a call is kept until the program ends, so that a test can look at its answer; the list shows tools for
// memory that it is in use.
typedef struct plimsoll_test_memory {
  struct plimsoll_test_memory *next;
  uint64_t padding;
} plimsoll_test_memory;

void *plimsoll_alloc(size_t size) {
  static plimsoll_test_memory *all;
  plimsoll_test_memory *own = (plimsoll_test_memory *)calloc(1, sizeof(plimsoll_test_memory) + size);
  if (!own) plimsoll_test_end("there is no memory for %zu bytes", size);
  own->next = all;
  all = own;
  return own + 1;
}

// For each entry of a list, up to the first without a name.
#define PLIMSOLL_TEST_EACH(at, list, key) \
  for (size_t at = 0; at < sizeof(list) / sizeof *(list) && (list)[at].key; at++)

PLIMSOLL_INLINE bool plimsoll_test_find(const plimsoll_test_entry *entries, plimsoll_str key, plimsoll_str *out) {
  for (size_t at = 0; at < PLIMSOLL_TEST_ENTRIES && entries[at].key; at++)
    if (plimsoll_str_eq(plimsoll_test_str(entries[at].key), key)) return *out = plimsoll_test_str(entries[at].value), true;
  plimsoll_str none = PLIMSOLL_ZERO;
  return *out = none, false;
}

// An amount: cpu in millicores, all else in base units; 0 if there is none.
PLIMSOLL_INLINE int64_t plimsoll_test_amount(const plimsoll_test_entry *entries, plimsoll_str name) {
  plimsoll_str text;
  int64_t value = 0;
  if (!plimsoll_test_find(entries, name, &text)) return 0;
  if (!plimsoll_quantity(text, plimsoll_str_eq(name, PLIMSOLL_STR("cpu")) ? 1000 : 1, &value))
    plimsoll_test_end("%.*s: \"%s\" is no quantity", (int)name.len, name.data, text.data);
  return value;
}

PLIMSOLL_INLINE int64_t plimsoll_test_sum(int64_t own, int64_t more) {
  return more > 0 && own > INT64_MAX - more ? INT64_MAX : own + more;
}

PLIMSOLL_INLINE bool plimsoll_test_text(const char *value, plimsoll_str *out) {
  *out = plimsoll_test_str(value);
  return out->len != 0;
}

PLIMSOLL_INLINE plimsoll_str plimsoll_test_namespace_of(const plimsoll_test_pod *pod) {
  return plimsoll_test_str(pod->namespace_ ? pod->namespace_ : "default");
}

PLIMSOLL_INLINE const plimsoll_test_node *plimsoll_test_at(uint32_t node) {
  if (node >= plimsoll_test_asked_count)
    plimsoll_test_end("there is no node %u; the request has %u", node, plimsoll_test_asked_count);
  return plimsoll_test_asked[node];
}

PLIMSOLL_INLINE bool plimsoll_test_is_placed(const plimsoll_test_pod *pod) {
  return !pod->phase || (strcmp(pod->phase, "Succeeded") && strcmp(pod->phase, "Failed"));
}

// Whether it is the pod to schedule: that does not stand in its way.
PLIMSOLL_INLINE bool plimsoll_test_is_asked(const plimsoll_test_pod *pod) {
  plimsoll_str name = plimsoll_pod_name();
  return name.len && plimsoll_str_eq(plimsoll_test_str(pod->name), name) &&
         plimsoll_str_eq(plimsoll_test_namespace_of(pod), plimsoll_pod_namespace());
}

// The pod of an index, or NULL past the last one.
PLIMSOLL_INLINE const plimsoll_test_pod *plimsoll_test_pod_at(const plimsoll_test_node *node, uint32_t index) {
  if (plimsoll_test_own->without_pods) return NULL;
  PLIMSOLL_TEST_EACH(at, node->pods, name)
    if (plimsoll_test_is_placed(&node->pods[at]) && !plimsoll_test_is_asked(&node->pods[at]) && !index--)
      return &node->pods[at];
  return NULL;
}

PLIMSOLL_INLINE const plimsoll_test_pod *plimsoll_test_placed(uint32_t node, uint32_t pod) {
  const plimsoll_test_pod *own = plimsoll_test_pod_at(plimsoll_test_at(node), pod);
  if (!own) plimsoll_test_end("there is no placed pod %u on the node %s", pod, plimsoll_test_at(node)->name);
  return own;
}

PLIMSOLL_INLINE bool plimsoll_test_owner_of(const plimsoll_test_pod *pod, plimsoll_owner *out) {
  out->api_version = plimsoll_test_str(pod->controller.api_version);
  out->kind = plimsoll_test_str(pod->controller.kind);
  out->name = plimsoll_test_str(pod->controller.name);
  out->uid = plimsoll_test_str(pod->controller.uid);
  return pod->controller.name != NULL;
}

// The name of an image that has neither tag nor digest gets `:latest`.
PLIMSOLL_INLINE plimsoll_str plimsoll_test_image_name(plimsoll_str image) {
  size_t at = image.len;
  while (at && image.data[at - 1] != ':' && image.data[at - 1] != '/') at--;
  if (at && image.data[at - 1] == ':') return image;
  plimsoll_text text = PLIMSOLL_ZERO;
  plimsoll_add(&text, image);
  plimsoll_add(&text, PLIMSOLL_STR(":latest"));
  return plimsoll_text_str(&text);
}

// ==== Objects as JSON ====

PLIMSOLL_INLINE void plimsoll_test_quote(plimsoll_text *to, plimsoll_str text) {
  plimsoll_add(to, PLIMSOLL_STR("\""));
  for (size_t at = 0; at < text.len; at++) {
    char escape[8];
    uint8_t c = (uint8_t)text.data[at];
    int len = c == '"' || c == '\\' ? snprintf(escape, sizeof escape, "\\%c", c)
              : c < ' '             ? snprintf(escape, sizeof escape, "\\u%04x", c)
                                    : snprintf(escape, sizeof escape, "%c", c);
    plimsoll_add(to, plimsoll_str_of(escape, (size_t)len));
  }
  plimsoll_add(to, PLIMSOLL_STR("\""));
}

// A key of an object, after a comma unless it is the first.
PLIMSOLL_INLINE void plimsoll_test_key(plimsoll_text *to, const char *key) {
  char last = to->len ? to->data[to->len - 1] : '{';
  if (last != '{' && last != '[') plimsoll_add(to, PLIMSOLL_STR(","));
  if (!key) return;
  plimsoll_test_quote(to, plimsoll_test_str(key));
  plimsoll_add(to, PLIMSOLL_STR(":"));
}

// A field with a text, unless the text is not given.
PLIMSOLL_INLINE void plimsoll_test_field(plimsoll_text *to, const char *key, const char *value) {
  if (!value) return;
  plimsoll_test_key(to, key);
  plimsoll_test_quote(to, plimsoll_test_str(value));
}

PLIMSOLL_INLINE int plimsoll_test_by_key(const void *a, const void *b) {
  return strcmp(((const plimsoll_test_entry *)a)->key, ((const plimsoll_test_entry *)b)->key);
}

PLIMSOLL_INLINE size_t plimsoll_test_sorted(const plimsoll_test_entry *from, plimsoll_test_entry *to) {
  size_t count = 0;
  while (count < PLIMSOLL_TEST_ENTRIES && from[count].key) to[count] = from[count], count++;
  qsort(to, count, sizeof *to, plimsoll_test_by_key);
  return count;
}

// A field with an object of texts, unless it is empty.
PLIMSOLL_INLINE void plimsoll_test_map(plimsoll_text *to, const char *key, const plimsoll_test_entry *entries) {
  plimsoll_test_entry sorted[PLIMSOLL_TEST_ENTRIES];
  size_t count = plimsoll_test_sorted(entries, sorted);
  if (!count) return;
  plimsoll_test_key(to, key);
  plimsoll_add(to, PLIMSOLL_STR("{"));
  for (size_t at = 0; at < count; at++) plimsoll_test_field(to, sorted[at].key, sorted[at].value);
  plimsoll_add(to, PLIMSOLL_STR("}"));
}

PLIMSOLL_INLINE void plimsoll_test_open(plimsoll_text *to, const char *key, const char *bracket) {
  plimsoll_test_key(to, key);
  plimsoll_add(to, plimsoll_test_str(bracket));
}

PLIMSOLL_INLINE plimsoll_str plimsoll_test_pod_json(const plimsoll_test_pod *pod) {
  plimsoll_text text = PLIMSOLL_ZERO, *to = &text;
  plimsoll_test_open(to, NULL, "{");
  plimsoll_test_open(to, "metadata", "{");
  plimsoll_test_map(to, "annotations", pod->annotations);
  if (pod->created) {
    time_t created = (time_t)pod->created;
    char when[32];
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&created));
    plimsoll_test_field(to, "creationTimestamp", when);
  }
  plimsoll_test_map(to, "labels", pod->labels);
  plimsoll_test_field(to, "name", pod->name);
  plimsoll_test_field(to, "namespace", pod->namespace_ ? pod->namespace_ : "default");
  if (pod->controller.name) {
    plimsoll_test_open(to, "ownerReferences", "[{");
    plimsoll_test_field(to, "apiVersion", pod->controller.api_version);
    plimsoll_test_open(to, "controller", "true");
    plimsoll_test_field(to, "kind", pod->controller.kind);
    plimsoll_test_field(to, "name", pod->controller.name);
    plimsoll_test_field(to, "uid", pod->controller.uid);
    plimsoll_add(to, PLIMSOLL_STR("}]"));
  }
  plimsoll_test_field(to, "uid", pod->uid);
  plimsoll_add(to, PLIMSOLL_STR("}"));
  plimsoll_test_open(to, "spec", "{");
  plimsoll_test_open(to, "containers", "[");
  if (pod->requests[0].key) {
    plimsoll_test_open(to, NULL, "{");
    plimsoll_test_open(to, "resources", "{");
    plimsoll_test_map(to, "requests", pod->requests);
    plimsoll_add(to, PLIMSOLL_STR("}}"));
  }
  for (size_t at = 0; at < PLIMSOLL_TEST_ENTRIES && pod->images[at]; at++) {
    plimsoll_test_open(to, NULL, "{");
    plimsoll_test_field(to, "image", pod->images[at]);
    plimsoll_add(to, PLIMSOLL_STR("}"));
  }
  plimsoll_add(to, PLIMSOLL_STR("]"));
  if (pod->priority) {
    plimsoll_test_key(to, "priority");
    plimsoll_add_int(to, pod->priority);
  }
  plimsoll_test_field(to, "priorityClassName", pod->priority_class);
  plimsoll_add(to, PLIMSOLL_STR("}"));
  if (pod->phase) {
    plimsoll_test_open(to, "status", "{");
    plimsoll_test_field(to, "phase", pod->phase);
    plimsoll_add(to, PLIMSOLL_STR("}"));
  }
  plimsoll_add(to, PLIMSOLL_STR("}"));
  return plimsoll_text_str(to);
}

PLIMSOLL_INLINE void plimsoll_test_node_status(plimsoll_text *to, const plimsoll_test_node *node) {
  plimsoll_test_open(to, "status", "{");
  if (node->addresses[0]) {
    plimsoll_test_open(to, "addresses", "[");
    for (size_t at = 0; at < PLIMSOLL_TEST_ENTRIES && node->addresses[at]; at++) {
      plimsoll_test_open(to, NULL, "{");
      plimsoll_test_field(to, "address", node->addresses[at]);
      plimsoll_test_field(to, "type", "InternalIP");
      plimsoll_add(to, PLIMSOLL_STR("}"));
    }
    plimsoll_add(to, PLIMSOLL_STR("]"));
  }
  plimsoll_test_map(to, "allocatable", node->allocatable);
  plimsoll_test_map(to, "capacity", node->capacity);
  if (node->conditions[0].key) {
    plimsoll_test_entry sorted[PLIMSOLL_TEST_ENTRIES];
    size_t count = plimsoll_test_sorted(node->conditions, sorted);
    plimsoll_test_open(to, "conditions", "[");
    for (size_t at = 0; at < count; at++) {
      plimsoll_test_open(to, NULL, "{");
      plimsoll_test_field(to, "status", sorted[at].value);
      plimsoll_test_field(to, "type", sorted[at].key);
      plimsoll_add(to, PLIMSOLL_STR("}"));
    }
    plimsoll_add(to, PLIMSOLL_STR("]"));
  }
  if (node->images[0].name) {
    plimsoll_test_open(to, "images", "[");
    PLIMSOLL_TEST_EACH(at, node->images, name) {
      plimsoll_test_open(to, NULL, "{");
      plimsoll_test_open(to, "names", "[");
      plimsoll_test_quote(to, plimsoll_test_str(node->images[at].name));
      plimsoll_add(to, PLIMSOLL_STR("]"));
      plimsoll_test_key(to, "sizeBytes");
      plimsoll_add_uint(to, node->images[at].size);
      plimsoll_add(to, PLIMSOLL_STR("}"));
    }
    plimsoll_add(to, PLIMSOLL_STR("]"));
  }
  plimsoll_add(to, PLIMSOLL_STR("}"));
}

PLIMSOLL_INLINE plimsoll_str plimsoll_test_node_json(const plimsoll_test_node *node) {
  plimsoll_text text = PLIMSOLL_ZERO, *to = &text;
  plimsoll_test_open(to, NULL, "{");
  plimsoll_test_open(to, "metadata", "{");
  plimsoll_test_map(to, "annotations", node->annotations);
  plimsoll_test_map(to, "labels", node->labels);
  plimsoll_test_field(to, "name", node->name);
  plimsoll_add(to, PLIMSOLL_STR("}"));
  plimsoll_test_open(to, "spec", "{");
  if (node->taints[0].key) {
    plimsoll_test_open(to, "taints", "[");
    PLIMSOLL_TEST_EACH(at, node->taints, key) {
      plimsoll_test_open(to, NULL, "{");
      plimsoll_test_field(to, "effect", node->taints[at].effect ? node->taints[at].effect : "");
      plimsoll_test_field(to, "key", node->taints[at].key);
      plimsoll_test_field(to, "value", node->taints[at].value ? node->taints[at].value : "");
      plimsoll_add(to, PLIMSOLL_STR("}"));
    }
    plimsoll_add(to, PLIMSOLL_STR("]"));
  }
  if (node->unschedulable) plimsoll_test_open(to, "unschedulable", "true");
  plimsoll_add(to, PLIMSOLL_STR("}"));
  plimsoll_test_node_status(to, node);
  plimsoll_add(to, PLIMSOLL_STR("}"));
  return plimsoll_text_str(to);
}

// Whether a token of a pointer, with its escapes, is this key.
PLIMSOLL_INLINE bool plimsoll_test_is_token(plimsoll_str token, plimsoll_str key) {
  size_t own = 0;
  for (size_t at = 0; at < token.len; at++, own++) {
    char c = token.data[at];
    if (c == '~' && at + 1 < token.len) c = token.data[++at] == '1' ? '/' : '~';
    if (own >= key.len || key.data[own] != c) return false;
  }
  return own == key.len;
}

// The JSON at an RFC 6901 pointer.
PLIMSOLL_INLINE bool plimsoll_test_pointer(plimsoll_str json, plimsoll_str pointer, plimsoll_str *out) {
  json = plimsoll_json_trimmed(json);
  while (pointer.len) {
    if (pointer.data[0] != '/' || !json.len || (json.data[0] != '{' && json.data[0] != '[')) return false;
    size_t len = 1;
    while (len < pointer.len && pointer.data[len] != '/') len++;
    plimsoll_str token = plimsoll_str_of(pointer.data + 1, len - 1), key, value;
    pointer = plimsoll_str_of(pointer.data + len, pointer.len - len);
    plimsoll_json items = plimsoll_json_items(json);
    char index[24];
    bool is_found = false;
    for (unsigned at = 0; !is_found && plimsoll_json_next(&items, &key, &value); at++) {
      if (json.data[0] == '[') key = plimsoll_str_of(index, (size_t)snprintf(index, sizeof index, "%u", at));
      is_found = plimsoll_test_is_token(token, key);
    }
    if (!is_found) return false;
    json = value;
  }
  *out = json;
  return true;
}

PLIMSOLL_INLINE bool plimsoll_test_field_of(const char *object, plimsoll_str own, plimsoll_str pointer, plimsoll_str *out) {
  plimsoll_str none = PLIMSOLL_ZERO;
  *out = none;
  if (object && pointer.len && plimsoll_test_pointer(plimsoll_test_str(object), pointer, out)) return true;
  return plimsoll_test_pointer(own, pointer, out);
}

// ==== The reads ====

plimsoll_str plimsoll_pod_name(void) { return plimsoll_test_str(plimsoll_test_own->pod.name); }
plimsoll_str plimsoll_pod_namespace(void) { return plimsoll_test_namespace_of(&plimsoll_test_own->pod); }
plimsoll_str plimsoll_pod_uid(void) { return plimsoll_test_str(plimsoll_test_own->pod.uid); }
int32_t plimsoll_pod_priority(void) { return plimsoll_test_own->pod.priority; }
uint64_t plimsoll_pod_created(void) { return plimsoll_test_own->pod.created; }
int64_t plimsoll_pod_request(plimsoll_str name) { return plimsoll_test_amount(plimsoll_test_own->pod.requests, name); }

static const plimsoll_test_namespace *plimsoll_test_known_namespace(void) {
  const plimsoll_test_world *own = plimsoll_test_own;
  if (own->without_cluster || own->without_pods) return NULL;
  PLIMSOLL_TEST_EACH(at, own->namespaces, name)
    if (plimsoll_str_eq(plimsoll_test_str(own->namespaces[at].name), plimsoll_pod_namespace())) return &own->namespaces[at];
  return NULL;
}

bool plimsoll_pod_namespace_known(void) { return plimsoll_test_known_namespace() != NULL; }

bool plimsoll_pod_namespace_label(plimsoll_str key, plimsoll_str *out) {
  const plimsoll_test_namespace *own = plimsoll_test_known_namespace();
  static const plimsoll_test_entry none[PLIMSOLL_TEST_ENTRIES] = PLIMSOLL_ZERO;
  return plimsoll_test_find(own ? own->labels : none, key, out);
}

bool plimsoll_pod_label(plimsoll_str key, plimsoll_str *out) {
  return plimsoll_test_find(plimsoll_test_own->pod.labels, key, out);
}

bool plimsoll_pod_annotation(plimsoll_str key, plimsoll_str *out) {
  return plimsoll_test_find(plimsoll_test_own->pod.annotations, key, out);
}

bool plimsoll_pod_priority_class(plimsoll_str *out) {
  return plimsoll_test_text(plimsoll_test_own->pod.priority_class, out);
}

bool plimsoll_pod_controller(plimsoll_owner *out) { return plimsoll_test_owner_of(&plimsoll_test_own->pod, out); }

plimsoll_list_str plimsoll_pod_images(void) {
  plimsoll_str *images = (plimsoll_str *)plimsoll_alloc(PLIMSOLL_TEST_ENTRIES * sizeof(plimsoll_str));
  plimsoll_list_str own = PLIMSOLL_ZERO;
  for (size_t at = 0; at < PLIMSOLL_TEST_ENTRIES && plimsoll_test_own->pod.images[at]; at++) {
    plimsoll_str image = plimsoll_test_image_name(plimsoll_test_str(plimsoll_test_own->pod.images[at]));
    size_t known = 0;
    while (known < own.count && !plimsoll_str_eq(images[known], image)) known++;
    if (known == own.count) images[own.count++] = image;
  }
  own.items = images;
  return own;
}

bool plimsoll_pod_field(plimsoll_str pointer, plimsoll_str *out) {
  const plimsoll_test_pod *own = &plimsoll_test_own->pod;
  return plimsoll_test_field_of(own->object, plimsoll_test_pod_json(own), pointer, out);
}

uint32_t plimsoll_nodes_count(void) { return plimsoll_test_asked_count; }
plimsoll_str plimsoll_nodes_name(uint32_t node) { return plimsoll_test_str(plimsoll_test_at(node)->name); }
bool plimsoll_nodes_unschedulable(uint32_t node) { return plimsoll_test_at(node)->unschedulable; }

bool plimsoll_nodes_label(uint32_t node, plimsoll_str key, plimsoll_str *out) {
  return plimsoll_test_find(plimsoll_test_at(node)->labels, key, out);
}

plimsoll_grouping plimsoll_nodes_by_label(plimsoll_str key) {
  uint32_t count = plimsoll_test_asked_count, *groups = (uint32_t *)plimsoll_alloc(count * sizeof(uint32_t));
  plimsoll_str *values = (plimsoll_str *)plimsoll_alloc(count * sizeof(plimsoll_str)), value;
  uint32_t known = 0;
  for (uint32_t node = 0; node < count; node++) {
    groups[node] = UINT32_MAX;
    if (!plimsoll_nodes_label(node, key, &value)) continue;
    uint32_t group = 0;
    while (group < known && !plimsoll_str_eq(values[group], value)) group++;
    if (group == known) values[known++] = value;
    groups[node] = group;
  }
  for (uint32_t node = 0; node < count; node++)
    if (groups[node] > known) groups[node] = known;
  plimsoll_grouping own = PLIMSOLL_ZERO;
  own.values.items = values;
  own.values.count = known;
  own.groups.items = groups;
  own.groups.count = count;
  return own;
}

bool plimsoll_nodes_annotation(uint32_t node, plimsoll_str key, plimsoll_str *out) {
  return plimsoll_test_find(plimsoll_test_at(node)->annotations, key, out);
}

plimsoll_list_taint plimsoll_nodes_taints(uint32_t node) {
  const plimsoll_test_node *from = plimsoll_test_at(node);
  plimsoll_taint *taints = (plimsoll_taint *)plimsoll_alloc(PLIMSOLL_TEST_ENTRIES * sizeof(plimsoll_taint));
  plimsoll_list_taint own = PLIMSOLL_ZERO;
  PLIMSOLL_TEST_EACH(at, from->taints, key) {
    taints[at].key = plimsoll_test_str(from->taints[at].key);
    taints[at].value = plimsoll_test_str(from->taints[at].value);
    taints[at].effect = plimsoll_test_str(from->taints[at].effect);
    own.count++;
  }
  own.items = taints;
  return own;
}

int64_t plimsoll_nodes_allocatable(uint32_t node, plimsoll_str name) {
  return plimsoll_test_amount(plimsoll_test_at(node)->allocatable, name);
}

bool plimsoll_nodes_resource_known(uint32_t node, plimsoll_str name) {
  const plimsoll_test_node *own = plimsoll_test_at(node);
  for (size_t at = 0; at < PLIMSOLL_TEST_ENTRIES && own->resources_unknown[at]; at++)
    if (plimsoll_str_eq(plimsoll_test_str(own->resources_unknown[at]), name)) return false;
  return true;
}

int64_t plimsoll_nodes_capacity(uint32_t node, plimsoll_str name) {
  return plimsoll_test_amount(plimsoll_test_at(node)->capacity, name);
}

bool plimsoll_nodes_condition(uint32_t node, plimsoll_str kind, plimsoll_str *out) {
  return plimsoll_test_find(plimsoll_test_at(node)->conditions, kind, out);
}

bool plimsoll_placed_known(uint32_t node) {
  return !plimsoll_test_at(node)->pods_unknown && !plimsoll_test_own->without_pods;
}

bool plimsoll_nodes_requested(uint32_t node, plimsoll_str name, int64_t *out) {
  const plimsoll_test_pod *pod;
  *out = 0;
  if (!plimsoll_placed_known(node)) return false;
  for (uint32_t at = 0; (pod = plimsoll_test_pod_at(plimsoll_test_at(node), at)); at++)
    *out = plimsoll_test_sum(*out, plimsoll_test_amount(pod->requests, name));
  return true;
}

bool plimsoll_nodes_image_size(uint32_t node, plimsoll_str image, uint64_t *out) {
  const plimsoll_test_node *own = plimsoll_test_at(node);
  plimsoll_str asked = plimsoll_test_image_name(image);
  *out = 0;
  PLIMSOLL_TEST_EACH(at, own->images, name) {
    if (!plimsoll_str_eq(plimsoll_test_image_name(plimsoll_test_str(own->images[at].name)), asked)) continue;
    *out = own->images[at].size;
    return true;
  }
  return false;
}

bool plimsoll_nodes_field(uint32_t node, plimsoll_str pointer, plimsoll_str *out) {
  const plimsoll_test_node *own = plimsoll_test_at(node);
  return plimsoll_test_field_of(own->object, plimsoll_test_node_json(own), pointer, out);
}

uint32_t plimsoll_placed_count(uint32_t node) {
  uint32_t count = 0;
  while (plimsoll_test_pod_at(plimsoll_test_at(node), count)) count++;
  return count;
}

plimsoll_str plimsoll_placed_name(uint32_t node, uint32_t pod) {
  return plimsoll_test_str(plimsoll_test_placed(node, pod)->name);
}

plimsoll_str plimsoll_placed_namespace(uint32_t node, uint32_t pod) {
  return plimsoll_test_namespace_of(plimsoll_test_placed(node, pod));
}

bool plimsoll_placed_label(uint32_t node, uint32_t pod, plimsoll_str key, plimsoll_str *out) {
  return plimsoll_test_find(plimsoll_test_placed(node, pod)->labels, key, out);
}

bool plimsoll_placed_annotation(uint32_t node, uint32_t pod, plimsoll_str key, plimsoll_str *out) {
  return plimsoll_test_find(plimsoll_test_placed(node, pod)->annotations, key, out);
}

int32_t plimsoll_placed_priority(uint32_t node, uint32_t pod) { return plimsoll_test_placed(node, pod)->priority; }
uint64_t plimsoll_placed_created(uint32_t node, uint32_t pod) { return plimsoll_test_placed(node, pod)->created; }

bool plimsoll_placed_priority_class(uint32_t node, uint32_t pod, plimsoll_str *out) {
  return plimsoll_test_text(plimsoll_test_placed(node, pod)->priority_class, out);
}

bool plimsoll_placed_controller(uint32_t node, uint32_t pod, plimsoll_owner *out) {
  return plimsoll_test_owner_of(plimsoll_test_placed(node, pod), out);
}

bool plimsoll_placed_phase(uint32_t node, uint32_t pod, plimsoll_str *out) {
  const char *phase = plimsoll_test_placed(node, pod)->phase;
  bool is_one = phase && (!strcmp(phase, "Pending") || !strcmp(phase, "Running") || !strcmp(phase, "Unknown"));
  return plimsoll_test_text(is_one ? phase : NULL, out);
}

bool plimsoll_placed_terminating(uint32_t node, uint32_t pod) { return plimsoll_test_placed(node, pod)->terminating; }

int64_t plimsoll_placed_request(uint32_t node, uint32_t pod, plimsoll_str name) {
  return plimsoll_test_amount(plimsoll_test_placed(node, pod)->requests, name);
}

static uint32_t plimsoll_test_labelled(uint32_t node, plimsoll_str namespace_, plimsoll_str key, plimsoll_str value, bool active) {
  const plimsoll_test_pod *pod;
  plimsoll_str own;
  uint32_t count = 0;
  for (uint32_t at = 0; (pod = plimsoll_test_pod_at(plimsoll_test_at(node), at)); at++)
    count += !(active && pod->terminating) && plimsoll_str_eq(plimsoll_test_namespace_of(pod), namespace_) &&
             plimsoll_test_find(pod->labels, key, &own) && plimsoll_str_eq(own, value);
  return count;
}

static plimsoll_list_u32 plimsoll_test_each_labelled(plimsoll_str namespace_, plimsoll_str key, plimsoll_str value, bool active) {
  uint32_t *counts = (uint32_t *)plimsoll_alloc(plimsoll_test_asked_count * sizeof(uint32_t));
  for (uint32_t node = 0; node < plimsoll_test_asked_count; node++)
    counts[node] = plimsoll_test_labelled(node, namespace_, key, value, active);
  plimsoll_list_u32 own = PLIMSOLL_ZERO;
  own.items = counts;
  own.count = plimsoll_test_asked_count;
  return own;
}

uint32_t plimsoll_placed_count_labelled(uint32_t node, plimsoll_str namespace_, plimsoll_str key, plimsoll_str value) {
  return plimsoll_test_labelled(node, namespace_, key, value, false);
}

plimsoll_list_u32 plimsoll_placed_counts_labelled(plimsoll_str namespace_, plimsoll_str key, plimsoll_str value) {
  return plimsoll_test_each_labelled(namespace_, key, value, false);
}

uint32_t plimsoll_placed_count_active(uint32_t node, plimsoll_str namespace_, plimsoll_str key, plimsoll_str value) {
  return plimsoll_test_labelled(node, namespace_, key, value, true);
}

plimsoll_list_u32 plimsoll_placed_counts_active(plimsoll_str namespace_, plimsoll_str key, plimsoll_str value) {
  return plimsoll_test_each_labelled(namespace_, key, value, true);
}

uint32_t plimsoll_candidates_count(void) { return plimsoll_test_candidate_count; }

static const plimsoll_test_candidate *plimsoll_test_candidate_at(uint32_t candidate) {
  if (candidate >= plimsoll_test_candidate_count)
    plimsoll_test_end("there is no candidate %u; the request has %u", candidate, plimsoll_test_candidate_count);
  return &plimsoll_test_own->candidates[candidate];
}

uint32_t plimsoll_candidates_node(uint32_t candidate) {
  plimsoll_test_candidate_at(candidate);
  return candidate;
}

plimsoll_list_u32 plimsoll_candidates_victims(uint32_t candidate) {
  const plimsoll_test_candidate *from = plimsoll_test_candidate_at(candidate);
  uint32_t *victims = (uint32_t *)plimsoll_alloc(PLIMSOLL_TEST_PODS * sizeof(uint32_t));
  plimsoll_list_u32 own = PLIMSOLL_ZERO;
  for (size_t at = 0; at < PLIMSOLL_TEST_PODS && from->victims[at]; at++) {
    const plimsoll_test_pod *pod;
    uint32_t index = 0;
    for (; (pod = plimsoll_test_pod_at(plimsoll_test_asked[candidate], index)); index++) {
      plimsoll_text text = PLIMSOLL_ZERO;
      plimsoll_add(&text, plimsoll_test_namespace_of(pod));
      plimsoll_add(&text, PLIMSOLL_STR("/"));
      plimsoll_add(&text, plimsoll_test_str(pod->name));
      if (plimsoll_str_eq(plimsoll_text_str(&text), plimsoll_test_str(from->victims[at]))) break;
    }
    if (!pod) plimsoll_test_end("the candidate %s names the victim %s; no such pod is placed there", from->node, from->victims[at]);
    victims[own.count++] = index;
  }
  own.items = victims;
  return own;
}

uint32_t plimsoll_candidates_pdb_violations(uint32_t candidate) {
  return plimsoll_test_candidate_at(candidate)->pdb_violations;
}

// Whether the gateway has a view of the cluster.
static bool plimsoll_test_has_cluster(void) {
  return !plimsoll_test_own->without_cluster && !plimsoll_test_own->without_pods;
}

static bool plimsoll_test_has(const plimsoll_test_entry *entries, plimsoll_option_pair pair) {
  plimsoll_str own;
  return !pair.present || (plimsoll_test_find(entries, pair.value.key, &own) && plimsoll_str_eq(own, pair.value.value));
}

// Counts the pods of the cluster that match, and adds up their requests of a resource.
static uint64_t plimsoll_test_matching(plimsoll_selector selector, plimsoll_str name, int64_t *sum) {
  const plimsoll_test_world *own = plimsoll_test_own;
  uint64_t count = 0;
  PLIMSOLL_TEST_EACH(at, own->nodes, name) {
    const plimsoll_test_node *node = &own->nodes[at];
    const plimsoll_test_pod *pod;
    if (!plimsoll_test_has(node->labels, selector.node_label)) continue;
    for (uint32_t index = 0; (pod = plimsoll_test_pod_at(node, index)); index++) {
      plimsoll_str in = plimsoll_test_namespace_of(pod);
      if ((selector.namespace_.present && !plimsoll_str_eq(in, selector.namespace_.value)) ||
          !plimsoll_test_has(pod->labels, selector.label) || !plimsoll_test_has(pod->annotations, selector.annotation))
        continue;
      count++;
      *sum = plimsoll_test_sum(*sum, plimsoll_test_amount(pod->requests, name));
    }
  }
  return count;
}

bool plimsoll_cluster_count(plimsoll_selector selector, uint64_t *out) {
  int64_t sum = 0;
  bool has = plimsoll_test_has_cluster();
  *out = has ? plimsoll_test_matching(selector, PLIMSOLL_STR("cpu"), &sum) : 0;
  return has;
}

bool plimsoll_cluster_count_up_to(plimsoll_selector selector, uint64_t n, uint64_t *out) {
  bool has = plimsoll_cluster_count(selector, out);
  if (*out > n) *out = n;
  return has;
}

bool plimsoll_cluster_at_least(plimsoll_selector selector, uint64_t n, bool *out) {
  uint64_t count;
  bool has = plimsoll_cluster_count(selector, &count);
  *out = has && count >= n;
  return has;
}

bool plimsoll_cluster_requested(plimsoll_selector selector, plimsoll_str name, int64_t *out) {
  bool has = plimsoll_test_has_cluster();
  *out = 0;
  if (has) plimsoll_test_matching(selector, name, out);
  return has;
}

bool plimsoll_cluster_nodes_with_label(plimsoll_str key, plimsoll_str value, uint32_t *out) {
  bool has = plimsoll_test_has_cluster();
  plimsoll_str own;
  *out = 0;
  PLIMSOLL_TEST_EACH(at, plimsoll_test_own->nodes, name)
    *out += has && plimsoll_test_find(plimsoll_test_own->nodes[at].labels, key, &own) && plimsoll_str_eq(own, value);
  return has;
}

bool plimsoll_facts_text(plimsoll_str source, plimsoll_str key, plimsoll_str *out) {
  bool is_known = false;
  plimsoll_str none = PLIMSOLL_ZERO;
  *out = none;
  PLIMSOLL_TEST_EACH(at, plimsoll_test_own->facts, source) {
    const plimsoll_test_fact *own = &plimsoll_test_own->facts[at];
    if (!plimsoll_str_eq(plimsoll_test_str(own->source), source)) continue;
    is_known = true;
    if (!plimsoll_str_eq(plimsoll_test_str(own->key), key)) continue;
    *out = plimsoll_test_str(own->value);
    return true;
  }
  if (!is_known)
    plimsoll_test_end("the policy reads the source of facts '%.*s', which the world does not have", (int)source.len, source.data);
  return false;
}

bool plimsoll_facts_number(plimsoll_str source, plimsoll_str key, double *out) {
  plimsoll_str text;
  char *end;
  *out = 0;
  if (!plimsoll_facts_text(source, key, &text) || !text.len) return false;
  // It is the whole of a string of C.
  double number = strtod(text.data, &end);
  // Infinity and NaN do not count as numbers.
  if (*end || number - number != 0) return false;
  *out = number;
  return true;
}

// The key of the fact about a node: its name, or the first of its addresses that has one.
static plimsoll_str plimsoll_test_fact_key(uint32_t node, plimsoll_str source) {
  const plimsoll_test_node *own = plimsoll_test_at(node);
  plimsoll_str name = plimsoll_nodes_name(node), text;
  if (plimsoll_facts_text(source, name, &text)) return name;
  for (size_t at = 0; at < PLIMSOLL_TEST_ENTRIES && own->addresses[at]; at++) {
    plimsoll_str address = plimsoll_test_str(own->addresses[at]);
    if (plimsoll_facts_text(source, address, &text)) return address;
  }
  return name;
}

bool plimsoll_facts_node_text(uint32_t node, plimsoll_str source, plimsoll_str *out) {
  return plimsoll_facts_text(source, plimsoll_test_fact_key(node, source), out);
}

bool plimsoll_facts_node_number(uint32_t node, plimsoll_str source, double *out) {
  return plimsoll_facts_number(source, plimsoll_test_fact_key(node, source), out);
}

static int plimsoll_test_by_value(const void *a, const void *b) {
  return strcmp(((const plimsoll_label_count *)a)->value.data, ((const plimsoll_label_count *)b)->value.data);
}

bool plimsoll_cluster_label_values(plimsoll_str key, plimsoll_list_label_count *out) {
  plimsoll_label_count *counts = (plimsoll_label_count *)plimsoll_alloc(PLIMSOLL_TEST_NODES * sizeof(plimsoll_label_count));
  plimsoll_str value;
  out->items = counts;
  out->count = 0;
  if (!plimsoll_test_has_cluster()) return false;
  PLIMSOLL_TEST_EACH(at, plimsoll_test_own->nodes, name) {
    if (!plimsoll_test_find(plimsoll_test_own->nodes[at].labels, key, &value)) continue;
    size_t known = 0;
    while (known < out->count && !plimsoll_str_eq(counts[known].value, value)) known++;
    if (known == out->count) counts[out->count++].value = value;
    counts[known].nodes++;
  }
  qsort(counts, out->count, sizeof *counts, plimsoll_test_by_value);
  return true;
}

// A test gives settings by plimsoll_test_settings.
plimsoll_str plimsoll_host_settings(void) { return PLIMSOLL_STR("null"); }

uint64_t plimsoll_host_now(uint32_t granularity) {
  return plimsoll_test_own->now - plimsoll_test_own->now % (granularity ? granularity : 1);
}

void plimsoll_host_log(plimsoll_level level, plimsoll_str message) {
  static const char *const levels[] = {"debug", "info", "warn", "error"};
  if (getenv("PLIMSOLL_TEST_LOG")) fprintf(stderr, "%s: %.*s\n", levels[level], (int)message.len, message.data);
}

void plimsoll_host_panic(plimsoll_str message) {
  plimsoll_test_end("the policy panicked: %.*s", (int)message.len, message.data);
}

// ==== Questions ====

PLIMSOLL_INLINE uint32_t plimsoll_test_begin(const plimsoll_test_world *world, const char *node) {
  plimsoll_test_own = world;
  plimsoll_test_asked_count = plimsoll_test_candidate_count = 0;
  uint32_t own = UINT32_MAX;
  PLIMSOLL_TEST_EACH(at, world->nodes, name) {
    if (node && !strcmp(world->nodes[at].name, node)) own = plimsoll_test_asked_count;
    plimsoll_test_asked[plimsoll_test_asked_count++] = &world->nodes[at];
  }
  if (node && own == UINT32_MAX) plimsoll_test_end("the test asks about the node \"%s\"; there is no such node", node);
  return own;
}

PLIMSOLL_INLINE uint32_t plimsoll_test_score_checked(uint32_t score, const char *node) {
  if (score > 100) plimsoll_test_end("the policy gave %s the score %u; it may give 0 to 100", node, score);
  return score;
}

// Reads settings, in JSON, into the variables of the policy; returns the error that an operator sees, or an empty text.
// The variables keep their values until the end of the test program.
PLIMSOLL_INLINE plimsoll_str plimsoll_test_settings(const char *json, void (*settings)(plimsoll_settings *)) {
  return plimsoll_read_settings(plimsoll_test_str(json), settings);
}

// Asks a filter about one node.
PLIMSOLL_INLINE plimsoll_verdict plimsoll_test_filter(const plimsoll_test_world *world, plimsoll_verdict (*filter)(uint32_t),
                                                      const char *node) {
  return filter(plimsoll_test_begin(world, node));
}

// Asks for the score of one node.
PLIMSOLL_INLINE uint32_t plimsoll_test_score(const plimsoll_test_world *world, uint32_t (*score)(uint32_t), const char *node) {
  return plimsoll_test_score_checked(score(plimsoll_test_begin(world, node)), node);
}

// Asks for the scores of all nodes, and returns that of one.
PLIMSOLL_INLINE uint32_t plimsoll_test_rank(const plimsoll_test_world *world, void (*rank)(uint32_t *, uint32_t),
                                            const char *node) {
  uint32_t at = plimsoll_test_begin(world, node), scores[PLIMSOLL_TEST_NODES] = PLIMSOLL_ZERO;
  rank(scores, plimsoll_test_asked_count);
  return plimsoll_test_score_checked(scores[at], node);
}

// Asks about the first candidate on a node.
PLIMSOLL_INLINE plimsoll_preemption plimsoll_test_preempt(const plimsoll_test_world *world,
                                                          plimsoll_preemption (*preempt)(uint32_t), const char *node) {
  const plimsoll_test_node *nodes[PLIMSOLL_TEST_NODES];
  uint32_t count = 0, own = UINT32_MAX;
  PLIMSOLL_TEST_EACH(at, world->candidates, node) {
    const char *on = world->candidates[at].node;
    if (own == UINT32_MAX && !strcmp(on, node)) own = count;
    nodes[count++] = &world->nodes[plimsoll_test_begin(world, on)];
  }
  if (own == UINT32_MAX) plimsoll_test_end("the test asks about a candidate on the node \"%s\"; there is none", node);
  memcpy(plimsoll_test_asked, nodes, count * sizeof *nodes);
  plimsoll_test_asked_count = plimsoll_test_candidate_count = count;
  return preempt(own);
}

// Asks a bind about one node.
PLIMSOLL_INLINE plimsoll_binding plimsoll_test_bind(const plimsoll_test_world *world, plimsoll_binding (*bind)(uint32_t),
                                                    const char *node) {
  return bind(plimsoll_test_begin(world, node));
}

#ifdef __cplusplus
}
#endif

#endif  // PLIMSOLL_TEST_H
