// Compares the reads of plimsoll_test.h with the answers of the host and of the other SDKs. They are files in a folder, the only
// argument: plugin-sdk/conformance/answers.
#include "conformance.c"
#include "plimsoll_test.h"

// 6,000 bytes, made as the program starts.
static char large[6001];

// That of plugin-sdk/conformance/world.yaml.
static plimsoll_test_world world = {
    .pod =
        {
            .name = "p",
            .namespace_ = "web",
            .uid = "uid-p",
            .labels = {{"a", "ä"}, {"pool", "blue"}},
            .annotations = {{"empty", ""}},
            .priority = -5,
            .priority_class = "low",
            .controller = {"batch/v1", "Job", "é", "uid-é"},
            .created = 1769860800,
            .requests = {{"cpu", "1500m"}, {"memory", "1Gi"}},
            .images = {"web:1", "proxy"},
        },
    .nodes =
        {
            {
                .name = "node-1",
                .labels = {{"é", "😀"}, {"group", "other"}, {"pool", "blue"}},
                .annotations = {{"a", "1"}, {"large", large}, {"score", "100"}},
                .taints = {{"k", "v", "NoSchedule"}, {"l", "", "NoExecute"}},
                .allocatable = {{"cpu", "4"}},
                .capacity = {{"cpu", "5"}},
                .conditions = {{"Ready", "Unknown"}},
                .unschedulable = true,
                .resources_unknown = {"example.com/gpu"},
                .images = {{"web:1", (1ull << 32) + 4}},
                .pods =
                    {
                        {.name = "c", .namespace_ = "web", .labels = {{"app", "web"}}, .terminating = true},
                        {
                            .name = "b",
                            .namespace_ = "web",
                            .labels = {{"app", "web"}},
                            .annotations = {{"a", "x"}},
                            .priority = INT32_MAX,
                            .priority_class = "high",
                            .controller = {"apps/v1", "ReplicaSet", "b-5d7", "uid-b"},
                            .created = 1769860800,
                            .requests = {{"memory", "6Gi"}},
                            .phase = "Running",
                        },
                    },
            },
            {
                .name = "node-2",
                .labels = {{"group", "best"}},
                .annotations = {{"verdict", "fits"}, {"score", "7"}, {"bind", "later"}},
                .pods = {{.name = "d", .namespace_ = "web", .labels = {{"app", "web"}}, .terminating = true}},
            },
            {.name = "node-3", .annotations = {{"verdict", "unresolvable"}, {"bind", "nothing"}}},
            {
                .name = "node-4",
                .labels = {{"group", "best"}, {"pool", "red"}},
                .annotations = {{"score", "5"}, {"bind", "é\n😀"}},
                .pods = {{.name = "e", .namespace_ = "other", .labels = {{"app", "web"}}, .requests = {{"memory", "1Gi"}}}},
            },
        },
    .candidates =
        {
            {.node = "node-3"},
            {.node = "node-1", .victims = {"web/b", "web/c"}, .pdb_violations = 1},
            {.node = "node-2", .victims = {"web/d"}, .pdb_violations = 2},
        },
    .namespaces = {{.name = "web", .labels = {{"tenant", "a"}}}},
    .facts =
        {
            {"load", "node-1", "0.5"},
            {"prices", "gpu", "3.25"},
            {"prices", "loss", "-0.125"},
            {"prices", "note", "é"},
        },
    .now = 1769864399,
};

// The folder of answers.
static const char *answers;

// Compares what the policy tells about a topic with a file of answers.
static void check_told(plimsoll_test_world *own, const char *name, const char *file_name) {
  char path[4096], answer[4096];
  snprintf(path, sizeof path, "%s/%s.txt", answers, file_name);
  FILE *file = fopen(path, "r");
  if (!file) plimsoll_test_end("%s cannot be opened", path);
  size_t len = fread(answer, 1, sizeof answer - 1, file);
  fclose(file);
  answer[len - 1] = 0;
  topic = plimsoll_test_str(name);
  plimsoll_verdict verdict = plimsoll_test_filter(own, filter, "node-1");
  PLIMSOLL_CHECK(verdict.kind == PLIMSOLL_UNSCHEDULABLE);
  PLIMSOLL_CHECK_STR(verdict.reason, answer);
}

static void every_read_gives_what_the_host_gives(void) {
  static const char *const told[] = {"pod", "node", "placed", "cluster", "namespace", "facts", "field", "large", "time"};
  for (size_t at = 0; at < sizeof told / sizeof *told; at++) check_told(&world, told[at], told[at]);
}

static void without_a_view_of_the_cluster_every_read_of_it_has_no_value(void) {
  plimsoll_test_world own = world;
  own.without_cluster = true;
  check_told(&own, "cluster", "cluster-unknown");
  own = world;
  own.without_pods = true;
  check_told(&own, "placed", "placed-unknown");
  own = world;
  own.namespaces[0].name = NULL;
  check_told(&own, "namespace", "namespace-unknown");
}

static void a_fact_about_a_node_has_its_name_or_one_of_its_addresses(void) {
  plimsoll_test_world own = world;
  own.facts[0].key = own.nodes[0].addresses[1] = "10.0.0.1";
  own.nodes[0].addresses[0] = "node-1.example";
  check_told(&own, "facts", "facts");
  plimsoll_str addresses;
  PLIMSOLL_CHECK(plimsoll_nodes_field(0, PLIMSOLL_STR("/status/addresses/1"), &addresses));
  PLIMSOLL_CHECK_STR(addresses, "{\"address\":\"10.0.0.1\",\"type\":\"InternalIP\"}");
}

