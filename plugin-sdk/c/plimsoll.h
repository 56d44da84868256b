// The C SDK of plimsoll: a policy is one file that includes this header.
//
//   #include "plimsoll.h"
//
//   static plimsoll_verdict needs_label(uint32_t node) {
//     plimsoll_str key, value;
//     if (plimsoll_pod_annotation(PLIMSOLL_STR("example.com/needs"), &key) && !plimsoll_nodes_label(node, key, &value))
//       return plimsoll_unresolvable(PLIMSOLL_STR("node lacks the label that the pod needs"));
//     return plimsoll_fits();
//   }
//   PLIMSOLL_FILTER(needs_label);
//
//   clang --target=wasm32 -O2 -ffreestanding -nostdlib -Wl,--no-entry,--stack-first,--strip-debug
//     -I PATH/TO/THIS -o needs-label.wasm needs-label.c
//
// Clang and its linker wasm-ld are all that is needed: no libc, no other library. The header works in C11 and C++.
// Compiled for the machine itself (without --target), the same policy is tested natively: see plimsoll_test.h.
//
// A policy is a function of the values that it reads. It must not keep state between calls: variables that are neither
// settings nor constants belong into the functions.
//
// The parts of this file, from top to bottom:
//   texts and memory      plimsoll_str, plimsoll_text, plimsoll_alloc
//   reads                 plimsoll_generated.h: every function of the contract, `nodes.label` as plimsoll_nodes_label
//   faults                PLIMSOLL_PANIC
//   answers and verbs     PLIMSOLL_FILTER, _SCORE, _RANK, _PREEMPT, _BIND
//   JSON and quantities   plimsoll_json_str, ..., plimsoll_quantity
//   settings              PLIMSOLL_SETTINGS
#ifndef PLIMSOLL_H
#define PLIMSOLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PLIMSOLL_ZERO {}
#define PLIMSOLL_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define PLIMSOLL_ZERO {0}
#define PLIMSOLL_ASSERT(condition, text) _Static_assert(condition, text)
#endif

// Functions of this header. The reads are answered by the host; natively plimsoll_test.h answers them.
#define PLIMSOLL_INLINE static inline
// A function that is large, and so is not copied to each place that calls it.
#define PLIMSOLL_LARGE __attribute__((noinline)) static inline
#ifdef __wasm__
#define PLIMSOLL_READ static inline
#define PLIMSOLL_IMPORT(interface, name)                                        \
  __attribute__((import_module(PLIMSOLL_PACKAGE "/" interface "@" PLIMSOLL_VERSION), import_name(name)))
// A definition that a module has once, however many of its files include this header.
#define PLIMSOLL_SHARED __attribute__((weak))
#else
#define PLIMSOLL_READ extern
#endif

// ==== Texts and memory ====

// UTF-8 without a 0 at its end. A text that a read returns is valid until the verb returns.
typedef struct {
  const char *data;
  size_t len;
} plimsoll_str;

// A literal as a plimsoll_str: PLIMSOLL_STR("zone").
#define PLIMSOLL_STR(literal) plimsoll_str_of("" literal, sizeof(literal) - 1)
// The same as the initial value of a static variable.
#define PLIMSOLL_STR_INIT(literal) {"" literal, sizeof(literal) - 1}

PLIMSOLL_INLINE plimsoll_str plimsoll_str_of(const char *data, size_t len) {
  plimsoll_str own = PLIMSOLL_ZERO;
  own.data = data;
  own.len = len;
  return own;
}

// Whether two texts are the same.
PLIMSOLL_INLINE bool plimsoll_str_eq(plimsoll_str a, plimsoll_str b) {
  if (a.len != b.len) return false;
  for (size_t at = 0; at < a.len; at++)
    if (a.data[at] != b.data[at]) return false;
  return true;
}

// Whether a text begins with another.
PLIMSOLL_INLINE bool plimsoll_str_starts_with(plimsoll_str text, plimsoll_str start) {
  return text.len >= start.len && plimsoll_str_eq(plimsoll_str_of(text.data, start.len), start);
}

// Memory of this call, filled with 0: it need not be given back. Ends the call as a fault if there is no more.
#ifdef __wasm__
PLIMSOLL_INLINE void *plimsoll_alloc(size_t size);
#else
extern void *plimsoll_alloc(size_t size);
#endif

// A text that grows, for reasons and log lines: plimsoll_text text = PLIMSOLL_ZERO; plimsoll_add(&text, ...);
typedef struct {
  char *data;
  size_t len, capacity;
} plimsoll_text;

// The text so far. Later additions do not change it.
PLIMSOLL_INLINE plimsoll_str plimsoll_text_str(const plimsoll_text *text) {
  return plimsoll_str_of(text->data, text->len);
}

// Adds a text to the end of another.
PLIMSOLL_LARGE void plimsoll_add(plimsoll_text *to, plimsoll_str more) {
  if (more.len > to->capacity - to->len) {
    size_t capacity = to->capacity < 32 ? 64 : 2 * to->capacity;
    if (capacity < to->len + more.len) capacity = to->len + more.len;
    char *data = (char *)plimsoll_alloc(capacity);
    for (size_t at = 0; at < to->len; at++) data[at] = to->data[at];
    to->data = data;
    to->capacity = capacity;
  }
  for (size_t at = 0; at < more.len; at++) to->data[to->len + at] = more.data[at];
  to->len += more.len;
}

// Adds a number in decimal digits.
PLIMSOLL_LARGE void plimsoll_add_uint(plimsoll_text *to, uint64_t number) {
  char digits[20];
  size_t first = sizeof digits;
  do {
    digits[--first] = (char)('0' + number % 10);
    number /= 10;
  } while (number);
  plimsoll_add(to, plimsoll_str_of(digits + first, sizeof digits - first));
}

