//! `plimsoll explain` and `plimsoll check --purity`: the reads of a policy, and its answers by them.

use std::fs;

use plimsoll_harness::{policies, tempdir};
use serde_json::{Value, json};

use crate::{POD, run, run_line, text};

fn answers<'r>(report: &'r Value, policy: &str) -> &'r Value {
    let answers = report["answers"].as_array().unwrap();
    answers.iter().find(|answer| answer["policy"] == policy).unwrap()
}

#[test]
fn explain_prints_every_read_with_its_value_and_the_verdict() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let on =
        ["--no-compile-cache", "--sample", "--policies", text(policies()), "--pod", text(&pod), "--node", "node-000"];
    let printed = run(&[&["explain", "--output", "json"], &on[..]].concat());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let filter = answers(&report, "tenant-pool");
    assert_eq!((&filter["answer"], &filter["cached"]), (&json!({"verdict": "fits"}), &json!(true)));
    let label = json!({"read": "node.label(\"example.com/pool\")", "value": "shared", "others": false});
    assert!(filter["reads"].as_array().unwrap().contains(&label), "{filter}");
    assert_eq!(report["cluster"]["source"], "sample");
}

#[test]
fn explain_shows_settings_and_a_refusal_quotes_the_policy() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let policies_of = |settings: &str| {
        let of = tempdir().unwrap();
        fs::copy(policies().join("tenant-pool.wasm"), of.path().join("tenant-pool.wasm")).unwrap();
        fs::write(of.path().join("tenant-pool.yaml"), format!("settings: {settings}\n")).unwrap();
        of
    };
    let explain = |of: &std::path::Path| {
        run_line(&format!(
            "explain --no-compile-cache --sample --policies {} --pod {} --node node-000",
            text(of),
            text(&pod)
        ))
    };
    let good = policies_of("{pools: {team-a: pool-a}}");
    let printed = explain(good.path());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(printed.out.contains(r#""team-a":"pool-a""#), "{}", printed.out);
    let bad = policies_of("{pools: {team-a: pool-a}, shared: [pool-a]}");
    let printed = explain(bad.path());
    assert!(printed.err.contains("the pool 'pool-a' is shared"), "{printed:?}");
}

#[test]
fn check_says_of_each_policy_what_its_purity_is() {
    let at = |name: &str| policies().join(name);
    let purity = |module: &str| run(&["check", "--purity", "--no-compile-cache", text(&at(module))]).out;
    let rank = purity("zone-spread.wasm");
    assert!(rank.contains("purity   rank: the same when asked again about the 200 sample nodes for one sample pod; ranks are not cached"), "{rank}");
    let preempt = purity("preempt-guard.wasm");
    assert!(preempt.contains("purity   nothing to compare: it has neither filter, score nor rank"), "{preempt}");
}

#[test]
fn explain_shows_the_beginning_of_a_long_list_and_json_all_of_it() {
    let directory = tempdir().unwrap();
    let (pod, folder) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::write(&pod, POD).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::copy(policies().join("zone-spread.wasm"), folder.join("zone-spread.wasm")).unwrap();
    let about = ["--no-compile-cache", "--sample", "--policies", text(&folder), "--pod", text(&pod)];
    let args = [&["explain", "--node", "node-170"][..], &about].concat();
    let printed = run(&args);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(printed.out.contains(" and 180 more]"), "{}", printed.out);
    let report: Value = serde_json::from_str(&run(&[&args[..], &["--output", "json"]].concat()).out).unwrap();
    let reads = report["answers"][0]["reads"].as_array().unwrap();
    assert!(reads.iter().any(|read| read["value"].as_array().is_some_and(|counts| counts.len() == 200)), "{report:#}");
}
