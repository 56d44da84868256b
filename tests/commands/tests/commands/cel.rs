//! A rule in CEL, from an empty directory to a decision.

use std::{fs, path::Path};

use plimsoll_commands::{Printed, plimsoll};
use plimsoll_harness::{Plimsoll, tempdir, wait_until, workspace};
use serde_json::{Value, json};

use crate::{run, text};

/// The rule of the README.
const GOLD: &str = r#"
cel:
  filter:
  - expression: pod.annotations["tier"] != "gold" || node.labels["ssd"] == "true"
    message: the node has no SSD
    unresolvable: true
"#;

/// A gold pod and two nodes, whose second has no SSD.
fn request() -> Value {
    let pod = json!({"metadata": {"name": "db-0", "namespace": "a", "uid": "u", "annotations": {"tier": "gold"}}});
    let nodes = [
        json!({"metadata": {"name": "n1", "labels": {"ssd": "true", "zone": "a"}}}),
        json!({"metadata": {"name": "n2", "labels": {"zone": "b"}}}),
    ];
    json!({"Pod": pod, "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": null})
}

/// A gateway that has these policies, 5,000 nodes with names of their own, of which every third has an SSD, and on the first
/// 400 labels and 300 pods.
fn at_size(policies: &Path, rules: &[(&str, &str)]) -> Plimsoll {
    fs::create_dir(policies).unwrap();
    for (name, rule) in rules {
        fs::write(policies.join(format!("{name}.yaml")), rule).unwrap();
    }
    let node = |number: usize| {
        let name = format!("n{number}");
        let mut labels = json!({"kubernetes.io/hostname": name});
        if number.is_multiple_of(3) {
            labels["ssd"] = "true".into();
        }
        for label in 0..if number == 0 { 400 } else { 0 } {
            labels[format!("label-{label}")] = "x".into();
        }
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    };
    let pod = |number: usize| {
        let metadata = json!({"name": format!("p{number}"), "namespace": "a", "uid": format!("u{number}")});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n0"}})
    };
    let items: Vec<Value> = (0..5_000).map(node).chain((0..300).map(pod)).collect();
    let snapshot = policies.with_extension("json");
    fs::write(&snapshot, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    Plimsoll::serve(policies, &["--no-compile-cache", "--request-timeout", "60s", "--snapshot", text(&snapshot)])
        .unwrap()
}

/// The reply about all nodes for a pod with one annotation and one label.
fn filtered(gateway: &Plimsoll, name: &str, tier: &str, label: &str) -> Value {
    let names: Vec<String> = (0..5_000).map(|number| format!("n{number}")).collect();
    let metadata =
        json!({"name": name, "namespace": "a", "uid": name, "annotations": {"tier": tier}, "labels": {label: ""}});
    gateway.ask("/filter", &json!({"Pod": {"metadata": metadata}, "Nodes": null, "NodeNames": names})).unwrap()
}

/// The nodes that the guest was asked about, by the gateway's counter.
fn evaluations(gateway: &Plimsoll, policy: &str) -> u64 {
    let metrics = gateway.get("/metrics").unwrap().body;
    let series = format!("plimsoll_policy_evaluations_total{{policy=\"{policy}\",verb=\"filter\",mode=\"enforce\"}} ");
    let value = metrics.lines().find_map(|line| line.strip_prefix(&series));
    value.map_or(0, |value| value.parse().unwrap())
}

/// Waits until the gateway rejects the node for this reason.
fn wait_for_reason(gateway: &Plimsoll, node: &str, reason: &str) {
    let is_so = || {
        let reply = gateway.ask("/filter", &request()).unwrap();
        let found = ["FailedAndUnresolvableNodes", "FailedNodes"].map(|of| reply[of][node].clone());
        found.iter().any(|found| found == reason).then_some(())
    };
    wait_until(reason, is_so).unwrap();
}

#[test]
fn a_new_rule_passes_its_cases_and_decides_at_once_and_a_wrong_edit_does_not() {
    let folder = tempdir().unwrap();
    let command = |args: &[&str]| -> Printed { plimsoll(folder.path(), args).unwrap() };
    let printed = command(&["new", "--lang", "cel", "gold"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let printed = command(&["test", "--strict", "--no-compile-cache"]);
    assert!(printed.out.starts_with("policies/gold.yaml: 2 cases passed\n"), "{printed:?}");
    let printed = command(&["new", "--lang", "cel", "gold"]);
    assert!(printed.code == Some(2) && printed.err.contains("policies/gold.yaml: it exists"), "{printed:?}");

    let policies = folder.path().join("policies");
    let gateway = Plimsoll::serve(&policies, &["--no-compile-cache"]).unwrap();
    wait_for_reason(&gateway, "n2", "gold: the node has no SSD");
    let rule = fs::read_to_string(policies.join("gold.yaml")).unwrap();
    fs::write(policies.join("gold.yaml"), rule.replace("node.labels", "node.label")).unwrap();
    gateway.wait_for_log("the refusal", |line| line["policy"] == "gold" && line["error"].is_string()).unwrap();
    let ready = wait_until("the refusal to be told", || {
        gateway.get("/readyz").ok().map(|reply| reply.body).filter(|body| body.contains("policy gold: "))
    });
    let ready = ready.unwrap();
    assert!(ready.contains("gold.yaml:5:54: cel.filter[0].expression: ") && ready.contains("`labels`"), "{ready}");
    wait_for_reason(&gateway, "n2", "gold: the node has no SSD");
    fs::write(policies.join("gold.yaml"), rule.replace("has no SSD", "is slow")).unwrap();
    wait_for_reason(&gateway, "n2", "gold: the node is slow");
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    assert_eq!(listed["policies"][0]["verbs"], json!(["filter", "validate"]));
}

#[test]
fn a_rule_about_5000_nodes_asks_its_guest_once_for_each_value_and_then_never() {
    let folder = tempdir().unwrap();
    let gateway = at_size(&folder.path().join("policies"), &[("gold", GOLD)]);
    for name in ["first", "second", "third"] {
        let reply = filtered(&gateway, name, "gold", "any");
        let (fit, rejected) = (&reply["NodeNames"], &reply["FailedAndUnresolvableNodes"]);
        assert_eq!((fit.as_array().unwrap().len(), rejected.as_object().unwrap().len()), (1_667, 3_333));
        assert_eq!(rejected["n4999"], "gold: the node has no SSD");
        assert_eq!(evaluations(&gateway, "gold"), 2, "with an SSD and without, asked about the {name} pod");
    }
    assert_eq!(filtered(&gateway, "fourth", "silver", "any")["NodeNames"].as_array().unwrap().len(), 5_000);
    let last = evaluations(&gateway, "gold");
    assert!(last <= 4, "{last}");
}

#[test]
fn a_rule_that_reads_too_much_fails_by_name_and_the_next_request_is_served() {
    let folder = tempdir().unwrap();
    let greedy = r#"
match: {podSelector: {matchExpressions: [{key: greedy, operator: Exists}]}}
timeout: 30s
cel:
  filter:
  - expression: node.labels.all(k, placed.all(p, p.labels[k] == ""))
    message: a pod has a label of the node
"#;
    let gateway = at_size(&folder.path().join("policies"), &[("gold", GOLD), ("greedy", greedy)]);
    let reply = filtered(&gateway, "greedy", "gold", "greedy");
    let error = reply["Error"].as_str().unwrap();
    let place = "greedy.yaml:6:17: cel.filter[0].expression: `node.labels.all(k, placed.all(p, ";
    let parts = ["policy greedy failed to filter: ", place, "its loops have more than 20,000 steps"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    let reply = filtered(&gateway, "next", "gold", "modest");
    assert_eq!(reply["NodeNames"].as_array().unwrap().len(), 1_667, "{}", reply["Error"]);
}

#[test]
fn ten_rules_are_one_compiled_module() {
    let folder = tempdir().unwrap();
    let (policies, cache) = (folder.path().join("policies"), folder.path().join("cache"));
    fs::create_dir(&policies).unwrap();
    for index in 0..10 {
        let rule =
            format!("cel: {{filter: [{{expression: 'node.labels[\"zone\"] != \"{index}\"', message: zone {index}}}]}}");
        fs::write(policies.join(format!("z{index}.yaml")), rule).unwrap();
    }
    let printed = plimsoll(folder.path(), &["check", "--compile-cache", text(&cache), "--strict", "policies"]).unwrap();
    assert_eq!((printed.code, printed.out.matches(": accepted\n").count()), (Some(0), 10), "{printed:?}");
    assert_eq!(printed.err.matches("compiling").count(), 1, "{printed:?}");
}

#[test]
fn a_rule_is_explained_by_the_reads_that_it_makes() {
    let folder = tempdir().unwrap();
    plimsoll(folder.path(), &["new", "--lang", "cel", "gold"]).unwrap();
    let mut pod = request()["Pod"].take();
    (pod["apiVersion"], pod["kind"]) = ("v1".into(), "Pod".into());
    fs::write(folder.path().join("pod.json"), pod.to_string()).unwrap();
    let ask = |command: &str, args: &[&str]| {
        let common = [command, "--no-compile-cache", "--policies", "policies", "--pod", "pod.json", "--sample"];
        plimsoll(folder.path(), &[&common, args].concat()).unwrap()
    };
    let printed = ask("run", &[]);
    assert!(printed.out.contains("gold: the node has no SSD"), "{printed:?}");
    let printed = ask("explain", &["--node", "node-000"]);
    for read in [r#"pod.annotation("tier")"#, r#"node.label("ssd")"#] {
        assert!(printed.out.contains(read), "{read}: {printed:?}");
    }
}

#[test]
fn each_rule_of_the_page_is_accepted() {
    let folder = tempdir().unwrap();
    let page = fs::read_to_string(workspace().join("docs/languages/cel.md")).unwrap();
    let rules: Vec<&str> = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    for (index, rule) in rules.iter().enumerate() {
        fs::write(folder.path().join(format!("rule-{index}.yaml")), rule).unwrap();
    }
    fs::write(folder.path().join("prices.csv"), "node-1,0.42\n").unwrap();
    let printed = plimsoll(folder.path(), &["check", "--no-compile-cache", "--strict", "."]).unwrap();
    assert_eq!((printed.code, printed.out.matches(": accepted\n").count()), (Some(0), rules.len()), "{}", printed.out);
    assert!(rules.len() > 20, "{} rules", rules.len());
}

#[test]
fn check_says_where_a_rule_fails_and_where_it_is_slow() {
    let folder = tempdir().unwrap();
    let check = |expression: &str| {
        let rule = format!("cel:\n  filter:\n  - expression: {expression}\n    message: no\n");
        fs::write(folder.path().join("weight.yaml"), rule).unwrap();
        plimsoll(folder.path(), &["check", "--no-compile-cache", "--strict", "weight.yaml"]).unwrap()
    };
    let failed = check(r#"int(node.labels["weight"]) > 3"#);
    let why = r#"weight.yaml:3:17: cel.filter[0].expression: `int(node.labels["weight"])`: the text is empty or absent; ask `node.labels["weight"] != "" && …` first"#;
    assert!(failed.code == Some(1) && failed.out.contains(why) && !failed.out.contains("panic"), "{failed:?}");
    let slow = check(r#"node.labels.exists(key, key.startsWith("gpu"))"#);
    let remark = "  remark   weight.yaml:3:17: cel.filter[0].expression: a loop over all of a node's labels";
    assert!(slow.code == Some(0) && slow.out.contains(remark), "{slow:?}");
}

/// A rule in CEL, and cases of the module that it is written after. Settings that a module refuses are not a rule's to refuse.
const SAMPLES: [(&str, &[&str]); 6] = [
    ("load-aware", &["load-aware/absent", "load-aware/threshold"]),
    ("licence-seats", &["cluster", "finished", "pools"]),
    ("maintenance-window", &["runtime", "window"]),
    ("tenant-pool", &["shared-pool", "tenant"]),
    ("warm-image", &["by-bytes", "by-images", "no-images"]),
    ("zone-spread", &["even", "spread", "unlabelled"]),
];

#[test]
fn a_sample_policy_in_cel_passes_the_cases_of_the_module() {
    let folder = tempdir().unwrap();
    for (rule, cases) in SAMPLES {
        for case in cases {
            let text = fs::read_to_string(workspace().join(format!("plugins/{rule}/cases/{case}.yaml"))).unwrap();
            // A rule scores one node at a time, and gives a pod nothing at its bind.
            let text = text.replace("  rank:", "  score:").replace("example.com/licence-seat: matlab/office", "");
            let text = text.replace(", record: example.com/licence-seat", "");
            let (rule, case) = (format!("plugin-sdk/cel/examples/{rule}.yaml"), folder.path().join("case.yaml"));
            fs::write(&case, text).unwrap();
            let printed = run(&["test", "--no-compile-cache", &rule, "--cases", self::text(&case)]);
            assert_eq!(printed.code, Some(0), "{rule}: {printed:?}");
        }
    }
}

#[test]
fn an_example_in_cel_passes_its_own_cases() {
    let printed = run(&["test", "--no-compile-cache", "plugin-sdk/cel/examples"]);
    assert!(printed.code == Some(0) && printed.out.contains("4 passed, 0 failed"), "{printed:?}");
}
