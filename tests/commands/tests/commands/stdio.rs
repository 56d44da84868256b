//! Programs that answer on standard output, as a user meets them: `check`, `run`, `explain`, `table`, `test`, `serve`.

use std::{fs, path::Path};

use plimsoll_commands::{Printed, plimsoll};
use plimsoll_guests::toolchains::c_program;
use plimsoll_harness::{Plimsoll, TempDir, policies, tempdir};
use serde_json::{Value, json};

use crate::text;

/// The answers that the pod of these tests asks the program for, by verb: one that fits the request about three nodes.
const VERDICTS: &str =
    r#"{"NodeNames":["n1"],"FailedNodes":{"n2":"full"},"FailedAndUnresolvableNodes":{"n3":"no gpu"}}"#;
const SCORES: &str = r#"[{"Host":"n2","Score":10},{"Host":"n1","Score":4}]"#;

/// A policies directory with the program and its sidecar, a snapshot of three nodes, and a pod; none without a compiler.
struct Stage(TempDir);

impl Stage {
    fn new(sidecar: &str) -> Option<Self> {
        let (module, directory) = (c_program()?, tempdir().unwrap());
        fs::create_dir(directory.path().join("policies")).unwrap();
        let stage = Self(directory);
        stage.write("policies/says.wasm", module);
        stage.write("policies/says.yaml", sidecar);
        let nodes: Vec<Value> = ["n1", "n2", "n3"].map(node).into();
        stage.write("cluster.json", json!({"kind": "List", "apiVersion": "v1", "items": nodes}).to_string());
        stage.write("pod.json", pod(VERDICTS).to_string());
        Some(stage)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), content).unwrap();
    }

    /// Runs a command on the directory, the snapshot and the pod.
    fn ask(&self, command: &[&str]) -> Printed {
        let about = ["--no-compile-cache", "--policies", "policies", "--snapshot", "cluster.json", "--pod", "pod.json"];
        plimsoll(self.path(), &[command, &about].concat()).unwrap()
    }

    fn check(&self) -> Printed {
        plimsoll(self.path(), &["check", "--no-compile-cache", "policies/says.yaml"]).unwrap()
    }

    fn serve(&self) -> Plimsoll {
        let cluster = self.path().join("cluster.json");
        Plimsoll::serve(&self.path().join("policies"), &["--no-compile-cache", "--snapshot", text(&cluster)]).unwrap()
    }
}

fn node(name: &str) -> Value {
    json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "labels": {"zone": "a"}}})
}

fn pod(say: &str) -> Value {
    json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "default", "uid": "u", "annotations": {"say": say}}})
}

fn by_name(say: &str) -> Value {
    json!({"Pod": pod(say), "Nodes": null, "NodeNames": ["n1", "n2", "n3"]})
}

fn whole(say: &str) -> Value {
    let nodes: Vec<Value> = ["n1", "n2", "n3"].map(node).into();
    json!({"Pod": pod(say), "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": null})
}

#[test]
fn a_program_decides_with_names_and_with_whole_nodes() {
    let Some(stage) = Stage::new("stdio: {verbs: [filter, prioritize]}\nonError: fail\n") else { return };
    let gateway = stage.serve();
    for request in [by_name, whole] {
        let reply = gateway.ask("/filter", &request(VERDICTS)).unwrap();
        let rejected = json!({"n2": "says: full", "n3": "says: no gpu"});
        assert_eq!(reply["FailedAndUnresolvableNodes"], rejected, "{reply}");
        let scores = gateway.ask("/prioritize", &request(SCORES)).unwrap();
        let expected = json!([{"Host": "n1", "Score": 4}, {"Host": "n2", "Score": 10}, {"Host": "n3", "Score": 0}]);
        assert_eq!(scores, expected);
    }
    // The mistake of the program is the error of the decision.
    let reply = gateway.ask("/filter", &by_name("no json")).unwrap();
    let error = reply["Error"].as_str().unwrap();
    assert!(error.starts_with("policy says failed to filter: output"), "{error}");
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    assert_eq!(listed["policies"][0]["verbs"], json!(["filter", "rank"]));
    assert_eq!((&listed["policies"][0]["timeout"], &listed["policies"][0]["memory"]), (&json!("2s"), &json!(64 << 20)));
    assert_eq!(listed["policies"][0]["cached"], json!({"filter": "it reads everything for each answer"}));
}

