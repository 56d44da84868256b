//! Rules from their text to their answers.

use plimsoll_policy::testing::{World, node, pod, settings};
use plimsoll_policy::{Validate, Verdict};

use crate::Cel;

/// Reads the settings of a policy whose block `cel` is this.
fn cel(block: &str) -> Result<Cel, String> {
    with(block, "null", "[]")
}

fn with(block: &str, own: &str, facts: &str) -> Result<Cel, String> {
    let block = block.trim_end().replace('\n', "\n  ");
    settings(&format!("cel:\n  {block}\nsettings: {own}\nfacts: {facts}\n"))
}

/// A policy with one condition.
fn condition(expression: &str) -> Result<Cel, String> {
    let expression = format!("{expression:?}");
    cel(&format!("filter:\n- expression: {expression}\n  message: rejected"))
}

fn world() -> World {
    let pod = pod("web-0")
        .namespace("shop")
        .label("app", "web")
        .annotation("tier", "gold")
        .annotation("driver", "535.104.05")
        .priority(10)
        .request("cpu", "1500m")
        .image("registry/web:1")
        .created("2026-01-31T12:00:00Z");
    let labelled = |name: &str, ssd: &str| {
        node(name)
            .label("ssd", ssd)
            .label("gpu-driver", "550.54.14")
            .allocatable("cpu", "4")
            .allocatable("memory", "16Gi")
            .condition("Ready", "True")
            .taint("dedicated", "db", "NoSchedule")
            .image("registry/web:1", 1024)
    };
    let placed = plimsoll_policy::testing::pod("db-0").label("app", "db").request("memory", "4Gi").phase("Running");
    World::new(pod).node(labelled("fast", "true")).node(labelled("slow", "false")).placed(placed.on("fast"))
}

