// Lines of key=value; a value that is absent is `-`.
#include "plimsoll.h"

static void raw(plimsoll_text *to, const char *text) {
  size_t len = 0;
  while (text[len]) len++;
  plimsoll_add(to, plimsoll_str_of(text, len));
}

static void show_bool(plimsoll_text *to, bool value) { raw(to, value ? "true" : "false"); }

// Not every language writes a fraction in the same way, so a number is shown in thousandths.
static void show_double(plimsoll_text *to, double value) { plimsoll_add_int(to, (int64_t)(value * 1000)); }

static void show_taint(plimsoll_text *to, plimsoll_taint own) {
  plimsoll_add(to, own.key);
  raw(to, "=");
  plimsoll_add(to, own.value);
  raw(to, ":");
  plimsoll_add(to, own.effect);
}

static void show_label_count(plimsoll_text *to, plimsoll_label_count own) {
  plimsoll_add(to, own.value);
  raw(to, ":");
  plimsoll_add_uint(to, own.nodes);
}

static void show_owner(plimsoll_text *to, plimsoll_owner own) {
  const plimsoll_str parts[] = {own.api_version, own.kind, own.name, own.uid};
  for (size_t at = 0; at < 4; at++) {
    if (at) raw(to, " ");
    plimsoll_add(to, parts[at]);
  }
}

// Shows each item of a list, with spaces between.
#define SHOW_LIST(to, list, show)                        \
  do {                                                   \
    for (size_t item = 0; item < (list).count; item++) { \
      if (item) raw(to, " ");                            \
      show(to, (list).items[item]);                      \
    }                                                    \
  } while (0)

static void show_label_counts(plimsoll_text *to, plimsoll_list_label_count own) { SHOW_LIST(to, own, show_label_count); }

// Begins a line.
static void key(plimsoll_text *to, const char *name) {
  if (to->len) raw(to, "\n");
  raw(to, name);
  raw(to, "=");
}

// A line with the value of a read that has one always.
#define LINE(to, name, value, show) \
  do {                              \
    key(to, name);                  \
    show(to, value);                \
  } while (0)

// A line with the value of a read that may have none; `out` is the variable that the read writes.
#define SOME(to, name, read, out, show) \
  do {                                  \
    key(to, name);                      \
    if (read) show(to, out);            \
    else raw(to, "-");                  \
  } while (0)
