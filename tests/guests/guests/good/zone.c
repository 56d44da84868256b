// The policy of zone.wat in C.
#include "plimsoll.h"

static plimsoll_verdict filter(uint32_t node) {
  plimsoll_str zone;
  if (!plimsoll_nodes_label(node, PLIMSOLL_STR("zone"), &zone)) return plimsoll_unresolvable(PLIMSOLL_STR("no zone"));
  if (plimsoll_str_eq(zone, PLIMSOLL_STR("a"))) return plimsoll_fits();
  return plimsoll_unschedulable(PLIMSOLL_STR("not in zone a"));
}
PLIMSOLL_FILTER(filter);
