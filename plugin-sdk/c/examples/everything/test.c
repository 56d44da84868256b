// Compares the reads of plimsoll_test.h with a file of answers, its only argument: those of the host and of the other SDKs.
#include "everything.c"
#include "plimsoll_test.h"

// 6,000 bytes, made as the program starts.
static char large[6001];

// That of tests/policies/tests/policies/everything.rs.
static plimsoll_test_world world = {
    .pod =
        {
            .name = "p",
            .namespace_ = "web",
            .labels = {{"a", "ä"}},
            .annotations = {{"empty", ""}},
            .priority = -5,
            .priority_class = "low",
            .controller = {"batch/v1", "Job", "é", "Job/é"},
            .created = 1769860800,
            .requests = {{"cpu", "1500m"}, {"memory", "1Gi"}},
            .images = {"web:1", "proxy"},
        },
    .nodes =
        {
            {
                .name = "node-1",
                .labels = {{"é", "😀"}},
                .annotations = {{"a", "1"}, {"large", large}, {"score", "100"}},
                .taints = {{"k", "v", "NoSchedule"}, {"l", "", "NoExecute"}},
                .allocatable = {{"cpu", "4"}},
                .capacity = {{"cpu", "5"}},
                .conditions = {{"Ready", "Unknown"}},
                .unschedulable = true,
                .images = {{"web:1", (1ull << 32) + 4}},
                .pods =
                    {
                        {.name = "c", .namespace_ = "web", .labels = {{"app", "web"}}},
                        {
                            .name = "b",
                            .namespace_ = "web",
                            .labels = {{"app", "web"}},
                            .annotations = {{"a", "x"}},
                            .priority = INT32_MAX,
                            .priority_class = "high",
                            .controller = {"apps/v1", "ReplicaSet", "b-5d7", "ReplicaSet/b-5d7"},
                            .created = 1769860800,
                            .requests = {{"memory", "6Gi"}},
                            .phase = "Running",
                        },
                    },
            },
            {.name = "node-2", .annotations = {{"verdict", "fits"}, {"score", "7"}}},
            {.name = "node-3", .annotations = {{"verdict", "unresolvable"}}},
        },
    .now = 1769864399,
};

static const char *answers;

static void every_read_gives_what_the_host_gives(void) {
  char line[8192];
  int count = 0;
  FILE *file = fopen(answers, "r");
  if (!file) plimsoll_test_end("%s cannot be opened", answers);
  while (fgets(line, sizeof line, file)) {
    char *answer = strstr(line, ": ");
    *answer = 0;
    answer[strcspn(answer + 2, "\n") + 2] = 0;
    topic = plimsoll_test_str(line);
    plimsoll_verdict verdict = plimsoll_test_filter(&world, filter, "node-1");
    PLIMSOLL_CHECK(verdict.kind == PLIMSOLL_UNSCHEDULABLE);
    PLIMSOLL_CHECK_STR(verdict.reason, answer + 2);
    count++;
  }
  fclose(file);
  PLIMSOLL_CHECK(count == 7);
}

static void without_a_view_of_the_cluster_every_read_of_it_has_no_value(void) {
  plimsoll_test_world own = world;
  own.without_cluster = true;
  topic = PLIMSOLL_STR("cluster");
  PLIMSOLL_CHECK_STR(plimsoll_test_filter(&own, filter, "node-1").reason,
                     "(None, None, None) (None, None, None) (None, None) (None, None) None");
  own.without_pods = true;
  topic = PLIMSOLL_STR("placed");
  PLIMSOLL_CHECK_STR(plimsoll_test_filter(&own, filter, "node-1").reason, "[] false 0");
}

static void every_kind_of_answer_is_that_of_the_node(void) {
  PLIMSOLL_CHECK(plimsoll_test_filter(&world, filter, "node-2").kind == PLIMSOLL_FITS);
  PLIMSOLL_CHECK(plimsoll_test_filter(&world, filter, "node-3").kind == PLIMSOLL_UNRESOLVABLE);
  PLIMSOLL_CHECK(plimsoll_test_score(&world, score, "node-1") == 100);
  PLIMSOLL_CHECK(plimsoll_test_rank(&world, rank, "node-2") == 7);
}