// Adds a number in decimal digits, with a minus if it is negative.
PLIMSOLL_INLINE void plimsoll_add_int(plimsoll_text *to, int64_t number) {
  if (number < 0) plimsoll_add(to, PLIMSOLL_STR("-"));
  plimsoll_add_uint(to, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

// ==== Reads ====
//
// A read that may have no value returns whether it has one and writes it to `out`; without a value `out` is all 0.

// The level of a line in the log of the gateway.
typedef enum { PLIMSOLL_DEBUG, PLIMSOLL_INFO, PLIMSOLL_WARN, PLIMSOLL_ERROR } plimsoll_level;

#include "plimsoll_generated.h"

// The amount of a resource that the pods on the node leave: cpu in millicores, all else in base units. Without one it gives
// the reason: the pods are not known, or the resource is not (plimsoll_nodes_resource_known), which kube-scheduler checks
// itself.
PLIMSOLL_INLINE bool plimsoll_nodes_free(uint32_t node, plimsoll_str name, int64_t *amount, plimsoll_str *reason) {
  int64_t requested;
  *amount = 0;
  if (!plimsoll_nodes_resource_known(node, name)) {
    *reason = PLIMSOLL_STR("DRA provides the resource on the node, and a policy cannot count its devices");
    return false;
  }
  if (!plimsoll_nodes_requested(node, name, &requested)) {
    *reason = PLIMSOLL_STR("the pods on the node are not known");
    return false;
  }
  *amount = plimsoll_nodes_allocatable(node, name) - requested;
  return true;
}

// The parts of a plimsoll_selector: selector.label = plimsoll_pair_of(PLIMSOLL_STR("app"), PLIMSOLL_STR("web")).
// A part that is not given is all 0, as in plimsoll_selector all = PLIMSOLL_ZERO.
PLIMSOLL_INLINE plimsoll_option_pair plimsoll_pair_of(plimsoll_str key, plimsoll_str value) {
  plimsoll_option_pair own = PLIMSOLL_ZERO;
  own.present = true;
  own.value.key = key;
  own.value.value = value;
  return own;
}

// A text that is given, such as selector.namespace_ = plimsoll_some(plimsoll_pod_namespace()).
PLIMSOLL_INLINE plimsoll_option_str plimsoll_some(plimsoll_str value) {
  plimsoll_option_str own = PLIMSOLL_ZERO;
  own.present = true;
  own.value = value;
  return own;
}

// ==== Faults ====

#ifdef __FILE_NAME__
#define PLIMSOLL_FILE __FILE_NAME__
#else
#define PLIMSOLL_FILE __FILE__
#endif

// Ends the call as a fault of this policy, with the text and the line in the log. It does not return.
#define PLIMSOLL_PANIC(message) plimsoll_panic_at(message, PLIMSOLL_STR(PLIMSOLL_FILE), __LINE__)

__attribute__((noreturn)) PLIMSOLL_INLINE void plimsoll_panic_at(plimsoll_str message, plimsoll_str file, uint32_t line) {
  plimsoll_text text = PLIMSOLL_ZERO;
  plimsoll_add(&text, message);
  plimsoll_add(&text, PLIMSOLL_STR(", at "));
  plimsoll_add(&text, file);
  plimsoll_add(&text, PLIMSOLL_STR(":"));
  plimsoll_add_uint(&text, line);
  plimsoll_host_panic(plimsoll_text_str(&text));
  __builtin_trap();
}

// ==== Answers ====

// The answer of a filter. Its layout is the host's, and so is its order of kinds.
typedef struct {
  uint8_t kind;
  plimsoll_str reason;
} plimsoll_verdict;

enum { PLIMSOLL_FITS, PLIMSOLL_UNSCHEDULABLE, PLIMSOLL_UNRESOLVABLE };

// The pod may run on the node.
PLIMSOLL_INLINE plimsoll_verdict plimsoll_fits(void) {
  plimsoll_verdict own = PLIMSOLL_ZERO;
  return own;
}

// The pod does not fit now, but evicting other pods may help. A reason must not contain details of one node, because
// kube-scheduler counts nodes by reason; it has at most 1,024 bytes.
PLIMSOLL_INLINE plimsoll_verdict plimsoll_unschedulable(plimsoll_str reason) {
  plimsoll_verdict own = PLIMSOLL_ZERO;
  own.kind = PLIMSOLL_UNSCHEDULABLE;
  own.reason = reason;
  return own;
}

// The pod does not fit, and evicting other pods does not help: the node is not tried for preemption.
PLIMSOLL_INLINE plimsoll_verdict plimsoll_unresolvable(plimsoll_str reason) {
  plimsoll_verdict own = plimsoll_unschedulable(reason);
  own.kind = PLIMSOLL_UNRESOLVABLE;
  return own;
}

// The answer about one candidate for preemption.
typedef struct {
  uint8_t kind;
  plimsoll_str reason;
  plimsoll_list_u32 pods;
} plimsoll_preemption;

enum { PLIMSOLL_KEEP, PLIMSOLL_REJECT, PLIMSOLL_REPLACE };

// Evicts the pods that kube-scheduler proposed.
PLIMSOLL_INLINE plimsoll_preemption plimsoll_keep(void) {
  plimsoll_preemption own = PLIMSOLL_ZERO;
  return own;
}

// Does not preempt on this node.
PLIMSOLL_INLINE plimsoll_preemption plimsoll_reject(plimsoll_str reason) {
  plimsoll_preemption own = PLIMSOLL_ZERO;
  own.kind = PLIMSOLL_REJECT;
  own.reason = reason;
  return own;
}

// Evicts these pods instead: indices of pods placed on the candidate's node, at least one. The array must be of
// plimsoll_alloc, a result, or static; an array of the function is gone before the host reads it.
PLIMSOLL_INLINE plimsoll_preemption plimsoll_replace(const uint32_t *pods, size_t count) {
  plimsoll_preemption own = PLIMSOLL_ZERO;
  own.kind = PLIMSOLL_REPLACE;
  own.pods.items = pods;
  own.pods.count = count;
  return own;
}

// The most annotations, and the most labels, that a pod can get as it is bound.
#define PLIMSOLL_MAX_METADATA 64

typedef struct {
  const plimsoll_pair *items;
  size_t count;
} plimsoll_list_pair;

// The answer of a bind: annotations and labels for the pod, or the reason why it is not bound.
typedef struct {
  uint8_t kind;
  plimsoll_str reason;
  plimsoll_pair *annotations, *labels;
  size_t annotation_count, label_count;
} plimsoll_binding;

enum { PLIMSOLL_BOUND, PLIMSOLL_REFUSED, PLIMSOLL_RETRY };

// The pod is bound; plimsoll_bind_annotation and plimsoll_bind_label add to it.
PLIMSOLL_INLINE plimsoll_binding plimsoll_bound(void) {
  plimsoll_binding own = PLIMSOLL_ZERO;
  return own;
}

// Not to this node as it is: kube-scheduler gets the reason and retries the pod after a back-off.
PLIMSOLL_INLINE plimsoll_binding plimsoll_refused(plimsoll_str reason) {
  plimsoll_binding own = PLIMSOLL_ZERO;
  own.kind = PLIMSOLL_REFUSED;
  own.reason = reason;
  return own;
}

// Not yet: the host asks again when a value that the policy has read changes, within the time of the request.
PLIMSOLL_INLINE plimsoll_binding plimsoll_retry(plimsoll_str reason) {
  plimsoll_binding own = plimsoll_refused(reason);
  own.kind = PLIMSOLL_RETRY;
  return own;
}

PLIMSOLL_INLINE void plimsoll_add_pair(plimsoll_pair **to, size_t *count, plimsoll_str key, plimsoll_str value) {
  if (*count == PLIMSOLL_MAX_METADATA) PLIMSOLL_PANIC(PLIMSOLL_STR("a pod gets at most 64 annotations and 64 labels"));
  if (!*to) *to = (plimsoll_pair *)plimsoll_alloc(PLIMSOLL_MAX_METADATA * sizeof(plimsoll_pair));
  (*to)[*count].key = key;
  (*to)[(*count)++].value = value;
}

// Adds an annotation; one that the pod has already is overwritten.
PLIMSOLL_INLINE void plimsoll_bind_annotation(plimsoll_binding *binding, plimsoll_str key, plimsoll_str value) {
  plimsoll_add_pair(&binding->annotations, &binding->annotation_count, key, value);
}

// Adds a label, by the rules of Kubernetes for labels. One that the pod has already with another value is not overwritten:
// the pod is not bound then. The API server must be of Kubernetes 1.35 or later.
PLIMSOLL_INLINE void plimsoll_bind_label(plimsoll_binding *binding, plimsoll_str key, plimsoll_str value) {
  plimsoll_add_pair(&binding->labels, &binding->label_count, key, value);
}

// ==== JSON ====
//
// For settings, and for the texts of plimsoll_pod_field and plimsoll_nodes_field. These functions rely on the host,
// which gives valid JSON; they are no check of it.

PLIMSOLL_LARGE plimsoll_str plimsoll_json_trimmed(plimsoll_str json) {
  while (json.len && (uint8_t)json.data[0] <= ' ') json.data++, json.len--;
  while (json.len && (uint8_t)json.data[json.len - 1] <= ' ') json.len--;
  return json;
}

// The length of the value at the beginning of a text, up to a comma, colon or bracket that is not within it.
PLIMSOLL_LARGE size_t plimsoll_json_len(plimsoll_str json) {
  size_t at = 0, depth = 0;
  for (bool in_string = false; at < json.len; at++) {
    char c = json.data[at];
    if (in_string) {
      if (c == '\\') at++;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      depth++;
    } else if (!depth && (c == ',' || c == ':' || c == '}' || c == ']')) {
      break;
    } else if (c == '}' || c == ']') {
      depth--;
    }
  }
  return at < json.len ? at : json.len;
}

// The items of a list or an object, one after another:
//   plimsoll_json items = plimsoll_json_items(json);
//   while (plimsoll_json_next(&items, &key, &value)) ...
typedef struct {
  plimsoll_str rest;
  bool is_object;
} plimsoll_json;

PLIMSOLL_INLINE plimsoll_json plimsoll_json_items(plimsoll_str json) {
  plimsoll_json own = PLIMSOLL_ZERO;
  json = plimsoll_json_trimmed(json);
  if (json.len < 2 || (json.data[0] != '{' && json.data[0] != '[')) return own;
  own.is_object = json.data[0] == '{';
  own.rest = plimsoll_json_trimmed(plimsoll_str_of(json.data + 1, json.len - 2));
  return own;
}

PLIMSOLL_LARGE plimsoll_str plimsoll_json_take(plimsoll_str *rest) {
  size_t len = plimsoll_json_len(*rest), step = len < rest->len ? len + 1 : len;
  plimsoll_str own = plimsoll_json_trimmed(plimsoll_str_of(rest->data, len));
  *rest = plimsoll_json_trimmed(plimsoll_str_of(rest->data + step, rest->len - step));
  return own;
}

// The text of a JSON string; false if the value is none.
PLIMSOLL_LARGE bool plimsoll_json_str(plimsoll_str json, plimsoll_str *out);

// The next item: its key, which a list does not have, and its JSON.
PLIMSOLL_INLINE bool plimsoll_json_next(plimsoll_json *items, plimsoll_str *key, plimsoll_str *value) {
  plimsoll_str none = PLIMSOLL_ZERO;
  *key = none;
  if (!items->rest.len) return false;
  if (items->is_object) plimsoll_json_str(plimsoll_json_take(&items->rest), key);
  *value = plimsoll_json_take(&items->rest);
  return true;
}

// A whole number; false if the value is none, or beyond 64 bits.
PLIMSOLL_INLINE bool plimsoll_json_int(plimsoll_str json, int64_t *out) {
  json = plimsoll_json_trimmed(json);
  bool is_negative = json.len && json.data[0] == '-';
  uint64_t number = 0, largest = (uint64_t)INT64_MAX + is_negative;
  if (json.len == is_negative) return false;
  for (size_t at = is_negative; at < json.len; at++) {
    uint64_t digit = (uint64_t)(json.data[at] - '0');
    if (digit > 9 || number > (largest - digit) / 10) return false;
    number = number * 10 + digit;
  }
  *out = is_negative ? (int64_t)(0 - number) : (int64_t)number;
  return true;
}

// `true` or `false`; false if the value is neither.
PLIMSOLL_INLINE bool plimsoll_json_bool(plimsoll_str json, bool *out) {
  json = plimsoll_json_trimmed(json);
  if (!json.len || (json.data[0] != 't' && json.data[0] != 'f')) return false;
  *out = json.data[0] == 't';
  return true;
}

PLIMSOLL_INLINE uint32_t plimsoll_json_hex(const char *digits) {
  uint32_t code = 0;
  for (int at = 0; at < 4; at++) {
    char c = digits[at];
    code = code << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  return code;
}

PLIMSOLL_INLINE char *plimsoll_json_put(char *to, uint32_t code) {
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 63));
  } else {
    if (code < 0x10000) {
      *to++ = (char)(0xe0 | code >> 12);
    } else {
      *to++ = (char)(0xf0 | code >> 18);
      *to++ = (char)(0x80 | (code >> 12 & 63));
    }
    *to++ = (char)(0x80 | (code >> 6 & 63));
    *to++ = (char)(0x80 | (code & 63));
  }
  return to;
}

