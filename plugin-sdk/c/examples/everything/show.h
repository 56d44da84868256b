// Shows values as Rust does: ("a", Some(1), None).
#include "plimsoll.h"

static void raw(plimsoll_text *to, const char *text) {
  size_t len = 0;
  while (text[len]) len++;
  plimsoll_add(to, plimsoll_str_of(text, len));
}

static void show_str(plimsoll_text *to, plimsoll_str text) {
  raw(to, "\"");
  for (size_t at = 0; at < text.len; at++) {
    if (text.data[at] == '"' || text.data[at] == '\\') raw(to, "\\");
    plimsoll_add(to, plimsoll_str_of(text.data + at, 1));
  }
  raw(to, "\"");
}

static void show_bool(plimsoll_text *to, bool value) { raw(to, value ? "true" : "false"); }

static void show_taint(plimsoll_text *to, plimsoll_taint own) {
  raw(to, "Taint { key: ");
  show_str(to, own.key);
  raw(to, ", value: ");
  show_str(to, own.value);
  raw(to, ", effect: ");
  show_str(to, own.effect);
  raw(to, " }");
}

static void show_label_count(plimsoll_text *to, plimsoll_label_count own) {
  raw(to, "LabelCount { value: ");
  show_str(to, own.value);
  raw(to, ", nodes: ");
  plimsoll_add_uint(to, own.nodes);
  raw(to, " }");
}

static void show_owner(plimsoll_text *to, plimsoll_owner own) {
  raw(to, "Owner { api_version: ");
  show_str(to, own.api_version);
  raw(to, ", kind: ");
  show_str(to, own.kind);
  raw(to, ", name: ");
  show_str(to, own.name);
  raw(to, ", uid: ");
  show_str(to, own.uid);
  raw(to, " }");
}

// Shows each item of a list.
#define SHOW_LIST(to, list, show)                        \
  do {                                                   \
    raw(to, "[");                                        \
    for (size_t item = 0; item < (list).count; item++) { \
      if (item) raw(to, ", ");                           \
      show(to, (list).items[item]);                      \
    }                                                    \
    raw(to, "]");                                        \
  } while (0)

static void show_label_counts(plimsoll_text *to, plimsoll_list_label_count own) { SHOW_LIST(to, own, show_label_count); }

// Shows the value of a read that may have none; `out` is the variable that the read writes.
#define SHOW_SOME(to, read, out, show)      \
  do {                                      \
    if (read) {                             \
      raw(to, "Some(");                     \
      show(to, out);                        \
      raw(to, ")");                         \
    } else {                                \
      raw(to, "None");                      \
    }                                       \
  } while (0)