/// Whether a condition holds for the pod on the node `fast`.
fn holds(expression: &str) -> bool {
    let policy = condition(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    world().filter(&policy, "fast") == Verdict::Fits
}

/// What is said about a condition, without `cel: /filter/0/expression:`.
fn refused(expression: &str) -> String {
    let error = condition(expression).err().unwrap_or_else(|| panic!("{expression} is taken"));
    error.trim_start_matches("cel: /filter/0/expression:").to_owned()
}

#[test]
fn a_line_rejects_nodes_with_its_message() {
    let policy = cel("filter:\n- expression: pod.annotations[\"tier\"] != \"gold\" || node.labels[\"ssd\"] == \"true\"\n  message: the node has no SSD\n  unresolvable: true").unwrap();
    assert_eq!(world().filter(&policy, "fast"), Verdict::Fits);
    assert_eq!(world().filter(&policy, "slow"), Verdict::unresolvable("the node has no SSD"));
}

#[test]
fn variables_scores_and_messages_are_expressions() {
    let policy = cel("variables:\n- {name: want, expression: 'pod.annotations[\"driver\"]'}\nfilter:\n- expression: want == \"\" || (isSemver(node.labels[\"gpu-driver\"], true) && !semver(node.labels[\"gpu-driver\"], true).isLessThan(semver(want, true)))\n  message: old\n- expression: variables.want.startsWith(\"6\")\n  messageExpression: '\"wants %s\".format([want])'\nscore: 'node.free(\"memory\").isGreaterThan(quantity(\"8Gi\")) ? 80 : 20'").unwrap();
    assert_eq!(world().filter(&policy, "fast"), Verdict::unschedulable("wants 535.104.05"));
    assert_eq!((world().score(&policy, "fast"), world().score(&policy, "slow")), (80, 80));
}

#[test]
fn expressions_see_what_the_contract_has() {
    for expression in [
        "pod.name == 'web-0' && pod.namespace == 'shop' && pod.priority == 10",
        "pod.labels.app == 'web' && pod.labels['none'] == '' && !has(pod.labels.none) && !('none' in pod.labels)",
        "pod.labels[?'none'].orValue('x') == 'x' && pod.labels[?'app'].hasValue() && pod.labels.?app.value() == 'web'",
        "pod.annotations.exists(key, key == 'tier') && pod.annotations.map(k, k) == ['driver', 'tier']",
        "node.labels.all(k, node.labels[k] != '')",
        "pod.request('cpu') == quantity('1500m') && pod.request('cpu').compareTo(quantity('1.5')) == 0",
        "sign(node.free('memory').sub(quantity('12Gi'))) == 0 && node.allocatable('cpu').add(1).isLessThan(quantity('6'))",
        "!has(pod.priorityClass) || pod.priorityClass == 'x'",
        "pod.?priorityClass.orValue('none') == 'none' && !has(pod.controller)",
        "has(pod.created) && pod.created == timestamp('2026-01-31T12:00:00Z') && pod.created.getDayOfWeek() == 6",
        "has(pod.created) && pod.created + duration('90m') > timestamp('2026-01-31T13:29:59Z')",
        "pod.images.all(i, node.imageSize(i).orValue(0) > 0)",
        "node.taints.exists(t, t.key == 'dedicated' && t.effect == 'NoSchedule') && !node.unschedulable",
        "node.conditions['Ready'] == 'True' && node.conditions['Other'] == ''",
        "placed.count() == 1 && placed.size() == 1 && placed.count('default', 'app', 'db') == 1",
        "placed.exists(p, p.labels.app == 'db' && has(p.phase) && p.phase == 'Running' && p.request('memory') == quantity('4Gi'))",
        "placed.map(p, p.name) == ['db-0'] && placed[0].name == 'db-0' && !placed[0].terminating",
        "cluster.label('app', 'db').count() == 1 && cluster.namespace('default').label('app', 'db').atLeast(1)",
        "cluster.nodeLabel('ssd', 'true').countUpTo(5) == 1 && cluster.nodesWithLabel('ssd', 'false') == 1",
        "cluster.labelValues('ssd').map(v, v.value) == ['false', 'true']",
        "pod.field('/spec/containers/1/image').hasValue() && !pod.field('/spec/none').hasValue()",
        "pod.labels[?'app'].optMap(a, a.size() + 1).orValue(0) == 4 && pod.labels[?'x'].optFlatMap(a, optional.of(a)) == optional.none()",
        "{'web': 1, 'db': 2}[?pod.labels.app].orValue(0) == 1",
        "pod.labels.app in {'web': 1} && {'web': 1}[pod.labels.app] == 1",
        "[pod.priority, 3, 20].max() == 20 && [pod.priority, 3].min() == 3 && [pod.priority].sum() == 10",
        "pod.name.find('[0-9]+') == '0' && pod.name.matches('^web-[0-9]+$') && 'a1b22'.findAll('[0-9]+', 1) == ['1'] ",
        "ip('10.0.0.1').family() == 4 && !ip('10.0.0.1').isLoopback() && pod.priority < 10.5",
    ] {
        assert!(holds(expression), "{expression}");
    }
}

#[test]
fn settings_have_the_types_that_they_are_written_with() {
    let own = "{max: 4, names: [web, db], nested: {share: 0.5}}";
    let rule =
        |expression: &str| with(&format!("filter:\n- expression: {expression:?}\n  message: rejected"), own, "[]");
    for expression in [
        "pod.priority > settings.max",
        "pod.labels.app in settings.names",
        "double(pod.priority) > settings.nested.share",
    ] {
        assert_eq!(world().filter(&rule(expression).unwrap(), "fast"), Verdict::Fits, "{expression}");
    }
    let error = rule("pod.priority > settings.maxx").unwrap_err();
    let expected = "map has no field `maxx`; expected one of max, names, nested; did you mean `max`?; where the settings may lack it, write `[?\"maxx\"].orValue(…)`";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_setting_may_be_absent_where_the_rule_asks_for_it() {
    let own = ["null", "{}", "{other: 1}", "{max: 20, names: [db], nested: {share: 11}}"];
    for expression in [
        "settings.?max.orValue(4) < pod.priority",
        "settings[?'max'].orValue(4) < pod.priority",
        "!has(settings.max) || settings.max < pod.priority",
        "!('max' in settings) || settings['max'] < pod.priority",
        "settings.?nested.?share.orValue(4) < pod.priority",
        "settings[?'nested'].share.orValue(4) < pod.priority",
        "pod.labels.app in settings.?names.orValue(['web'])",
        "settings.?names.orValue(['web']).exists(name, name == pod.labels.app)",
        "'%s'.format([settings.?max.orValue(4)]) == '4' || pod.name == ''",
        "settings.?max.optMap(max, max < pod.priority).orValue(true)",
    ] {
        for own in own {
            let rule = format!("filter:\n- expression: {expression:?}\n  message: rejected");
            let policy = with(&rule, own, "[]").unwrap_or_else(|error| panic!("{expression} {own}: {error}"));
            let fits = world().filter(&policy, "fast") == Verdict::Fits;
            assert_eq!(fits, !own.contains("max"), "{expression} {own}");
        }
    }
}

/// What is refused, and what is said.
const REFUSED: &str = r#"
pod.label['a'] == ''
  1:1: Pod has no field `label`; expected one of annotations, controller, created, images, labels, name, namespace, namespaceKnown, namespaceLabels, priority, priorityClass, uid; did you mean `labels`?
node.labels['a'] == 1
  1:1: `==` does not take string and int; write `int(…)`
pod.priorityClass == 'high'
  1:1: `priorityClass` may be absent: ask `has(pod.priorityClass) && …` first, or write `pod.?priorityClass.orValue("")`
pod.?priorityClass == 'high'
  1:1: `==` does not take optional<string> and string; write `.orValue("")`
node.labels['a']
  1:1: a condition is a bool: compare it; found string
true
  1:1: it has the same value for every pod and node; name something of them
pod.metadata.labels['a'] == ''
  1:1: Pod has no field `metadata`; expected one of
nodes.labels['a'] == ''
  1:1: `nodes` is not known; did you mean `node`?
node.free('memory') > quantity('8Gi')
  1:1: `>` does not take quantity and quantity; write `a.isLessThan(b)`, `a.isGreaterThan(b)` or `a.compareTo(b)`
pod.name.startWith('a')
  1:1: there is no function `startWith`; did you mean `startsWith`?
cidr('10.0.0.0/8').containsIP(pod.name)
  1:1: `cidr` of Kubernetes is not offered
sets.contains(pod.images, ['a'])
  1:1: `sets.contains` of Kubernetes is not offered
pod.labels.all(k, v, v != '')
  1:1: `all` takes a variable and a condition: `list.all(x, …)`; loops with two variables are not offered
pod.name.matches('(')
  1:1: "(" is no regular expression that is known here
pod.request('cpu').isGreaterThan(quantity('1 Gi'))
  1:34: "1 Gi" is no quantity; expected one such as 500m, 2 or 8Gi
placed.exists(p, p.labels.all(k, k != ''))
  1:18: these can be read by key, but not run through
{'a': 1}[pod.name] == 1
  1:1: `pod.name` may be absent: ask `pod.name in {'a':1} && …` first, or write `{'a':1}[?pod.name].orValue(0)`
facts.text('pricez', 'eu').hasValue()
  1:1: a source of facts is one that the file lists under `facts` (), as a literal
pod.name == 'a' &&
  1:19:
pod.labels == node.labels
  1:1: `==` does not take PodLabels and NodeLabels
pod.name == null
  1:1: `==` does not take string and null; nothing is `null` here
settings.max > 1
  1:1: map has no field `max`; where the settings may lack it, write `[?"max"].orValue(…)`
pod.priority + 1.5 > 2.0
  1:1: `+` does not take int and double; write `double(…)`
placed.exists(pod, pod.name == '')
  1:1: `pod` is a variable already; give this one another name
[1, 'a'].size() > pod.priority
  1:5: the elements of a list have one type: found string, expected int; write `int(…)`
now.getHours('Europe/Berlin') > 8
  1:1: "Europe/Berlin" is no time zone that is known here
pod.name ==\n  'a' && pod.nam == 'b'
  2:10: Pod has no field `nam`
"#;

#[test]
fn what_would_fail_is_refused_with_its_place_and_its_mend() {
    for (expression, expected) in
        REFUSED.trim().lines().collect::<Vec<_>>().chunks(2).map(|pair| (pair[0], pair[1].trim()))
    {
        let found = refused(&expression.replace("\\n", "\n"));
        assert!(found.starts_with(expected), "{expression}\n  found    {found}\n  expected {expected}");
    }
}

#[test]
fn every_problem_of_a_file_is_told() {
    let error = cel("variables:\n- {name: a-b, expression: pod.nam}\n- {name: node, expression: pod.name}\nfilter:\n- {expression: pod.name == 1, message: rejected}\n- {expression: pod.name == ''}\n- {expression: pod.name == '', message: rejected, messageExpression: pod.name}\nscore: pod.name").unwrap_err();
    let places: Vec<_> = error.lines().map(|line| line.split(": ").nth(1).unwrap_or_default()).collect();
    assert_eq!(
        places,
        [
            "/variables/0/name:1:1",
            "/variables/0/expression:1:1",
            "/variables/1/name:1:1",
            "/filter/0/expression:1:1",
            "/filter/1:1:1",
            "/filter/2/messageExpression:1:1",
            "/score:1:1"
        ],
        "{error}"
    );
    assert!(cel("variables: []").unwrap_err().contains("it has no rule"));
}

#[test]
fn an_expression_is_described_by_the_reads_that_it_can_reach() {
    let table = [
        (
            "filter:\n- {expression: 'pod.labels.a == node.labels[\"b\"]', message: rejected}",
            r#"{"verbs":["filter"],"reads":["nodes.label", "pod.label"],"remarks":[]}"#,
        ),
        (
            "variables:\n- {name: unused, expression: placed.count()}\nscore: 'now.getHours()'",
            r#"{"verbs":["score"],"reads":["host.now"],"remarks":[]}"#,
        ),
        (
            "bind: true\nfilter:\n- {expression: 'placed.count() < 3 && !cluster.atLeast(9)', message: rejected}",
            r#"{"verbs":["filter", "bind"],"reads":["cluster.at-least", "placed.count"],"remarks":[]}"#,
        ),
        (
            "filter:\n- {expression: '!placed.exists(p, p.name == node.name)', message: rejected}",
            r#"{"verbs":["filter"],"reads":["nodes.name", "placed.count", "placed.name"],"remarks":[]}"#,
        ),
        (
            "filter:\n- {expression: 'pod.name == \"\" || node.labels.exists(k, k == \"a\")', message: rejected}",
            r#"{"verbs":["filter"],"reads":["nodes.field", "pod.name"],"remarks":["cel: /filter/0/expression:1:19: a loop over all of a node's labels or annotations, which differ from node to node: no two nodes share an answer, so read those that you need by key"]}"#,
        ),
    ];
    for (block, expected) in table {
        let block = block.replace('\n', "\n  ");
        let error = settings::<Cel>(&format!("describe: true\ncel:\n  {block}\n")).unwrap_err();
        assert_eq!(error, format!("describe: {expected}"));
    }
}

#[test]
fn a_setting_that_is_misspelt_is_remarked() {
    let rule = "score: settings.?maxx.orValue(4) + pod.priority + settings.?other.orValue(1)";
    let text = format!("describe: true\ncel: {{{rule}}}\nsettings: {{max: 4}}\n");
    let error = settings::<Cel>(&text).unwrap_err();
    let remarks =
        r#""remarks":["cel: /score:1:1: the settings have no `maxx`, which is allowed; did you mean `max`?"]}"#;
    assert!(error.ends_with(remarks), "{error}");
    // The description is JSON, whatever a name has.
    let text = "describe: true\ncel: {score: 'settings[?\"maximum\\u200bOf\\tPods\"].orValue(4) + pod.priority'}\nsettings: {maximumOfPods: 4}\n";
    let error = settings::<Cel>(text).unwrap_err();
    assert!(error.contains("have no `maximum\u{200b}Of Pods`, which"), "{error}");
}

#[test]
fn a_fault_names_the_part_that_failed() {
    let table = [
        (
            "sign(quantity(pod.annotations['tier'])) > 0",
            "cel: /filter/0/expression:1:6: `quantity(pod.annotations['tier'])`: \"gold\" is no quantity; ask `isQuantity(pod.annotations['tier']) && …` first",
        ),
        (
            "int(node.labels[\"weight\"]) > 3",
            "cel: /filter/0/expression:1:1: `int(node.labels[\"weight\"])`: the text is empty or absent; ask `node.labels[\"weight\"] != \"\" && …` first",
        ),
        (
            "double(node.labels['gpu-driver']) > 3.0",
            "cel: /filter/0/expression:1:1: `double(node.labels['gpu-driver'])`: \"550.54.14\" is no double; ask `node.labels['gpu-driver'].matches(\"^[0-9]+$\") && …` first",
        ),
        (
            "semver(pod.annotations['none'], true).major() > 3",
            "cel: /filter/0/expression:1:1: `semver(pod.annotations['none'], true)`: the text is empty or absent; ask `isSemver(pod.annotations['none'], true) && …` first",
        ),
        ("[1, 2].all(x, x / (pod.priority - 10) == 1)", "cel: /filter/0/expression:1:15: `x / (pod.priority - 10)`: "),
        (
            "lists.range(400).all(x, lists.range(400).all(y, x + y != pod.priority - 9000))",
            "cel: /filter/0/expression:1:1: `lists.range(400).all(x, lists.range(400).all(y, x + y != pod.priority - 9000))`: its loops have more than 20,000 steps",
        ),
        (
            "pod.priority > 100 || placed[7].name == ''",
            "cel: /filter/0/expression:1:23: `placed[7]`: nothing has this index",
        ),
    ];
    for (expression, expected) in table {
        let policy = condition(expression).unwrap();
        let fault =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world().filter(&policy, "fast"))).unwrap_err();
        let text = fault.downcast_ref::<String>().unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
    let policy = cel("score: pod.priority * 11").unwrap();
    let fault = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world().score(&policy, "fast"))).unwrap_err();
    assert_eq!(fault.downcast_ref::<String>().unwrap(), "cel: /score:1:1: a score is 0 to 100, found 110");
}