static void a_rank_sees_all_nodes_at_once(void) {
  static const plimsoll_test_pod web = {.name = "w", .namespace_ = "web", .labels = {{"app", "web"}}};
  plimsoll_test_world own = {.pod = {.name = "p"}, .nodes = {{.name = "one"}, {.name = "two"}, {.name = "three"}}};
  for (int at = 0; at < 3; at++) own.nodes[at].annotations[0] = (plimsoll_test_entry){"score", "5"};
  own.nodes[0].labels[0] = (plimsoll_test_entry){"group", "other"};
  own.nodes[1].labels[0] = (plimsoll_test_entry){"group", "best"};
  own.nodes[0].pods[0] = own.nodes[1].pods[0] = own.nodes[1].pods[1] = web;
  PLIMSOLL_CHECK(plimsoll_test_rank(&own, rank, "one") == 5);
  PLIMSOLL_CHECK(plimsoll_test_rank(&own, rank, "two") == 7);
  PLIMSOLL_CHECK(plimsoll_test_rank(&own, rank, "three") == 5);
}

static void every_kind_of_preemption(void) {
  plimsoll_test_world own = world;
  plimsoll_test_candidate both = {.node = "node-1", .victims = {"web/b", "web/c"}, .pdb_violations = 1};
  own.candidates[0].node = "node-3";
  own.candidates[1] = both;
  PLIMSOLL_CHECK(plimsoll_test_preempt(&own, preempt, "node-3").kind == PLIMSOLL_KEEP);
  plimsoll_preemption answer = plimsoll_test_preempt(&own, preempt, "node-1");
  PLIMSOLL_CHECK(answer.kind == PLIMSOLL_REPLACE && answer.pods.count == 1 && answer.pods.items[0] == 0);
  own.candidates[1].pdb_violations = 2;
  PLIMSOLL_CHECK_STR(plimsoll_test_preempt(&own, preempt, "node-1").reason, "[\"b\", \"c\"] of [\"node-3\", \"node-1\"]");
}

static void a_bind_gives_metadata_or_says_why_not(void) {
  plimsoll_test_world own = world;
  PLIMSOLL_CHECK_STR(plimsoll_test_bind(&own, bind, "node-1").reason, "p cannot be bound");
  own.nodes[1].annotations[2] = (plimsoll_test_entry){"bind", "é"};
  plimsoll_binding binding = plimsoll_test_bind(&own, bind, "node-2");
  PLIMSOLL_CHECK(binding.kind == PLIMSOLL_BOUND && binding.annotation_count == 2 && binding.label_count == 1);
  PLIMSOLL_CHECK_STR(binding.annotations[0].value, "node-2");
  own.nodes[1].annotations[2].value = "later";
  PLIMSOLL_CHECK(plimsoll_test_bind(&own, bind, "node-2").kind == PLIMSOLL_RETRY);
}

static void settings_are_refused_with_their_place(void) {
  static const char *const table[][2] = {
      {"null", "the field topic is missing"},
      {"{\"topic\": \"pods\"}",
       "topic: expected one of pod, node, placed, cluster, field, large, time, panic, loop, memory, recursion, trap, "
       "missing, found \"pods\""},
      {"{\"topic\": 5}", "topic: expected a string, found a number"},
      {"{\"topic\": null}", "the field topic is missing"},
      {"{\"topic\": \"pod\", \"to\": [1, {\"a\": \"}\"}]}", "there is no field to; expected topic"},
      {"{\"topic\": \"re\\u0066used\"}", "topic: é is refused"},
      {"[\"pod\"]", "the settings: expected an object, found a list"},
      {" { \"topic\" : \"pod\" } ", ""},
  };
  for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
    topic.len = 0;
    PLIMSOLL_CHECK_STR(plimsoll_test_settings(table[at][0], settings), table[at][1]);
  }
}

static void texts_and_numbers_in_json_are_read(void) {
  plimsoll_str text;
  int64_t number;
  bool is_true;
  PLIMSOLL_CHECK(plimsoll_json_str(PLIMSOLL_STR(" \"a\\n\\\"\\\\\\u00e9\\ud83d\\ude00\\/\""), &text));
  PLIMSOLL_CHECK_STR(text, "a\n\"\\é😀/");
  PLIMSOLL_CHECK(plimsoll_json_int(PLIMSOLL_STR("-9223372036854775808"), &number) && number == INT64_MIN);
  PLIMSOLL_CHECK(plimsoll_json_int(PLIMSOLL_STR("9223372036854775807"), &number) && number == INT64_MAX);
  PLIMSOLL_CHECK(!plimsoll_json_int(PLIMSOLL_STR("9223372036854775808"), &number));
  PLIMSOLL_CHECK(!plimsoll_json_int(PLIMSOLL_STR("1.5"), &number) && !plimsoll_json_int(PLIMSOLL_STR("-"), &number));
  PLIMSOLL_CHECK(plimsoll_json_bool(PLIMSOLL_STR("true"), &is_true) && is_true);
  PLIMSOLL_CHECK(!plimsoll_json_bool(PLIMSOLL_STR("\"true\""), &is_true));
}