#[test]
fn a_program_in_shadow_mode_is_asked_and_not_obeyed_and_on_error_applies() {
    let Some(stage) = Stage::new("mode: shadow\n") else { return };
    stage.write("policies/quiet.yaml", "module: says.wasm\nonError: ignore\n");
    let gateway = stage.serve();
    let reply = gateway.ask("/filter", &by_name(VERDICTS)).unwrap();
    assert_eq!(reply["FailedAndUnresolvableNodes"], json!({"n2": "quiet: full", "n3": "quiet: no gpu"}), "{reply}");
    let would = |line: &Value| line["policy"] == "says" && line["message"].to_string().contains("would");
    gateway.wait_for_log("the shadow's verdict", would).unwrap();
    let reply = gateway.ask("/filter", &by_name("no json")).unwrap();
    assert_eq!((&reply["NodeNames"], &reply["Error"]), (&json!(["n1", "n2", "n3"]), &json!("")), "{reply}");
}

#[test]
fn run_explain_and_test_show_a_program_as_any_other_policy() {
    let Some(stage) = Stage::new("stdio: {verbs: [filter]}\n") else { return };
    let run = stage.ask(&["run"]);
    assert!(run.out.contains("says: full") && run.out.contains("says: no gpu"), "{run:?}");
    let explained = stage.ask(&["explain", "--node", "n2"]);
    assert!(explained.out.contains("says filter: "), "{explained:?}");
    let read = |node: &str| explained.out.contains(&format!("\\\"name\\\":\\\"{node}\\\""));
    assert!(read("n2") && !read("n1"), "{explained:?}");
    assert!(explained.out.contains("not cached: the policy is called for every request"), "{explained:?}");

    let case = |rejected: &str| {
        let (pod, nodes) = (pod(VERDICTS), ["n1", "n2", "n3"].map(node));
        let n2 = json!({"unschedulable": rejected});
        let verdicts = json!({"n1": "fits", "n2": n2, "n3": {"unresolvable": "no gpu"}});
        json!({"description": "three nodes", "pod": pod, "nodes": nodes, "expect": {"filter": verdicts}}).to_string()
    };
    let test = || plimsoll(stage.path(), &["test", "--no-compile-cache", "--cases", "cases", "policies/says.yaml"]);
    fs::create_dir(stage.path().join("cases")).unwrap();
    stage.write("cases/three.yaml", case("full"));
    let passed = test().unwrap();
    assert_eq!(passed.code, Some(0), "{passed:?}");
    stage.write("cases/three.yaml", case("empty"));
    let failed = test().unwrap();
    assert!(failed.code == Some(1) && failed.out.contains("full"), "{failed:?}");
}

#[test]
fn check_says_that_it_is_a_stdio_command_and_which_verbs_it_is_asked() {
    let Some(stage) = Stage::new("stdio: {verbs: [filter, prioritize]}\n") else { return };
    // The pod of the trial asks the program for nothing.
    let printed = stage.check();
    assert!(printed.out.contains("  verbs    filter, rank\n"), "{printed:?}");
    assert!(printed.out.contains("  kind     stdio command, made a component\n"), "{printed:?}");
    assert!(
        printed.out.contains("it wrote nothing to standard output; expected an ExtenderFilterResult"),
        "{printed:?}"
    );
}

#[test]
fn a_key_that_has_no_effect_on_a_program_or_on_another_module_is_refused() {
    for (sidecar, text) in [
        ("settings: {zone: a}\n", "REFUSED, settings: a program on standard input gets no settings"),
        ("facts: [load]\n", "REFUSED, facts: a program on standard input gets no facts"),
        ("stdio: {verbs: []}\n", "stdio.verbs: an empty list: expected at least one of filter and prioritize"),
        ("stdio: {verbs: [bind]}\n", "stdio.verbs[0]: found 'bind': expected one of filter, prioritize"),
    ] {
        let Some(stage) = Stage::new(sidecar) else { return };
        let printed = stage.check();
        assert!(printed.code == Some(1) && printed.out.contains(text), "{printed:?}");
    }
    let directory = tempdir().unwrap();
    fs::copy(policies().join("tenant-pool.wasm"), directory.path().join("pool.wasm")).unwrap();
    fs::write(directory.path().join("pool.yaml"), "stdio: {}\n").unwrap();
    let printed = plimsoll(directory.path(), &["check", "--no-compile-cache", "pool.yaml"]).unwrap();
    assert!(
        printed.out.contains("REFUSED, stdio: the module says by its exports which verbs it answers"),
        "{printed:?}"
    );
}
