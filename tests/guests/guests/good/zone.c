// The policy of zone.wat in plain C: no libc, no SDK, the canonical ABI by hand.
#include <stdint.h>

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))
#define TEXT(s) s, sizeof(s) - 1

// An option<string> or a verdict: which case, and its text if it has one.
typedef struct {
  uint8_t which;
  const char *text;
  uint32_t len;
} Case;

IMPORT("plimsoll:policy/nodes@0.1.0", "label")
void node_label(uint32_t node, const char *key, uint32_t len, Case *ret);

static char heap[65536];
static uint32_t top;
static Case verdict;

EXPORT("cabi_realloc")
void *cabi_realloc(void *old, uint32_t old_size, uint32_t align, uint32_t size) {
  uint32_t at = (top + align - 1) & ~(align - 1);
  if (size > sizeof heap - at) __builtin_trap();
  top = at + size;
  return heap + at;
}

EXPORT("plimsoll:policy/filter@0.1.0#filter")
Case *filter(uint32_t node) {
  Case zone;
  top = 0;
  node_label(node, TEXT("zone"), &zone);
  if (!zone.which)
    verdict = (Case){2, TEXT("no zone")};
  else if (zone.len == 1 && zone.text[0] == 'a')
    verdict = (Case){0};
  else
    verdict = (Case){1, TEXT("not in zone a")};
  return &verdict;
}
