//! One policy in each language, in one directory, in front of a real kube-scheduler; then one of them crashes on every call.

use std::{fs, path::Path, thread};

use plimsoll_e2e::{ControlPlane, node, pod};
use plimsoll_guests::toolchains::{
    assemblyscript_example, c_example, go_example, go_program, python_example, typescript_example,
};
use plimsoll_harness::{Plimsoll, policies as samples, tempdir, wait_until};
use serde_json::{Value, json};

/// The policies. Each refuses the node of its name, and no other; the node `free` has all that they ask for.
const NODES: [&str; 8] = ["rust", "go", "c", "python", "typescript", "assemblyscript", "program", "free"];

/// The policies that want a label on the node, which the pod names in an annotation.
const LABELLED: [&str; 4] = ["c", "python", "typescript", "assemblyscript"];

const REASONS: [&str; 7] = [
    "1 rust: node is outside the namespace's pool",
    "1 go: eviction does not help",
    "1 c: node lacks the label that the pod needs",
    "1 python: node lacks the label that the pod needs",
    "1 typescript: node lacks the label that the pod needs",
    "1 assemblyscript: node lacks the label that the pod needs",
    "1 program: node is not in the zone of team a",
];

#[test]
fn policies_in_every_language_decide_together_and_go_on_when_one_crashes_on_every_call() {
    let directory = tempdir().unwrap();
    let Some(()) = lay_policies(directory.path()) else { return };
    ControlPlane::compile(directory.path()).unwrap();
    lay_go_sidecar(directory.path(), "ignore");
    let cluster = ControlPlane::start().unwrap();
    for name in NODES {
        cluster.create_node(&node_of_language(name)).unwrap();
    }
    let gateway = cluster.gateway_with_kubeconfig(directory.path(), &["--no-bind"]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, directory.path(), &["--no-bind"]).unwrap();
    let create = |name: &str, team: &str, spec: &Value| cluster.create(&asking_pod(name, team, spec)).unwrap();
    let refusing = json!({"nodeSelector": {"refused": "true"}});
    create("first", "a", &Value::Null);
    assert_eq!(cluster.node_of("default", "first").unwrap(), "free");
    create("stuck", "a", &refusing);
    let message = cluster.failure_of("default", "stuck").unwrap();
    for reason in REASONS {
        assert!(message.contains(reason), "{message}");
    }

    // Without the annotation the policy in Go reads its settings, and they say that it panics.
    cluster.kubectl(&["annotate", "nodes", "--all", "verdict-"]).unwrap();
    wait_for_refused(&gateway, &["assemblyscript", "c", "program", "python", "rust", "typescript"]);
    create("ignoring", "a", &refusing);
    assert_eq!(cluster.node_of("default", "ignoring").unwrap(), "go", "all other rules hold");

    lay_go_sidecar(directory.path(), "fail");
    gateway.wait_for_log("the sidecar", |line| line["policy"] == "go" && line["version"] == 2).unwrap();
    create("waiting", "a", &Value::Null);
    let message = cluster.failure_of("default", "waiting").unwrap();
    assert!(message.contains("go") && message.contains("panic"), "{message}");
    // The policy in Go does not match this pod, and the program lets it into every zone.
    create("other", "b", &refusing);
    let node = cluster.node_of("default", "other").unwrap();
    assert!(["go", "program"].contains(&node.as_str()), "{node}");
}

/// Builds a module; none where its toolchain is missing.
type Build = fn() -> Option<Vec<u8>>;

/// Writes all policies but the sidecar of the one in Go; none where a toolchain is missing.
fn lay_policies(directory: &Path) -> Option<()> {
    // Each on a thread of its own, because Python alone takes half a minute.
    let builds: [(&str, Build); 6] = [
        ("go", || go_example("conformance")),
        ("c", || c_example("needs-label")),
        ("python", || python_example("needs_label")),
        ("typescript", || typescript_example("needs-label")),
        ("assemblyscript", || assemblyscript_example("needs-label")),
        ("program", || go_program("go-stdio")),
    ];
    let running = builds.map(|(name, build)| (name, thread::spawn(build)));
    let built = running.map(|(name, thread)| (name, thread.join().unwrap()));
    for (name, module) in built {
        fs::write(directory.join(format!("{name}.wasm")), module?).unwrap();
    }
    fs::copy(samples().join("tenant-pool.wasm"), directory.join("rust.wasm")).unwrap();
    fs::write(directory.join("rust.yaml"), "settings: {pools: {default: blue}}\n").unwrap();
    for name in LABELLED {
        let settings = format!("timeout: 1s\nsettings: {{annotation: example.com/{name}}}\n");
        fs::write(directory.join(format!("{name}.yaml")), settings).unwrap();
    }
    Some(())
}

/// The policy answers as the node's annotation says; without it it panics. It is only asked about pods of team a.
fn lay_go_sidecar(directory: &Path, on_error: &str) {
    let text = format!(
        "onError: {on_error}\nmatch: {{podSelector: {{matchLabels: {{team: a}}}}}}\nsettings: {{topic: panic}}\n"
    );
    fs::write(directory.join("unfinished"), text).unwrap();
    fs::rename(directory.join("unfinished"), directory.join("go.yaml")).unwrap();
}

/// A node that the policy of this name refuses, and no other.
fn node_of_language(name: &str) -> Value {
    let mut node = node(name, "a", if name == "rust" { "red" } else { "blue" });
    let labels = &mut node["metadata"]["labels"];
    labels["zone"] = if name == "program" { "b" } else { "a" }.into();
    labels["refused"] = (name != "free").to_string().into();
    for language in LABELLED.iter().filter(|language| **language != name) {
        labels[format!("has-{language}")] = "true".into();
    }
    node["metadata"]["annotations"] = json!({"verdict": if name == "go" { "unresolvable" } else { "fits" }});
    node
}

fn asking_pod(name: &str, team: &str, spec: &Value) -> Value {
    let mut pod = pod("default", name, "100m", spec);
    pod["metadata"]["labels"]["team"] = team.into();
    for language in LABELLED {
        pod["metadata"]["annotations"][format!("example.com/{language}")] = format!("has-{language}").into();
    }
    pod
}

/// Waits until a pod of team a is refused by exactly these nodes.
fn wait_for_refused(gateway: &Plimsoll, expected: &[&str]) {
    let request = json!({"Pod": asking_pod("probe", "a", &Value::Null), "Nodes": null, "NodeNames": NODES});
    let refused = || {
        let reply = gateway.ask("/filter", &request).unwrap();
        let of = |key: &str| reply[key].as_object().cloned().unwrap_or_default().into_iter().map(|(node, _)| node);
        let mut names: Vec<String> = of("FailedNodes").chain(of("FailedAndUnresolvableNodes")).collect();
        names.sort();
        names
    };
    wait_until(&format!("{expected:?} to refuse"), || (refused() == expected).then_some(())).unwrap();
}
