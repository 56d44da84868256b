#include "numa-fit.c"
#include "plimsoll_test.h"

// Two zones of 8 cores and 16 GiB. Pods take 6 cores of zone 0, and 12 GiB of zone 1.
static const plimsoll_test_world world = {
    .pod = {.name = "p", .requests = {{"cpu", "4"}, {"memory", "4Gi"}}},
    .nodes = {
        {.name = "node",
         .annotations = {{"example.com/numa-zones", "cpu=8,memory=16Gi; cpu=8, memory=16Gi"}},
         .pods = {{.name = "a", .annotations = {{"example.com/numa-zone", "0"}}, .requests = {{"cpu", "6"}}},
                  {.name = "b", .annotations = {{"example.com/numa-zone", "1"}}, .requests = {{"memory", "12Gi"}}}}},
        {.name = "bare", .allocatable = {{"cpu", "16"}, {"memory", "8Gi"}}},
    }};

static plimsoll_str refusal(const plimsoll_test_world *of, const char *node) {
  return plimsoll_test_filter(of, filter, node).reason;
}

// The answer for a node with these zones and a pod that asks for a core.
static plimsoll_str refusal_with(const char *zones) {
  plimsoll_test_world own = {.pod = {.name = "p", .requests = {{"cpu", "1"}, {"gpu", "1"}}}};
  own.nodes[0].name = "node";
  own.nodes[0].annotations[0] = (plimsoll_test_entry){"example.com/numa-zones", zones};
  return refusal(&own, "node");
}

static void a_request_must_fit_into_one_zone_and_not_only_into_the_node(void) {
  PLIMSOLL_CHECK_STR(refusal(&world, "node"), "");
  plimsoll_test_world own = world;
  own.pod.requests[1].value = "5Gi";
  PLIMSOLL_CHECK_STR(refusal(&own, "node"), "no NUMA zone of the node has room for the pod");
  PLIMSOLL_CHECK(plimsoll_test_filter(&own, filter, "node").kind == PLIMSOLL_UNSCHEDULABLE);
  own.pod.requests[0].value = "2";
  PLIMSOLL_CHECK_STR(refusal(&own, "node"), "");
  own.pod.requests[0].value = "9";
  PLIMSOLL_CHECK_STR(refusal(&own, "node"), "pod is larger than each NUMA zone of the node");
  PLIMSOLL_CHECK(plimsoll_test_filter(&own, filter, "node").kind == PLIMSOLL_UNRESOLVABLE);
}

static void a_pod_without_a_zone_is_taken_to_be_in_each(void) {
  const char *const zones[] = {NULL, "2", "-1", "one", ""};
  for (size_t at = 0; at < sizeof zones / sizeof *zones; at++) {
    plimsoll_test_world own = world;
    own.nodes[0].pods[2] = (plimsoll_test_pod){.name = "c", .requests = {{"memory", "1"}}};
    own.nodes[0].pods[2].annotations[0] = (plimsoll_test_entry){zones[at] ? "example.com/numa-zone" : NULL, zones[at]};
    PLIMSOLL_CHECK_STR(refusal(&own, "node"), "no NUMA zone of the node has room for the pod");
    own.nodes[0].pods[2].annotations[0] = (plimsoll_test_entry){"example.com/numa-zone", "0"};
    PLIMSOLL_CHECK_STR(refusal(&own, "node"), "");
  }
}

static void a_zone_has_nothing_of_a_resource_that_only_others_name(void) {
  PLIMSOLL_CHECK_STR(refusal_with("cpu=1;cpu=4,gpu=1"), "");
  PLIMSOLL_CHECK_STR(refusal_with("cpu=1;cpu=500m,gpu=1"), "pod is larger than each NUMA zone of the node");
  PLIMSOLL_CHECK_STR(refusal_with("cpu=1"), "");
}

static void zones_that_cannot_be_read_get_no_pod(void) {
  const char *const wrong[] = {"",       "cpu",    "cpu=",       "cpu=x",  "cpu=-1",     "=1",
                               "cpu=1;;", "cpu=1,cpu=2", ";cpu=1", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1",
                               "a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1;a=1"};
  for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++)
    PLIMSOLL_CHECK_STR(refusal_with(wrong[at]), "the node's NUMA zones cannot be read");
}

static void unknown_pods_may_be_anywhere(void) {
  plimsoll_test_world own = world;
  own.nodes[0].pods_unknown = true;
  PLIMSOLL_CHECK_STR(refusal(&own, "node"), "the node's pods are not known");
  PLIMSOLL_CHECK(plimsoll_test_score(&own, score, "node") == 0);
}

static void the_fullest_zone_with_room_is_the_score(void) {
  // Zone 1 with the pod: 4 of 8 cores, and all memory.
  PLIMSOLL_CHECK(plimsoll_test_score(&world, score, "node") == 100);
  plimsoll_test_world own = world;
  own.pod.requests[0].value = "1", own.pod.requests[1].value = "2Gi";
  // 14 of 16 GiB in zone 1; 7 of 8 cores in zone 0.
  PLIMSOLL_CHECK(plimsoll_test_score(&own, score, "node") == 87);
  own.nodes[0].pods[1].requests[0].value = "1Gi";
  own.nodes[0].pods[0].requests[0].value = "1";
  PLIMSOLL_CHECK(plimsoll_test_score(&own, score, "node") == 25);
}

static void amounts_that_overflow_are_too_large(void) {
  plimsoll_test_world own = world;
  own.nodes[0].pods[0].requests[0].value = own.nodes[0].pods[1].requests[0].value = "9E";
  own.nodes[0].pods[2] = (plimsoll_test_pod){.name = "c", .requests = {{"cpu", "9E"}, {"memory", "9E"}}};
  PLIMSOLL_CHECK_STR(refusal(&own, "node"), "no NUMA zone of the node has room for the pod");
}

static void settings_are_read_and_checked(void) {
  PLIMSOLL_CHECK_STR(refusal(&world, "bare"), "node does not say which NUMA zones it has");
  PLIMSOLL_CHECK(plimsoll_test_score(&world, score, "bare") == 0);
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"zone\": \"\"}", settings), "zone: it is empty");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"zones\": \"\", \"zone\": \"z\"}", settings), "zones: it is empty");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"zones\": \"z\", \"zone\": \"z\", \"plain\": true}", settings), "");
  PLIMSOLL_CHECK_STR(refusal(&world, "bare"), "");
  PLIMSOLL_CHECK(plimsoll_test_score(&world, score, "bare") == 50);
}

int main(void) {
  PLIMSOLL_TEST(a_request_must_fit_into_one_zone_and_not_only_into_the_node);
  PLIMSOLL_TEST(a_pod_without_a_zone_is_taken_to_be_in_each);
  PLIMSOLL_TEST(a_zone_has_nothing_of_a_resource_that_only_others_name);
  PLIMSOLL_TEST(zones_that_cannot_be_read_get_no_pod);
  PLIMSOLL_TEST(unknown_pods_may_be_anywhere);
  PLIMSOLL_TEST(the_fullest_zone_with_room_is_the_score);
  PLIMSOLL_TEST(amounts_that_overflow_are_too_large);
  // The last one: the variables keep the settings that it reads.
  PLIMSOLL_TEST(settings_are_read_and_checked);
  return plimsoll_test_failures();
}