PLIMSOLL_LARGE bool plimsoll_json_str(plimsoll_str json, plimsoll_str *out) {
  json = plimsoll_json_trimmed(json);
  if (json.len < 2 || json.data[0] != '"') return false;
  plimsoll_str inner = plimsoll_str_of(json.data + 1, json.len - 2);
  size_t at = 0;
  while (at < inner.len && inner.data[at] != '\\') at++;
  if (at == inner.len) {
    *out = inner;
    return true;
  }
  // An escape is never shorter than the character it stands for.
  char *text = (char *)plimsoll_alloc(inner.len), *to = text;
  for (at = 0; at < inner.len; at++) {
    char c = inner.data[at];
    if (c != '\\' || at + 1 == inner.len) {
      *to++ = c;
      continue;
    }
    c = inner.data[++at];
    if (c == 'u' && inner.len - at > 4) {
      uint32_t code = plimsoll_json_hex(inner.data + at + 1);
      at += 4;
      if (code >> 10 == 0x36 && inner.len - at > 6) {
        code = 0x10000 + ((code & 0x3ff) << 10 | (plimsoll_json_hex(inner.data + at + 3) & 0x3ff));
        at += 6;
      }
      to = plimsoll_json_put(to, code);
    } else {
      *to++ = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
    }
  }
  *out = plimsoll_str_of(text, (size_t)(to - text));
  return true;
}