static void every_kind_of_answer_is_that_of_the_node(void) {
  topic = PLIMSOLL_STR("pool");
  PLIMSOLL_CHECK(plimsoll_test_filter(&world, filter, "node-1").kind == PLIMSOLL_FITS);
  PLIMSOLL_CHECK(plimsoll_test_filter(&world, filter, "node-2").kind == PLIMSOLL_FITS);
  PLIMSOLL_CHECK(plimsoll_test_filter(&world, filter, "node-3").kind == PLIMSOLL_UNRESOLVABLE);
  PLIMSOLL_CHECK_STR(plimsoll_test_filter(&world, filter, "node-4").reason, "another pool");
  PLIMSOLL_CHECK(plimsoll_test_score(&world, score, "node-1") == 100);
}

static void a_rank_sees_all_nodes_at_once(void) {
  topic = PLIMSOLL_STR("pod");
  PLIMSOLL_CHECK(plimsoll_test_rank(&world, rank, "node-1") == 100);
  PLIMSOLL_CHECK(plimsoll_test_rank(&world, rank, "node-2") == 8);
  PLIMSOLL_CHECK(plimsoll_test_rank(&world, rank, "node-3") == 0);
  PLIMSOLL_CHECK(plimsoll_test_rank(&world, rank, "node-4") == 5);
}

static void every_kind_of_preemption(void) {
  topic = PLIMSOLL_STR("pod");
  PLIMSOLL_CHECK(plimsoll_test_preempt(&world, preempt, "node-3").kind == PLIMSOLL_KEEP);
  plimsoll_preemption answer = plimsoll_test_preempt(&world, preempt, "node-1");
  PLIMSOLL_CHECK(answer.kind == PLIMSOLL_REPLACE && answer.pods.count == 1 && answer.pods.items[0] == 0);
  PLIMSOLL_CHECK_STR(plimsoll_test_preempt(&world, preempt, "node-2").reason, "victims=d\nnodes=node-3 node-1 node-2");
}

static void a_bind_gives_metadata_or_says_why_not(void) {
  PLIMSOLL_CHECK_STR(plimsoll_test_bind(&world, bind, "node-1").reason, "p cannot be bound");
  plimsoll_binding binding = plimsoll_test_bind(&world, bind, "node-4");
  PLIMSOLL_CHECK(binding.kind == PLIMSOLL_BOUND && binding.annotation_count == 2 && binding.label_count == 1);
  PLIMSOLL_CHECK_STR(binding.annotations[0].value, "node-4");
  PLIMSOLL_CHECK(plimsoll_test_bind(&world, bind, "node-2").kind == PLIMSOLL_RETRY);
}

static void settings_are_refused_with_their_place(void) {
  static const char *const table[][2] = {
      {"null", "the field topic is missing"},
      {"{\"topic\": \"pods\"}",
       "topic: expected one of pod, node, placed, cluster, namespace, facts, field, large, time, pool, panic, trap, "
       "recursion, loop, memory, long-reason, high-score, no-victims, missing-node, missing-pod, missing-candidate, "
       "foreign-source, log, log-flood, found pods"},
      {"{\"topic\": 5}", "topic: expected a string, found a number"},
      {"{\"topic\": null}", "topic: expected a string, found null"},
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

static void a_limit(plimsoll_settings *from) {
  int64_t limit;
  plimsoll_setting_int(from, PLIMSOLL_STR("limit"), &limit);
}

static void a_number_beyond_its_type_is_refused_with_the_limits(void) {
#define LIMITS "limit: expected a whole number from -9223372036854775808 to 9223372036854775807, found "
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"limit\": 9223372036854775808}", a_limit), LIMITS "9223372036854775808");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"limit\": -9223372036854775809}", a_limit), LIMITS "-9223372036854775809");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"limit\": -9223372036854775808}", a_limit), "");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"limit\": 1.5}", a_limit), "limit: expected a whole number, found a number");
  PLIMSOLL_CHECK_STR(plimsoll_test_settings("{\"limit\": \"1\"}", a_limit), "limit: expected a whole number, found a string");
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
  answers = count > 1 ? arguments[1] : "../conformance/answers";
  for (int at = 0; at < 3000; at++) memcpy(large + 2 * at, "é", 2);
  PLIMSOLL_TEST(every_read_gives_what_the_host_gives);
  PLIMSOLL_TEST(without_a_view_of_the_cluster_every_read_of_it_has_no_value);
  PLIMSOLL_TEST(a_fact_about_a_node_has_its_name_or_one_of_its_addresses);
  PLIMSOLL_TEST(every_kind_of_answer_is_that_of_the_node);
  PLIMSOLL_TEST(a_rank_sees_all_nodes_at_once);
  PLIMSOLL_TEST(every_kind_of_preemption);
  PLIMSOLL_TEST(a_bind_gives_metadata_or_says_why_not);
  PLIMSOLL_TEST(settings_are_refused_with_their_place);
  PLIMSOLL_TEST(a_number_beyond_its_type_is_refused_with_the_limits);
  PLIMSOLL_TEST(texts_and_numbers_in_json_are_read);
  PLIMSOLL_TEST(quantities_are_read_as_kubernetes_reads_them);
  return plimsoll_test_failures();
}