// The table of plugin-sdk/quantity, the parser of the gateway.
static void quantities_are_read_as_kubernetes_reads_them(void) {
  static const struct {
    const char *text;
    uint32_t per_unit;
    int64_t expected;
  } table[] = {
      {"0", 1, 0},
      {"100m", 1000, 100},
      {"2", 1000, 2000},
      {"0.5", 1000, 500},
      {"1.5Gi", 1, 1610612736},
      {"64Mi", 1, 67108864},
      {"1Ki", 1, 1024},
      {"1k", 1, 1000},
      {"2e3", 1, 2000},
      {"2E3", 1, 2000},
      {"1E", 1, 1000000000000000000},
      {"1e-3", 1000, 1},
      {"1m", 1, 1},
      {"1n", 1000, 1},
      {"100u", 1000, 1},
      {".5", 1000, 500},
      {"5.", 1, 5},
      {"+3", 1, 3},
      {"-3", 1, -3},
      {"7Ei", 1, 7ll << 60},
      {"7Ei", 1000, INT64_MAX},
      {"16Ei", 1, INT64_MAX},
      {"0.001Ei", 1000, 1152921504606846976},
      {"9223372036854775807", 1, INT64_MAX},
      {"9223372036854775806", 1, INT64_MAX - 1},
      {"99999999999999999999999999999999999999999999", 1, INT64_MAX},
      {"0.00000000000000000000000000000000000000000001", 1, 1},
      {"1.0000000000000000001", 1, 2},
      {"0.00000000000000000012e30", 1, 120000000000},
      {"99999999999999999999999999999999999999999999e-40", 1, 10000},
      {"0e2147483647", 1, 0},
      {"1e2147483647", 1, INT64_MAX},
      {"1e-2147483648", 1, 1},
      {"0.0", 1000, 0},
      {"0000000000000000000000000000000000000000000000001", 1, 1},
  };
  for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
    int64_t value = 0;
    bool is_one = plimsoll_quantity(plimsoll_test_str(table[at].text), table[at].per_unit, &value);
    if (!is_one || value != table[at].expected) printf("%s: %d %lld\n", table[at].text, is_one, (long long)value);
    PLIMSOLL_CHECK(is_one && value == table[at].expected);
  }
  static const char *const refused[] = {"",   ".",  "+",  "1.2.3", "1 Gi", "1gi", "1ki",          "1K", "1mi", "1ui",
                                        "e3", "1e", "Gi", "1e+-3", "1e--3", "--1", "1e2147483648", "x",  "1Gix"};
  for (size_t at = 0; at < sizeof refused / sizeof *refused; at++) {
    int64_t value = 0;
    bool is_one = plimsoll_quantity(plimsoll_test_str(refused[at]), 1, &value);
    if (is_one) printf("%s: %lld\n", refused[at], (long long)value);
    PLIMSOLL_CHECK(!is_one);
  }
}

int main(int count, char **arguments) {
  answers = count > 1 ? arguments[1] : "answers.txt";
  for (int at = 0; at < 3000; at++) memcpy(large + 2 * at, "é", 2);
  PLIMSOLL_TEST(every_read_gives_what_the_host_gives);
  PLIMSOLL_TEST(without_a_view_of_the_cluster_every_read_of_it_has_no_value);
  PLIMSOLL_TEST(every_kind_of_answer_is_that_of_the_node);
  PLIMSOLL_TEST(a_rank_sees_all_nodes_at_once);
  PLIMSOLL_TEST(every_kind_of_preemption);
  PLIMSOLL_TEST(a_bind_gives_metadata_or_says_why_not);
  PLIMSOLL_TEST(settings_are_refused_with_their_place);
  PLIMSOLL_TEST(texts_and_numbers_in_json_are_read);
  PLIMSOLL_TEST(quantities_are_read_as_kubernetes_reads_them);
  return plimsoll_test_failures();
}