// ==== Quantities ====

// The digits of a quantity from `first` to `end`, with a point among them or at their end. The suffix multiplies them by
// a power of two, in `shift`, and by a power of ten.
typedef struct {
  const char *data;
  size_t first, point, end;
  uint32_t shift;
  int64_t exponent;
} plimsoll_digits;

PLIMSOLL_INLINE bool plimsoll_read_digits(plimsoll_str text, plimsoll_digits *to) {
  size_t end = text.len && (text.data[0] == '-' || text.data[0] == '+'), point = SIZE_MAX, digits = 0;
  to->data = text.data;
  to->first = end;
  for (; end < text.len; end++) {
    char c = text.data[end];
    if (c == '.' && point == SIZE_MAX) point = end;
    else if (c >= '0' && c <= '9') digits++;
    else break;
  }
  to->point = point == SIZE_MAX ? end : point;
  to->end = end;
  return digits != 0;
}

PLIMSOLL_INLINE bool plimsoll_read_suffix(plimsoll_str suffix, plimsoll_digits *to) {
  static const char suffixes[] = "numkMGTPE";
  static const int8_t powers[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
  if (!suffix.len) return true;
  size_t at = 0;
  while (at < 9 && suffixes[at] != suffix.data[0]) at++;
  if (suffix.len == 1 && at < 9) {
    to->exponent = powers[at];
    return true;
  }
  if (suffix.len == 2 && suffix.data[1] == 'i' && (suffix.data[0] == 'K' || (at > 3 && at < 9))) {
    to->shift = 10 * (suffix.data[0] == 'K' ? 1 : (uint32_t)at - 2);
    return true;
  }
  plimsoll_str power = plimsoll_str_of(suffix.data + 1, suffix.len - 1);
  if (suffix.data[0] != 'e' && suffix.data[0] != 'E') return false;
  if (power.len > 1 && power.data[0] == '+' && power.data[1] != '-') power.data++, power.len--;
  return plimsoll_json_int(power, &to->exponent) && to->exponent >= INT32_MIN && to->exponent <= INT32_MAX;
}

// The digits before the point, as it is after the power of ten; `next` is the first digit of the rest. False if the number
// is too large.
PLIMSOLL_INLINE bool plimsoll_whole_part(const plimsoll_digits *of, uint64_t *whole, size_t *next) {
  int64_t before = (int64_t)(of->point - of->first) + of->exponent;
  *whole = 0;
  *next = of->first;
  for (int64_t at = 0; at < before; at++) {
    if (*next == of->point) ++*next;
    if (*next >= of->end && !*whole) break;
    uint64_t digit = *next < of->end ? (uint64_t)(of->data[(*next)++] - '0') : 0;
    if (*whole > (INT64_MAX - digit) / 10) return false;
    *whole = *whole * 10 + digit;
  }
  return true;
}

// Puts a digit before a fraction of units, both in limbs of 32 bits: (fraction + digit * unit) / 10. Returns whether there
// was a remainder.
PLIMSOLL_INLINE bool plimsoll_prepend_digit(uint64_t fraction[3], const uint64_t unit[3], uint64_t digit) {
  uint64_t carry = 0;
  for (int limb = 0; limb < 3; limb++) {
    carry += fraction[limb] + unit[limb] * digit;
    fraction[limb] = carry & UINT32_MAX;
    carry >>= 32;
  }
  for (int limb = 2; limb >= 0; limb--) {
    carry = carry << 32 | fraction[limb];
    fraction[limb] = carry / 10;
    carry %= 10;
  }
  return carry != 0;
}

// The digits from `next` on as a fraction of units, from the last one on. Returns whether it was rounded down.
PLIMSOLL_INLINE bool plimsoll_fraction(const plimsoll_digits *of, size_t next, const uint64_t unit[3], uint64_t fraction[3]) {
  int64_t before = (int64_t)(of->point - of->first) + of->exponent;
  bool has_more = false;
  for (size_t last = of->end; last > next;)
    if (--last != of->point) has_more |= plimsoll_prepend_digit(fraction, unit, (uint64_t)(of->data[last] - '0'));
  for (; before < 0 && (fraction[0] | fraction[1] | fraction[2]); before++)
    has_more |= plimsoll_prepend_digit(fraction, unit, 0);
  return has_more;
}

// Reads a quantity as Kubernetes does (512Mi, 500m, 3), in units of 1/per_unit: a fraction is rounded up, and a number
// that is too large is cut to the largest. False if the text is no quantity.
//
// Amounts of cpu are in millicores: compare them with per_unit 1000, and all other amounts with per_unit 1.
PLIMSOLL_LARGE bool plimsoll_quantity(plimsoll_str text, uint32_t per_unit, int64_t *out) {
  plimsoll_digits digits = PLIMSOLL_ZERO;
  if (!plimsoll_read_digits(text, &digits)) return false;
  if (!plimsoll_read_suffix(plimsoll_str_of(text.data + digits.end, text.len - digits.end), &digits)) return false;

  uint64_t unit[3], fraction[3] = {0, 0, 0}, whole;
  unit[0] = (digits.shift < 32 ? 1ull << digits.shift : 0) * per_unit;
  unit[1] = (digits.shift >= 32 ? 1ull << (digits.shift - 32) : 0) * per_unit + (unit[0] >> 32);
  unit[2] = unit[1] >> 32;
  unit[0] &= UINT32_MAX, unit[1] &= UINT32_MAX;
  size_t next;
  bool is_cut = !plimsoll_whole_part(&digits, &whole, &next);
  bool has_more = !is_cut && plimsoll_fraction(&digits, next, unit, fraction);

  uint64_t factor = unit[1] << 32 | unit[0], rest = fraction[1] << 32 | fraction[0], value = INT64_MAX;
  is_cut = is_cut || fraction[2] || rest >= INT64_MAX || (whole && (unit[2] || whole > INT64_MAX / factor));
  if (!is_cut) {
    rest += has_more;
    value = rest > INT64_MAX - whole * factor ? INT64_MAX : whole * factor + rest;
  }
  *out = text.data[0] == '-' ? -(int64_t)value : (int64_t)value;
  return true;
}

// ==== Settings ====
//
// The `settings` of the sidecar, read once for each instance of the module into variables of the policy:
//
//   static plimsoll_str annotation = PLIMSOLL_STR_INIT("example.com/needs");
//   static int64_t limit = 10;
//
//   static void settings(plimsoll_settings *from) {
//     plimsoll_setting_str(from, PLIMSOLL_STR("annotation"), &annotation);
//     plimsoll_setting_int(from, PLIMSOLL_STR("limit"), &limit);
//     if (limit < 1) plimsoll_refuse_settings(from, PLIMSOLL_STR("limit: expected 1 or more"));
//   }
//   PLIMSOLL_SETTINGS(settings);
//
// A setting that is not given keeps the value of its variable. A setting of another type, and one that is asked for by
// no getter, is an error, which the operator sees as the policy is loaded.

// The most names that a policy may ask for.
#define PLIMSOLL_MAX_SETTINGS 32

typedef struct {
  plimsoll_str json;
  // The first error; empty if there is none.
  plimsoll_str error;
  plimsoll_str names[PLIMSOLL_MAX_SETTINGS];
  size_t count;
} plimsoll_settings;

// Refuses the settings. The text says which setting is wrong; the first one counts.
PLIMSOLL_INLINE void plimsoll_refuse_settings(plimsoll_settings *from, plimsoll_str error) {
  if (!from->error.len) from->error = error;
}

// The JSON of a setting of any type; `null` is given, too, and the getters of one type refuse it.
PLIMSOLL_LARGE bool plimsoll_setting_json(plimsoll_settings *from, plimsoll_str name, plimsoll_str *out) {
  if (from->count == PLIMSOLL_MAX_SETTINGS) PLIMSOLL_PANIC(PLIMSOLL_STR("a policy asks for at most 32 settings"));
  from->names[from->count++] = name;
  plimsoll_json items = plimsoll_json_items(from->json);
  plimsoll_str key, value;
  while (plimsoll_json_next(&items, &key, &value)) {
    if (!plimsoll_str_eq(key, name)) continue;
    *out = value;
    return true;
  }
  return false;
}

// The kind of a JSON value, with its article.
PLIMSOLL_INLINE plimsoll_str plimsoll_json_kind(plimsoll_str json) {
  switch (json.len ? json.data[0] : 0) {
    case '"': return PLIMSOLL_STR("a string");
    case '[': return PLIMSOLL_STR("a list");
    case '{': return PLIMSOLL_STR("an object");
    case 'n': return PLIMSOLL_STR("null");
    case 't': case 'f': return PLIMSOLL_STR("true or false");
    default: return PLIMSOLL_STR("a number");
  }
}

// Refuses a setting: "limit: expected a whole number, found a string".
PLIMSOLL_LARGE bool plimsoll_unexpected_setting(plimsoll_settings *from, plimsoll_str name, plimsoll_str expected, plimsoll_str found) {
  plimsoll_text text = PLIMSOLL_ZERO;
  plimsoll_add(&text, name);
  plimsoll_add(&text, PLIMSOLL_STR(": expected "));
  plimsoll_add(&text, expected);
  plimsoll_add(&text, PLIMSOLL_STR(", found "));
  plimsoll_add(&text, found);
  plimsoll_refuse_settings(from, plimsoll_text_str(&text));
  return false;
}

// Refuses a setting that has the wrong type.
PLIMSOLL_INLINE bool plimsoll_wrong_setting(plimsoll_settings *from, plimsoll_str name, plimsoll_str expected, plimsoll_str json) {
  return plimsoll_unexpected_setting(from, name, expected, plimsoll_json_kind(json));
}

// Refuses a setting that is no whole number of 64 bits.
PLIMSOLL_LARGE bool plimsoll_wrong_int(plimsoll_settings *from, plimsoll_str name, plimsoll_str json) {
  size_t at = json.len && json.data[0] == '-';
  while (at < json.len && json.data[at] >= '0' && json.data[at] <= '9') at++;
  if (at < json.len) return plimsoll_wrong_setting(from, name, PLIMSOLL_STR("a whole number"), json);
  plimsoll_str limits = PLIMSOLL_STR("a whole number from -9223372036854775808 to 9223372036854775807");
  return plimsoll_unexpected_setting(from, name, limits, json);
}

// A setting that is a string; returns whether it is given. A setting that is not given leaves the variable as it is.
PLIMSOLL_INLINE bool plimsoll_setting_str(plimsoll_settings *from, plimsoll_str name, plimsoll_str *out) {
  plimsoll_str json;
  if (!plimsoll_setting_json(from, name, &json)) return false;
  return plimsoll_json_str(json, out) || plimsoll_wrong_setting(from, name, PLIMSOLL_STR("a string"), json);
}

// A setting that is a whole number.
PLIMSOLL_INLINE bool plimsoll_setting_int(plimsoll_settings *from, plimsoll_str name, int64_t *out) {
  plimsoll_str json;
  if (!plimsoll_setting_json(from, name, &json)) return false;
  return plimsoll_json_int(json, out) || plimsoll_wrong_int(from, name, json);
}

// A setting that is true or false.
PLIMSOLL_INLINE bool plimsoll_setting_bool(plimsoll_settings *from, plimsoll_str name, bool *out) {
  plimsoll_str json;
  if (!plimsoll_setting_json(from, name, &json)) return false;
  return plimsoll_json_bool(json, out) || plimsoll_wrong_setting(from, name, PLIMSOLL_STR("true or false"), json);
}

// A setting that is a quantity, as text or as a bare number; per_unit as for plimsoll_quantity.
PLIMSOLL_INLINE bool plimsoll_setting_quantity(plimsoll_settings *from, plimsoll_str name, uint32_t per_unit, int64_t *out) {
  plimsoll_str json, text;
  if (!plimsoll_setting_json(from, name, &json)) return false;
  if (!plimsoll_json_str(json, &text)) text = json;
  return plimsoll_quantity(text, per_unit, out) ||
         plimsoll_wrong_setting(from, name, PLIMSOLL_STR("a quantity such as 512Mi"), json);
}

// Refuses settings that lack one: "the field pool is missing". To be called after its getter returned false.
PLIMSOLL_INLINE void plimsoll_missing_setting(plimsoll_settings *from, plimsoll_str name) {
  plimsoll_text text = PLIMSOLL_ZERO;
  plimsoll_add(&text, PLIMSOLL_STR("the field "));
  plimsoll_add(&text, name);
  plimsoll_add(&text, PLIMSOLL_STR(" is missing"));
  plimsoll_refuse_settings(from, plimsoll_text_str(&text));
}

// Refuses the first key that no getter asked for.
PLIMSOLL_INLINE void plimsoll_refuse_unknown_settings(plimsoll_settings *from) {
  plimsoll_json items = plimsoll_json_items(from->json);
  plimsoll_str key, value;
  while (plimsoll_json_next(&items, &key, &value)) {
    size_t at = 0;
    while (at < from->count && !plimsoll_str_eq(from->names[at], key)) at++;
    if (at < from->count) continue;
    plimsoll_text text = PLIMSOLL_ZERO;
    plimsoll_add(&text, PLIMSOLL_STR("there is no field "));
    plimsoll_add(&text, key);
    plimsoll_add(&text, PLIMSOLL_STR("; expected "));
    for (at = 0; at < from->count; at++) {
      if (at) plimsoll_add(&text, PLIMSOLL_STR(", "));
      plimsoll_add(&text, from->names[at]);
    }
    if (!from->count) plimsoll_add(&text, PLIMSOLL_STR("none"));
    plimsoll_refuse_settings(from, plimsoll_text_str(&text));
  }
}

// Reads settings by the function of the policy; the error is empty if they are accepted.
PLIMSOLL_INLINE plimsoll_str plimsoll_read_settings(plimsoll_str json, void (*function)(plimsoll_settings *)) {
  plimsoll_settings own = PLIMSOLL_ZERO;
  own.json = plimsoll_json_trimmed(json);
  if (own.json.len && own.json.data[0] != '{' && own.json.data[0] != 'n')
    plimsoll_wrong_setting(&own, PLIMSOLL_STR("the settings"), PLIMSOLL_STR("an object"), own.json);
  function(&own);
  plimsoll_refuse_unknown_settings(&own);
  return own.error;
}

// ==== Verbs ====
//
// A module has the verbs that it names, each with a function of the policy:
//
//   PLIMSOLL_FILTER(f);    plimsoll_verdict f(uint32_t node)
//   PLIMSOLL_SCORE(f);     uint32_t f(uint32_t node)                     0 to 100; higher is better
//   PLIMSOLL_RANK(f);      void f(uint32_t *scores, uint32_t count)      one for each node, all 0 at first
//   PLIMSOLL_PREEMPT(f);   plimsoll_preemption f(uint32_t candidate)
//   PLIMSOLL_BIND(f);      plimsoll_binding f(uint32_t node)
//   PLIMSOLL_SETTINGS(f);  void f(plimsoll_settings *from)

#ifndef __wasm__

// A native build only checks the types; its test calls the functions by plimsoll_test.h.
#define PLIMSOLL_NATIVE(type, function)                                                                          \
  __attribute__((unused)) static type = function;                                                                      \
  PLIMSOLL_ASSERT(true, "so that a semicolon follows")
#define PLIMSOLL_FILTER(f) PLIMSOLL_NATIVE(plimsoll_verdict (*const plimsoll_native_filter)(uint32_t), f)
#define PLIMSOLL_SCORE(f) PLIMSOLL_NATIVE(uint32_t (*const plimsoll_native_score)(uint32_t), f)
#define PLIMSOLL_RANK(f) PLIMSOLL_NATIVE(void (*const plimsoll_native_rank)(uint32_t *, uint32_t), f)
#define PLIMSOLL_PREEMPT(f) PLIMSOLL_NATIVE(plimsoll_preemption (*const plimsoll_native_preempt)(uint32_t), f)
#define PLIMSOLL_BIND(f) PLIMSOLL_NATIVE(plimsoll_binding (*const plimsoll_native_bind)(uint32_t), f)
#define PLIMSOLL_SETTINGS(f) PLIMSOLL_NATIVE(void (*const plimsoll_native_settings)(plimsoll_settings *), f)

#else

// Memory of a call is taken from blocks, one after another, and all of it is free again as the next call begins. Blocks
// after the first are whole new pages, so another allocator may grow the memory as well.
typedef struct plimsoll_block {
  struct plimsoll_block *next;
  size_t size, used, padding;
} plimsoll_block;

#define PLIMSOLL_PAGE 65536
#define PLIMSOLL_FIRST_BLOCK (32 * 1024)

PLIMSOLL_SHARED uint64_t plimsoll_first[PLIMSOLL_FIRST_BLOCK / 8];
PLIMSOLL_SHARED plimsoll_block *plimsoll_current;
// The memory that the settings keep, and whether they have been read.
PLIMSOLL_SHARED plimsoll_block *plimsoll_kept_block;
PLIMSOLL_SHARED size_t plimsoll_kept;
PLIMSOLL_SHARED bool plimsoll_is_ready;

// Memory that is not filled with 0.
PLIMSOLL_LARGE void *plimsoll_take(size_t size, size_t align) {
  if (!plimsoll_current) {
    plimsoll_current = (plimsoll_block *)(void *)plimsoll_first;
    plimsoll_current->size = sizeof plimsoll_first - sizeof(plimsoll_block);
  }
  for (;;) {
    plimsoll_block *block = plimsoll_current;
    size_t at = (block->used + align - 1) & ~(align - 1);
    if (at <= block->size && size <= block->size - at) {
      block->used = at + size;
      return (uint8_t *)(block + 1) + at;
    }
    if (!block->next) {
      if (size > SIZE_MAX - 2 * PLIMSOLL_PAGE) __builtin_trap();
      size_t pages = (size + sizeof(plimsoll_block) + PLIMSOLL_PAGE - 1) / PLIMSOLL_PAGE;
      size_t old = __builtin_wasm_memory_grow(0, pages);
      if (old == SIZE_MAX) __builtin_trap();
      block->next = (plimsoll_block *)(old * PLIMSOLL_PAGE);
      block->next->next = NULL;
      block->next->size = pages * PLIMSOLL_PAGE - sizeof(plimsoll_block);
    }
    block->next->used = 0;
    plimsoll_current = block->next;
  }
}

// The host asks for memory by this name, for each text and list that a read returns.
__attribute__((export_name("cabi_realloc"))) PLIMSOLL_SHARED void *plimsoll_realloc(void *old, size_t old_size, size_t align,
                                                                                    size_t size) {
  (void)old, (void)old_size;
  return plimsoll_take(size, align);
}

PLIMSOLL_INLINE void *plimsoll_alloc(size_t size) {
  uint8_t *own = (uint8_t *)plimsoll_take(size, 8);
  for (size_t at = 0; at < size; at++) own[at] = 0;
  return own;
}

// Reads the settings by the function of PLIMSOLL_SETTINGS; NULL where a policy has none.
extern __attribute__((weak)) plimsoll_str plimsoll_own_settings(void);

// Begins the call of a verb; returns the error in the settings, or an empty text.
PLIMSOLL_INLINE plimsoll_str plimsoll_begin(void) {
  plimsoll_str error = PLIMSOLL_ZERO;
  if (plimsoll_is_ready) {
    plimsoll_current = plimsoll_kept_block;
    plimsoll_current->used = plimsoll_kept;
    return error;
  }
  plimsoll_take(0, 1);
  if (plimsoll_own_settings) error = plimsoll_own_settings();
  plimsoll_kept_block = plimsoll_current;
  plimsoll_kept = plimsoll_current->used;
  plimsoll_is_ready = !error.len;
  return error;
}

PLIMSOLL_INLINE void plimsoll_begin_verb(void) {
  plimsoll_str error = plimsoll_begin();
  if (error.len) plimsoll_host_panic(error);
}

// Answers as the host reads them.
typedef struct {
  uint8_t kind;
  union {
    plimsoll_str text;
    plimsoll_list_u32 pods;
    struct {
      plimsoll_list_pair annotations, labels;
    } metadata;
    struct {
      uint8_t kind;
      plimsoll_str reason;
    } not_bound;
  } of;
} plimsoll_answer;

PLIMSOLL_ASSERT(sizeof(plimsoll_verdict) == 12, "the layout of plimsoll_verdict");
PLIMSOLL_ASSERT(sizeof(plimsoll_answer) == 20, "the layout of plimsoll_answer");

PLIMSOLL_SHARED plimsoll_answer plimsoll_last_answer;
PLIMSOLL_SHARED plimsoll_verdict plimsoll_last_verdict;
PLIMSOLL_SHARED plimsoll_list_u32 plimsoll_last_scores;

PLIMSOLL_INLINE void *plimsoll_lower_verdict(plimsoll_verdict own) {
  plimsoll_last_verdict = own;
  return &plimsoll_last_verdict;
}

PLIMSOLL_INLINE void *plimsoll_lower_preemption(plimsoll_preemption own) {
  plimsoll_last_answer.kind = own.kind;
  if (own.kind == PLIMSOLL_REPLACE) plimsoll_last_answer.of.pods = own.pods;
  else plimsoll_last_answer.of.text = own.reason;
  return &plimsoll_last_answer;
}

PLIMSOLL_INLINE void *plimsoll_lower_binding(plimsoll_binding own) {
  plimsoll_last_answer.kind = own.kind != PLIMSOLL_BOUND;
  if (own.kind == PLIMSOLL_BOUND) {
    plimsoll_last_answer.of.metadata.annotations.items = own.annotations;
    plimsoll_last_answer.of.metadata.annotations.count = own.annotation_count;
    plimsoll_last_answer.of.metadata.labels.items = own.labels;
    plimsoll_last_answer.of.metadata.labels.count = own.label_count;
  } else {
    plimsoll_last_answer.of.not_bound.kind = own.kind == PLIMSOLL_RETRY;
    plimsoll_last_answer.of.not_bound.reason = own.reason;
  }
  return &plimsoll_last_answer;
}

PLIMSOLL_INLINE void *plimsoll_lower_error(plimsoll_str error) {
  plimsoll_last_answer.kind = error.len != 0;
  plimsoll_last_answer.of.text = error;
  return &plimsoll_last_answer;
}

PLIMSOLL_INLINE void *plimsoll_lower_scores(void (*rank)(uint32_t *, uint32_t)) {
  uint32_t count = plimsoll_nodes_count();
  uint32_t *scores = (uint32_t *)plimsoll_alloc(count * sizeof(uint32_t));
  rank(scores, count);
  plimsoll_last_scores.items = scores;
  plimsoll_last_scores.count = count;
  return &plimsoll_last_scores;
}

#ifdef __cplusplus
#define PLIMSOLL_C extern "C"
#else
#define PLIMSOLL_C
#endif
#define PLIMSOLL_EXPORT(interface, name)                                                                               \
  PLIMSOLL_C __attribute__((export_name(PLIMSOLL_PACKAGE "/" interface "@" PLIMSOLL_VERSION "#" name)))
#define PLIMSOLL_VERB(interface, name, result, parameters, answer)                                                     \
  PLIMSOLL_C result plimsoll_export_##name parameters;                                                                 \
  PLIMSOLL_EXPORT(interface, #name) result plimsoll_export_##name parameters {                                         \
    plimsoll_begin_verb();                                                                                             \
    return answer;                                                                                                     \
  }                                                                                                                    \
  PLIMSOLL_ASSERT(true, "so that a semicolon follows")

#define PLIMSOLL_FILTER(f) PLIMSOLL_VERB("filter", filter, void *, (uint32_t node), plimsoll_lower_verdict(f(node)))
#define PLIMSOLL_SCORE(f) PLIMSOLL_VERB("score", score, uint32_t, (uint32_t node), f(node))
#define PLIMSOLL_RANK(f) PLIMSOLL_VERB("rank", rank, void *, (void), plimsoll_lower_scores(f))
#define PLIMSOLL_PREEMPT(f)                                                                                            \
  PLIMSOLL_VERB("preempt", preempt, void *, (uint32_t candidate), plimsoll_lower_preemption(f(candidate)))
#define PLIMSOLL_BIND(f) PLIMSOLL_VERB("binding", bind, void *, (uint32_t node), plimsoll_lower_binding(f(node)))
#define PLIMSOLL_SETTINGS(f)                                                                                           \
  PLIMSOLL_C plimsoll_str plimsoll_own_settings(void) { return plimsoll_read_settings(plimsoll_host_settings(), f); }  \
  PLIMSOLL_C void *plimsoll_export_validate(void);                                                                     \
  PLIMSOLL_EXPORT("validate", "validate") void *plimsoll_export_validate(void) {                                       \
    return plimsoll_lower_error(plimsoll_begin());                                                                     \
  }                                                                                                                    \
  PLIMSOLL_ASSERT(true, "so that a semicolon follows")

// Clang calls these for large values, whatever the flags; a libc that is linked has precedence.
PLIMSOLL_SHARED __attribute__((no_builtin)) void *memcpy(void *to, const void *from, size_t count) {
  for (size_t at = 0; at < count; at++) ((uint8_t *)to)[at] = ((const uint8_t *)from)[at];
  return to;
}

PLIMSOLL_SHARED __attribute__((no_builtin)) void *memset(void *to, int byte, size_t count) {
  for (size_t at = 0; at < count; at++) ((uint8_t *)to)[at] = (uint8_t)byte;
  return to;
}

PLIMSOLL_SHARED __attribute__((no_builtin)) void *memmove(void *to, const void *from, size_t count) {
  uint8_t *out = (uint8_t *)to;
  const uint8_t *in = (const uint8_t *)from;
  for (size_t at = 0; at < count && out < in; at++) out[at] = in[at];
  for (size_t at = count; at > 0 && out > in; at--) out[at - 1] = in[at - 1];
  return to;
}

PLIMSOLL_SHARED __attribute__((no_builtin)) int memcmp(const void *a, const void *b, size_t count) {
  const uint8_t *left = (const uint8_t *)a, *right = (const uint8_t *)b;
  for (size_t at = 0; at < count; at++)
    if (left[at] != right[at]) return left[at] - right[at];
  return 0;
}

#endif  // __wasm__

#ifdef __cplusplus
}
#endif

#endif  // PLIMSOLL_H
