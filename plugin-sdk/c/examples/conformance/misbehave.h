// The ways to fail, and the limits.
#include "tell.h"

// Volatile, or the compiler would remove the code that writes it.
static volatile uint32_t sink;

static uint32_t recursion(uint32_t depth) {
  volatile uint32_t own[64];
  own[depth % 64] = depth;
  return depth == UINT32_MAX ? 0 : recursion(depth + 1) + own[sink % 64];
}

static void log_each_level(plimsoll_text *to) {
  plimsoll_host_log(PLIMSOLL_DEBUG, PLIMSOLL_STR("é at level debug"));
  plimsoll_host_log(PLIMSOLL_INFO, PLIMSOLL_STR("é at level info"));
  plimsoll_host_log(PLIMSOLL_WARN, PLIMSOLL_STR("é at level warn"));
  plimsoll_host_log(PLIMSOLL_ERROR, PLIMSOLL_STR("é at level error"));
  raw(to, "lines=4");
}

static void log_flood(plimsoll_text *to) {
  for (uint32_t line = 0; line < 10000; line++) plimsoll_host_log(PLIMSOLL_INFO, PLIMSOLL_STR("one line of many"));
  raw(to, "lines=10000");
}

static bool is_topic(const char *name);

// Fails as the topic says, or reaches a limit without a fault.
static void misbehave(plimsoll_text *to, uint32_t node) {
  plimsoll_str text;
  if (is_topic("log")) {
    log_each_level(to);
    return;
  }
  if (is_topic("log-flood")) {
    log_flood(to);
    return;
  }
  if (is_topic("long-reason")) {
    for (int at = 0; at < 2000; at++) raw(to, "x");
    return;
  }
  if (is_topic("loop"))
    for (;;) sink++;
  if (is_topic("memory"))
    for (;;) sink += (uint32_t)(size_t)plimsoll_alloc(1 << 20);
  if (is_topic("recursion")) sink = recursion(0);
  if (is_topic("trap")) __builtin_trap();
  if (is_topic("missing-node")) plimsoll_nodes_name(1000);
  if (is_topic("missing-pod")) plimsoll_placed_name(node, 1000);
  if (is_topic("foreign-source")) plimsoll_facts_text(PLIMSOLL_STR("foreign"), PLIMSOLL_STR("key"), &text);
  plimsoll_text message = PLIMSOLL_ZERO;
  raw(&message, "no ");
  plimsoll_add(&message, plimsoll_nodes_name(node));
  raw(&message, " here");
  PLIMSOLL_PANIC(plimsoll_text_str(&message));
}
