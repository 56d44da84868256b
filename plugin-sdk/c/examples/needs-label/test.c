#include "needs-label.c"
#include "plimsoll_test.h"

static const plimsoll_test_world world = {
    .pod = {.name = "p", .annotations = {{"example.com/needs", "ssd"}}},
    .nodes =
        {
            {.name = "fast", .labels = {{"ssd", "true"}}, .allocatable = {{"memory", "16Gi"}},
             .pods = {{.name = "a", .requests = {{"memory", "8Gi"}}}}},
            {.name = "slow", .allocatable = {{"memory", "4Gi"}}},
        },
};

static void a_node_without_the_label_is_refused(void) {
  PLIMSOLL_CHECK(plimsoll_test_filter(&world, needs_label, "fast").kind == PLIMSOLL_FITS);
  plimsoll_verdict verdict = plimsoll_test_filter(&world, needs_label, "slow");
  PLIMSOLL_CHECK(verdict.kind == PLIMSOLL_UNRESOLVABLE);
  PLIMSOLL_CHECK_STR(verdict.reason, "node lacks the label that the pod needs");
}

static void a_pod_that_asks_for_nothing_fits_everywhere(void) {
  plimsoll_test_world own = world;
  own.pod.annotations[0].key = NULL;
  PLIMSOLL_CHECK(plimsoll_test_filter(&own, needs_label, "slow").kind == PLIMSOLL_FITS);
}

static void memory_to_spare_is_the_score(void) {
  PLIMSOLL_CHECK(plimsoll_test_score(&world, memory_to_spare, "fast") == 50);
  PLIMSOLL_CHECK(plimsoll_test_score(&world, memory_to_spare, "slow") == 25);
  plimsoll_test_world own = world;
  own.nodes[0].pods_unknown = true;
  PLIMSOLL_CHECK(plimsoll_test_score(&own, memory_to_spare, "fast") == 0);
  own = world;
  own.nodes[0].resources_unknown[0] = "memory";
  PLIMSOLL_CHECK(plimsoll_test_score(&own, memory_to_spare, "fast") == 0);
}

static void settings_are_read_and_checked(void) {
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"spare\": \"none\"}", settings),
                     "spare: expected a quantity such as 512Mi, found a string");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"annotation\": null}", settings),
                     "annotation: expected a string, found null");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"spare\": 0}", settings), "spare: it must be above 0");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"spare\": \"4Gi\", \"annotation\": \"\"}", settings), "annotation: it is empty");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"spares\": 1, \"annotation\": \"a\"}", settings),
                     "there is no field spares; expected annotation, spare");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"spare\": \"4Gi\", \"annotation\": \"example.com/other\"}", settings), "");
  PLIMSOLL_CHECK(plimsoll_test_score(&world, memory_to_spare, "fast") == 100);
  PLIMSOLL_CHECK(plimsoll_test_filter(&world, needs_label, "slow").kind == PLIMSOLL_FITS);
}

int main(void) {
  PLIMSOLL_TEST(a_node_without_the_label_is_refused);
  PLIMSOLL_TEST(a_pod_that_asks_for_nothing_fits_everywhere);
  PLIMSOLL_TEST(memory_to_spare_is_the_score);
  // The last one: the variables keep the settings that it reads.
  PLIMSOLL_TEST(settings_are_read_and_checked);
  return plimsoll_test_failures();
}