#[test]
fn depth_and_size_of_an_expression_are_limited() {
    let table = [
        (format!("{}pod.priority{} > 0", "[".repeat(2000), "]".repeat(2000)), "nested more than 48 deep"),
        (format!("pod.name == ''{}", " + ''".repeat(1000)), "more than 128 levels"),
        (format!("pod{}.name == ''", ".name".repeat(1000)), "more than 128 levels"),
        (format!("{}pod.name == ''", "!".repeat(7001)), "expected a bool"),
        (format!("{}true", "pod.name == '' ? true : ".repeat(300)), "of `? :` are allowed"),
        (format!("pod.name == '{}'", "x".repeat(20_000)), "bytes; at most"),
    ];
    for (expression, expected) in table {
        let taken = condition(&expression);
        let found = taken.err().unwrap_or_else(|| "a condition".to_owned());
        assert!(found.contains(expected), "{found}");
    }
    let doubled = |n| format!("- {{name: v{n}, expression: v{} + v{}}}\n", n - 1, n - 1);
    let doubled = (1..30).map(doubled).collect::<Vec<_>>().concat();
    let error =
        cel(&format!("variables:\n- {{name: v0, expression: pod.name}}\n{doubled}score: v29.size()")).unwrap_err();
    assert!(error.contains("parts with those of its variables"), "{error}");
}

#[test]
fn settings_are_validated_once() {
    assert_eq!(condition("pod.name != ''").unwrap().validate(), Ok(()));
}
