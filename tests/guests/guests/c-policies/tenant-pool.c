// The sample policy tenant-pool in C.
#include "plimsoll.h"

static plimsoll_str label = PLIMSOLL_STR_INIT("example.com/pool");
// The JSON of an object and of a list.
static plimsoll_str pools, shared;

static bool is_shared(plimsoll_str pool) {
  plimsoll_json items = plimsoll_json_items(shared);
  plimsoll_str none, value, own;
  while (plimsoll_json_next(&items, &none, &value))
    if (plimsoll_json_str(value, &own) && plimsoll_str_eq(own, pool)) return true;
  return false;
}

static void settings(plimsoll_settings *from) {
  plimsoll_setting_str(from, PLIMSOLL_STR("label"), &label);
  if (!plimsoll_setting_json(from, PLIMSOLL_STR("pools"), &pools)) plimsoll_missing_setting(from, PLIMSOLL_STR("pools"));
  plimsoll_setting_json(from, PLIMSOLL_STR("shared"), &shared);
  plimsoll_json items = plimsoll_json_items(pools);
  plimsoll_str namespace_, value, pool;
  while (plimsoll_json_next(&items, &namespace_, &value)) {
    if (!plimsoll_json_str(value, &pool) || !is_shared(pool)) continue;
    plimsoll_text text = PLIMSOLL_ZERO;
    plimsoll_add(&text, PLIMSOLL_STR("pools."));
    plimsoll_add(&text, namespace_);
    plimsoll_add(&text, PLIMSOLL_STR(": the pool '"));
    plimsoll_add(&text, pool);
    plimsoll_add(&text, PLIMSOLL_STR("' is shared, so it is no one's"));
    plimsoll_refuse_settings(from, plimsoll_text_str(&text));
  }
}
PLIMSOLL_SETTINGS(settings);

static plimsoll_verdict tenant_pool(uint32_t node) {
  plimsoll_str pool, key, value, own;
  bool has_pool = plimsoll_nodes_label(node, label, &pool), has_own = false, fits = false, is_owned = false;
  if (has_pool && is_shared(pool)) return plimsoll_fits();
  plimsoll_str namespace_ = plimsoll_pod_namespace();
  plimsoll_json items = plimsoll_json_items(pools);
  while (plimsoll_json_next(&items, &key, &value)) {
    bool is_same = plimsoll_json_str(value, &own) && has_pool && plimsoll_str_eq(own, pool);
    is_owned |= is_same;
    if (!plimsoll_str_eq(key, namespace_)) continue;
    has_own = true;
    fits = is_same;
  }
  if (has_own && !fits) return plimsoll_unresolvable(PLIMSOLL_STR("node is outside the namespace's pool"));
  if (!has_own && is_owned) return plimsoll_unresolvable(PLIMSOLL_STR("node is in another tenant's pool"));
  return plimsoll_fits();
}
PLIMSOLL_FILTER(tenant_pool);
