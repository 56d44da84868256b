//! `plimsoll run`.

use std::{fs, path::Path};

use plimsoll_commands::{Printed, matches_golden, plimsoll_with};
use plimsoll_harness::{Plimsoll, guest, policies, tempdir, wait_until};
use serde_json::{Value, json};

use crate::{POD, hostile, run, run_line, text};

#[test]
fn run_prints_a_table_of_nodes_by_policy() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let printed = run_sample(policies(), &pod, "--rows 8");
    assert_eq!(printed.code, Some(0), "{printed:?}");
    matches_golden("run.txt", &printed.out).unwrap();
}

#[test]
fn run_prints_json_with_every_node_and_every_answer() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let printed = run_sample(policies(), &pod, "--output json");
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let nodes = report["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 200);
    for node in nodes {
        let verdict = if node["fits"] == true { "fits" } else { "unresolvable" };
        assert_eq!(node["decision"]["verdict"], verdict, "{node}");
        assert_eq!(node["fits"] == true, node["decision"]["reason"].is_null(), "{node}");
        assert!(!node["answers"].as_array().unwrap().is_empty(), "{node}");
    }
}

#[test]
fn run_shows_a_fault_and_goes_on_without_an_ignored_policy() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::create_dir(&dir).unwrap();
    fs::write(&pod, POD.replace("\"api\"", "\"train\"")).unwrap();
    fs::copy(guest("fragile"), dir.join("fragile.wasm")).unwrap();
    let printed = run_sample(&dir, &pod, "--rows 1");
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(
        printed.out.contains("policy fragile failed to score in a call about all 200 nodes: panic: "),
        "{}",
        printed.out
    );
    assert!(printed.out.contains("I did not expect this app"), "{}", printed.out);
    assert!(printed.out.contains("(onError: ignore: it is left out)"), "{}", printed.out);
    assert!(printed.out.contains("200 of 200 nodes are left"), "{}", printed.out);
}

#[test]
fn run_says_once_what_is_wrong_with_a_pod() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.yaml");
    fs::write(&pod, "{apiVersion: v1").unwrap();
    let printed = run(&["run", "--no-compile-cache", "--sample", "--policies", text(policies()), "--pod", text(&pod)]);
    assert_eq!(printed.code, Some(2), "{printed:?}");
    assert_eq!(printed.err.matches("expected JSON as kubectl writes it").count(), 1, "{}", printed.err);
}

/// Good filters beside one that fails every call and that no trial call can find out, as `kubectl describe pod` would send an operator here.
#[test]
fn run_never_says_that_a_node_fits_when_the_decision_failed() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::create_dir(&dir).unwrap();
    fs::write(&pod, POD).unwrap();
    fs::copy(guest("zone_drain_v1"), dir.join("zone-drain.wasm")).unwrap();
    fs::write(dir.join("broken.wasm"), hostile("trap_after_read")).unwrap();
    let on = ["run", "--no-compile-cache", "--sample", "--policies", text(&dir), "--pod", text(&pod)];
    let printed = run(&on);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("no decision: policy broken failed (onError: fail): trap: "), "{}", printed.out);
    let table = printed.out.lines().filter(|line| line.starts_with(" node-"));
    for line in table {
        assert!(line.contains("  error  "), "{line}");
    }
    for lie in ["nodes are left", "best is"] {
        assert!(!printed.out.contains(lie), "`{lie}` in\n{}", printed.out);
    }
    let printed = run(&[&on[..], &["--output", "json"]].concat());
    assert_eq!(printed.code, Some(1), "{printed:?}");
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(report["decision"]["verdict"], "error", "{}", report["decision"]);
    assert_eq!(report["decision"]["policy"], "broken");
    for node in report["nodes"].as_array().unwrap() {
        assert_eq!((&node["fits"], &node["decision"]["verdict"]), (&Value::Null, &json!("error")), "{node}");
    }
}

#[test]
fn a_command_invents_no_cluster_and_says_which_one_it_asked_about() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let rest = ["--no-compile-cache", "--policies", text(policies()), "--pod", text(&pod)];
    let commands: [&[&str]; 2] = [&["run"], &["explain", "--node", "node-000"]];
    for command in commands {
        let unnamed = run(&[command, &rest].concat());
        assert_eq!((unnamed.code, unnamed.out.as_str()), (Some(2), ""), "{command:?} {unnamed:?}");
        for choice in ["--snapshot", "--kubeconfig", "--sample"] {
            assert!(unnamed.err.contains(choice), "{command:?} {}", unnamed.err);
        }
        // In a pod without a service account, and with a kubeconfig that is not there.
        for (variable, value, why) in
            [("KUBERNETES_SERVICE_HOST", "127.0.0.1", "which cluster?"), ("KUBECONFIG", "/absent", "/absent")]
        {
            let printed = plimsoll_with(directory.path(), &[(variable, value)], &[command, &rest].concat()).unwrap();
            assert_eq!((printed.code, printed.out.as_str()), (Some(2), ""), "{command:?} {printed:?}");
            assert!(printed.err.contains(why), "{command:?} {}", printed.err);
        }
        let sample = run(&[command, &rest, &["--sample"]].concat());
        assert_eq!(sample.code, Some(0), "{sample:?}");
        assert!(sample.out.starts_with("cluster SAMPLE, not yours"), "{}", sample.out);
        let sample = run(&[command, &rest, &["--sample", "--output", "json"]].concat());
        let report: Value = serde_json::from_str(&sample.out).unwrap();
        assert_eq!(report["cluster"], json!({"source": "sample", "nodes": 200, "pods": 1000}));
    }
}

/// A kubeconfig for an API server.
fn kubeconfig(server: &str) -> String {
    format!(
        "clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x\nusers: [{{name: u, user: {{}}}}]"
    )
}

/// As kubectl: a file that is absent is skipped, and what two files name, the first one says.
#[test]
fn the_environment_names_several_kubeconfigs_and_some_may_be_absent() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("pod.json"), POD).unwrap();
    fs::write(at("empty"), "current-context: ''").unwrap();
    fs::write(at("first"), kubeconfig("http://127.0.0.1:1")).unwrap();
    fs::write(at("second"), kubeconfig("http://127.0.0.1:2")).unwrap();
    let (pod, here) = (at("pod.json"), text(directory.path()));
    let files = ["absent", "empty", "first", "absent", "second"].map(|file| format!("{here}/{file}")).join(":");
    let rest = ["run", "--no-compile-cache", "--timeout", "100ms", "--policies", text(policies()), "--pod", text(&pod)];
    let printed = plimsoll_with(directory.path(), &[("KUBECONFIG", &files)], &rest).unwrap();
    assert!(printed.err.contains("http://127.0.0.1:1/ was not heard of"), "{printed:?}");
}

#[test]
fn an_api_server_behind_a_proxy_is_refused_and_the_variable_that_names_the_proxy_is_told() {
    let directory = tempdir().unwrap();
    let (pod, config) = (directory.path().join("pod.json"), directory.path().join("kubeconfig"));
    fs::write(&pod, POD).unwrap();
    let rest = ["--no-compile-cache", "--policies", text(policies()), "--pod", text(&pod), "--timeout", "100ms"];
    let proxied = |no_proxy: &str| {
        let proxies = [("HTTPS_PROXY", "http://user:secret@127.0.0.1:1"), ("HTTP_PROXY", "proxy:1")];
        let environment = [&proxies[..], &[("NO_PROXY", no_proxy)]].concat();
        let printed = plimsoll_with(
            directory.path(),
            &environment,
            &[&["run", "--kubeconfig", text(&config)], &rest[..]].concat(),
        );
        printed.unwrap().err
    };
    fs::write(&config, kubeconfig("https://192.0.2.1:6443")).unwrap();
    let error = proxied("10.0.0.0/8");
    let expected =
        "$NO_PROXY does not cover 192.0.2.1, and $HTTPS_PROXY names the proxy http://127.0.0.1:1/, and plimsoll";
    assert!(error.contains(expected) && !error.contains("secret"), "{error}");
    assert!(proxied("192.0.2.0/24").contains("https://192.0.2.1:6443/ was not heard of"));
    fs::write(&config, kubeconfig("http://127.0.0.1:1")).unwrap();
    assert!(proxied("").contains("http://127.0.0.1:1/ was not heard of"));
}

/// One node with one device, which the pod itself has: where it is, it fits.
#[test]
fn a_pod_that_is_placed_is_not_counted_against_itself_and_its_bind_can_be_tried() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let node = |name: &str| json!({"kind": "Node", "metadata": {"name": name, "annotations": {"example.com/gpu-devices": "16Gi"}}});
    let resources = json!({"requests": {"example.com/gpu-mem": "16Gi"}});
    let pod = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml", "uid": format!("uid-{name}")},
            "spec": {"containers": [{"name": "main", "image": "train:1", "resources": resources}]}})
    };
    let mut placed = pod("a0");
    placed["metadata"]["annotations"] = json!({"example.com/gpu-device": "0"});
    placed["spec"]["nodeName"] = "n0".into();
    fs::write(at("cluster.json"), json!({"kind": "List", "items": [node("n0"), node("n1"), placed]}).to_string())
        .unwrap();
    fs::write(at("placed.json"), placed.to_string()).unwrap();
    fs::write(at("same.json"), pod("a0").to_string()).unwrap();
    fs::write(at("other.json"), pod("b0").to_string()).unwrap();
    let dir = at("policies");
    lay_policy(&dir, "gpu-binpack");
    let snapshot = at("cluster.json");
    let on = ["--no-compile-cache", "--output", "json", "--policies", text(&dir), "--snapshot", text(&snapshot)];
    let ask = |command: &[&str], pod: &str| -> Value {
        let printed = run(&[command, &on, &["--pod", text(&at(pod))]].concat());
        assert_eq!(printed.code, Some(0), "{printed:?}");
        serde_json::from_str(&printed.out).unwrap()
    };
    let given =
        json!({"annotations": {"example.com/gpu-device": "0", "example.com/gpu-mem": (16_u64 << 30).to_string()}});
    for own in ["placed.json", "same.json"] {
        let told = ask(&["explain", "--node", "n0"], own);
        assert_eq!((&told["decision"], &told["bind"]), (&json!({"verdict": "fits"}), &given), "{own} {told:#}");
        assert_eq!(told["kubeScheduler"]["plugin"], "NodeResourcesFit", "{own} {told:#}");
        let ignored = ["--node", "n0", "--ignored-by-scheduler", "example.com/gpu-mem"];
        let told = ask(&[&["explain"], &ignored[..]].concat(), own);
        assert_eq!(told["kubeScheduler"], Value::Null, "{own} {told:#}");
        let told = ask(&[&["run"], &ignored[..]].concat(), own);
        assert_eq!(told["nodes"][0]["fits"], true, "{own} {told:#}");
        // It could have gone elsewhere, though it names its node.
        assert_eq!(told["decision"]["asked"], 2, "{own} {told:#}");
    }
    let full = "no GPU of the node has enough memory left";
    let told = ask(&["explain", "--node", "n0"], "other.json");
    assert_eq!(told["decision"], json!({"verdict": "unschedulable", "reason": format!("gpu-binpack: {full}")}));
    assert_eq!(told["bind"], json!({"verdict": "refused", "reason": format!("gpu-binpack: {full}")}));
    let bind = told["answers"].as_array().unwrap().iter().find(|answer| answer["verb"] == "bind").unwrap();
    assert_eq!(bind["answer"], json!({"verdict": "refused", "reason": full}));
    assert!(!bind["reads"].as_array().unwrap().is_empty(), "{bind}");
    let of_other =
        format!("--policies {} --snapshot {} --pod {}", text(&dir), text(&snapshot), text(&at("other.json")));
    let printed = run_line(&format!("explain --node n1 --no-compile-cache {of_other}"));
    let rejected = "kube-scheduler: its filter NodeResourcesFit rejects the node: Insufficient example.com/gpu-mem";
    let first = "pod ml/b0 on node n1: fits\nbind: example.com/gpu-device=0, example.com/gpu-mem=17179869184\n";
    assert!(printed.out.contains(&format!("{first}{rejected}")), "{}", printed.out);
    let printed = run_line(&format!("run --node nope --no-compile-cache {of_other}"));
    assert_eq!(printed.code, Some(2), "{printed:?}");
    assert!(printed.err.contains("the cluster has no node 'nope'"), "{}", printed.err);
}

/// The running gateway, asked by `/api/explain` and on the wire with what `kubectl get pod -o json` prints.
#[test]
fn a_gateway_does_not_count_a_placed_pod_against_itself() {
    let directory = tempdir().unwrap();
    let node = json!({"kind": "Node", "metadata": {"name": "n0", "annotations": {"example.com/gpu-devices": "16Gi"}}});
    let resources = json!({"requests": {"example.com/gpu-mem": "16Gi"}});
    let placed = json!({"kind": "Pod", "metadata": {"name": "a0", "namespace": "ml", "uid": "a0", "annotations": {"example.com/gpu-device": "0"}},
        "spec": {"nodeName": "n0", "containers": [{"name": "main", "image": "train:1", "resources": resources}]}});
    let snapshot = directory.path().join("cluster.json");
    fs::write(&snapshot, json!({"kind": "List", "items": [node, placed]}).to_string()).unwrap();
    let dir = directory.path().join("policies");
    lay_policy(&dir, "gpu-binpack");
    let gateway = Plimsoll::serve(&dir, &["--no-compile-cache", "--snapshot", text(&snapshot)]).unwrap();
    wait_until("the policy", || (gateway.get("/readyz").unwrap().status == 200).then_some(())).unwrap();
    let told = gateway.post_admin("/api/explain?node=n0", &placed).unwrap();
    let told: Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!(told["decision"], json!({"verdict": "fits"}), "{told:#}");
    assert_eq!(told["bind"]["annotations"]["example.com/gpu-device"], "0", "{told:#}");
    let filter = |pod: &Value| gateway.ask("/filter", &json!({"Pod": pod, "NodeNames": ["n0"]})).unwrap();
    assert_eq!(filter(&placed)["NodeNames"], json!(["n0"]));
    let mut other = placed.clone();
    other["metadata"]["uid"] = "b0".into();
    assert_eq!(filter(&other)["NodeNames"], json!([]));
    // An answer that was computed without the pod is not used for another pod.
    assert_eq!(filter(&placed)["NodeNames"], json!(["n0"]));
    assert_eq!(filter(&other)["NodeNames"], json!([]));
}

/// A `rank` compares the nodes that it is asked about, so the answer must not depend on which rows are shown.
#[test]
fn run_says_of_one_node_what_it_says_of_it_among_all() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let on = ["run", "--no-compile-cache", "--sample", "--policies", text(policies()), "--pod", text(&pod)];
    let report = |flags: &[&str]| -> Value {
        let printed = run(&[&on[..], &["--output", "json"], flags].concat());
        assert_eq!(printed.code, Some(0), "{printed:?}");
        serde_json::from_str(&printed.out).unwrap()
    };
    let all = report(&[]);
    let some = report(&["--node", "node-003,node-150", "--node", "node-003"]);
    assert_eq!(some["decision"], all["decision"]);
    let shown = some["nodes"].as_array().unwrap();
    assert_eq!(shown.len(), 2, "{some:#}");
    for node in shown {
        let expected = all["nodes"].as_array().unwrap().iter().find(|other| other["node"] == node["node"]).unwrap();
        assert_eq!(node, expected);
    }
    let printed = run(&[&on[..], &["--node", "node-003"]].concat()).out;
    assert!(printed.contains("110 of 200 nodes are left; best is node-000"), "{printed}");
    assert_eq!(printed.lines().filter(|line| line.starts_with(" node-")).count(), 1, "{printed}");
}

#[test]
fn a_group_without_policies_is_an_error_that_names_the_other_groups() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::create_dir_all(dir.join("gpu")).unwrap();
    fs::write(&pod, POD).unwrap();
    fs::copy(guest("zone_drain_v1"), dir.join("gpu/zone-drain.wasm")).unwrap();
    let ask = |command: &[&str], flags: &[&str]| {
        let on = ["--no-compile-cache", "--sample", "--policies", text(&dir), "--pod", text(&pod)];
        run(&[command, &on, flags].concat())
    };
    let commands: [&[&str]; 2] = [&["run"], &["explain", "--node", "node-000"]];
    for command in commands {
        for (flags, expected) in [
            (&[][..], "the policies are in groups: gpu; choose one with --group NAME"),
            (&["--group", "gpux"], "there are no policies in the group 'gpux'; there are some in gpu"),
        ] {
            let printed = ask(command, flags);
            assert_eq!((printed.code, printed.out.as_str()), (Some(2), ""), "{printed:?}");
            assert!(printed.err.contains(expected), "{printed:?}");
        }
        let printed = ask(command, &["--group", "gpu"]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
    }
    fs::copy(guest("zone_drain_v1"), dir.join("zone-drain.wasm")).unwrap();
    fs::write(dir.join("gpu/zone-drain.wasm"), "no wasm").unwrap();
    let printed = ask(&["run"], &[]);
    assert!(printed.err.contains("policy gpu/zone-drain cannot be loaded"), "{printed:?}");
}

#[test]
fn run_counts_what_further_policies_reject_too() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::create_dir(&dir).unwrap();
    fs::write(&pod, POD).unwrap();
    for file in ["a.wasm", "b.wasm", "a.yaml", "b.yaml"] {
        fs::copy(policies().join(format!("tenant-pool{}", &file[1..])), dir.join(file)).unwrap();
    }
    let printed = run_sample(&dir, &pod, "");
    let outside = "node is outside the namespace's pool";
    assert!(
        printed.out.contains(&format!("     90  a: {outside}\n     90  of these also b: {outside}\n")),
        "{printed:?}"
    );
}

/// A pod that fits none of the sample nodes that its nodeSelector leaves, and one for which no node is left at all.
#[test]
fn policies_are_asked_only_about_nodes_that_pass_the_filters_of_kube_scheduler() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    lay_policy(&dir, "tenant-pool");
    let on = ["run", "--no-compile-cache", "--sample", "--policies", text(&dir), "--pod", text(&pod)];
    let ask = |spec: Value, flags: &[&str]| {
        let mut asked: Value = serde_json::from_str(POD).unwrap();
        let own = asked["spec"].as_object_mut().unwrap();
        own.extend(spec.as_object().unwrap().clone());
        fs::write(&pod, asked.to_string()).unwrap();
        let printed = run(&[&on[..], flags].concat());
        assert_eq!(printed.code, Some(0), "{printed:?}");
        printed.out
    };
    let (selector, outside) = (
        "kube-scheduler: node(s) didn't match Pod's node affinity/selector",
        "tenant-pool: node is outside the namespace's pool",
    );
    let gpu = json!({"nodeSelector": {"example.com/pool": "gpu"}, "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]});
    let out = ask(gpu.clone(), &["--rows", "1"]);
    let summary = format!(
        "0 of 200 nodes are left; kube-scheduler's own filters reject 160\n    160  {selector}\n     40  {outside}\n\
         not asked of kube-scheduler: VolumeBinding; they may reject more nodes\n"
    );
    assert!(out.ends_with(&summary), "{out}");
    let row =
        " node-000 and 159 more  unresolvable           node(s) didn't match Pod's node affinity/selector  not asked";
    assert!(out.lines().any(|line| line == row), "{out}");
    let report: Value =
        serde_json::from_str(&ask(gpu.clone(), &["--output", "json", "--node", "node-000,node-160"])).unwrap();
    assert_eq!(
        report["decision"],
        json!({"verdict": "unschedulable", "nodes": 200, "asked": 40, "left": 0, "best": null, "scores": null})
    );
    let [first, gpu_node] = [0, 1].map(|at| &report["nodes"][at]);
    let told = json!({"fits": false, "plugin": "NodeAffinity", "reasons": ["node(s) didn't match Pod's node affinity/selector"]});
    assert_eq!((&first["kubeScheduler"], &first["answers"]), (&told, &json!([])), "{first}");
    assert_eq!(first["decision"], json!({"verdict": "unresolvable", "reason": selector}), "{first}");
    assert_eq!(
        (&gpu_node["kubeScheduler"]["fits"], &gpu_node["decision"]["reason"]),
        (&json!(true), &json!(outside)),
        "{gpu_node}"
    );
    let out = ask(gpu, &["--policies-only"]);
    assert!(out.contains("110 of 200 nodes are left") && !out.contains("kube-scheduler"), "{out}");
    let huge = json!({"containers": [{"resources": {"requests": {"cpu": "99"}}}]});
    let out = ask(huge, &[]);
    let summary =
        "0 of 200 nodes are left; kube-scheduler's own filters reject 200\n    200  kube-scheduler: Insufficient cpu\n";
    assert!(out.ends_with(summary), "{out}");
}

#[test]
fn nodes_that_no_policy_scores_have_no_score_and_none_is_best() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::create_dir(&dir).unwrap();
    fs::write(&pod, POD).unwrap();
    fs::copy(guest("zone_drain_v1"), dir.join("zone-drain.wasm")).unwrap();
    let on = ["run", "--no-compile-cache", "--sample", "--policies", text(&dir), "--pod", text(&pod)];
    let printed = run(&on).out;
    assert!(printed.contains("nodes are left; no policy scores them\n"), "{printed}");
    let printed = run(&[&on[..], &["--output", "json"]].concat()).out;
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&report["decision"]["best"], &report["nodes"][0]["score"]), (&Value::Null, &Value::Null));
}

/// A file that is bad does not keep an operator from asking the others, as it does not stop a gateway.
#[test]
fn run_and_explain_go_on_without_a_policy_that_cannot_be_loaded() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::create_dir(&dir).unwrap();
    fs::write(&pod, POD).unwrap();
    fs::copy(guest("zone_drain_v1"), dir.join("zone-drain.wasm")).unwrap();
    fs::write(dir.join("bad.wasm"), "no wasm").unwrap();
    let on = ["--no-compile-cache", "--sample", "--policies", text(&dir), "--pod", text(&pod)];
    let commands: [&[&str]; 2] = [&["run"], &["explain", "--node", "node-000"]];
    for command in commands {
        let printed = run(&[command, &on].concat());
        assert_eq!(printed.code, Some(1), "the decision is not that of all policies: {printed:?}");
        assert!(printed.err.contains("plimsoll: policy bad cannot be loaded: "), "{printed:?}");
        assert!(printed.out.contains("zone-drain"), "{printed:?}");
        assert!(printed.out.contains("policy bad is left out: it cannot be loaded\n"), "{printed:?}");
        let printed = run(&[command, &on, &["--output", "json"]].concat());
        let report: Value = serde_json::from_str(&printed.out).unwrap();
        assert_eq!((printed.code, &report["leftOut"][0]["policy"]), (Some(1), &json!("bad")), "{report}");
        assert!(report["leftOut"][0]["error"].as_str().unwrap().contains("this is not WebAssembly"), "{report}");
    }
    fs::remove_file(dir.join("bad.wasm")).unwrap();
    let printed = run(&[&["run"], &on[..], &["--output", "json"]].concat());
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!((printed.code, &report["leftOut"]), (Some(0), &json!([])));
}

#[test]
fn run_explain_and_a_recorded_case_count_a_pod_that_is_nominated_for_a_node() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let module = plimsoll_guests::compile("cpu", include_str!("../../../guests/guests/good/cpu.wat"));
    fs::create_dir(at("policies")).unwrap();
    fs::write(at("policies").join("cpu.wasm"), module).unwrap();
    let pod = |name: &str, priority: i32, cpu: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "web", "uid": name},
            "spec": {"priority": priority, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}})
    };
    let mut waiting = pod("high", 1_000, "4");
    waiting["status"] = json!({"phase": "Pending", "nominatedNodeName": "n1",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}});
    fs::write(at("cluster.json"), json!({"kind": "List", "items": [node, waiting]}).to_string()).unwrap();
    let (policies, cluster, file) = (at("policies"), at("cluster.json"), at("pod.json"));
    let of = ["--pod", text(&file), "--snapshot", text(&cluster), "--no-compile-cache"];
    let ask = |args: &[&str]| {
        let printed = run(&[args, &of, &["--policies", text(&policies), "--output", "json"]].concat());
        serde_json::from_str::<Value>(&printed.out).unwrap_or_else(|_| panic!("{printed:?}"))
    };
    for (name, priority, verdict) in [("low", 0, "unschedulable"), ("higher", 2_000, "fits"), ("high", 1_000, "fits")] {
        fs::write(&file, pod(name, priority, "1").to_string()).unwrap();
        assert_eq!(ask(&["run"])["nodes"][0]["decision"]["verdict"], verdict, "{name}");
        assert_eq!(ask(&["explain", "--node", "n1"])["answers"][0]["answer"]["verdict"], verdict, "{name}");
        let (module, case) = (policies.join("cpu.wasm"), at(&format!("{name}.yaml")));
        let recorded = run(&[&["test", text(&module), "--record", text(&case)], &of[..]].concat());
        assert_eq!(recorded.code, Some(0), "{recorded:?}");
        let passed = run(&["test", "--no-compile-cache", "--cases", text(&case), text(&module)]);
        assert_eq!(passed.code, Some(0), "{passed:?}");
        let case = fs::read_to_string(case).unwrap();
        assert_eq!(
            (case.contains("nominatedNodeName"), case.contains("not enough cpu")),
            (name == "low", name == "low")
        );
    }
}

#[test]
fn run_and_explain_name_the_class_that_provides_a_resource_which_the_node_lacks() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let module = plimsoll_guests::compile("cpu", include_str!("../../../guests/guests/good/cpu.wat"));
    fs::create_dir(at("policies")).unwrap();
    fs::write(at("policies").join("cpu.wasm"), module).unwrap();
    let resources = json!({"requests": {"cpu": "1", "example.com/gpu": "1"}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}});
    let node = |name: &str, allocatable: Value| json!({"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}});
    let nodes = [node("dra", json!({"cpu": "4"})), node("plugin", json!({"cpu": "4", "example.com/gpu": "1"}))];
    let class = json!({"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}});
    let (policies, cluster, file) = (at("policies"), at("cluster.json"), at("pod.json"));
    fs::write(&file, pod.to_string()).unwrap();
    let of = ["--policies", text(&policies), "--pod", text(&file), "--snapshot", text(&cluster), "--no-compile-cache"];
    let remark = "DeviceClass gpu provides example.com/gpu: devices are not modelled";
    for (items, fits, devices) in [
        (json!([nodes[0], nodes[1]]), [false, true], ["", ""]),
        (json!([nodes[0], nodes[1], class]), [true, true], [remark, ""]),
    ] {
        fs::write(&cluster, json!({"kind": "List", "items": items}).to_string()).unwrap();
        let json = |args: &[&str]| {
            let printed = run(&[args, &of, &["--output", "json"]].concat());
            serde_json::from_str::<Value>(&printed.out).unwrap_or_else(|_| panic!("{printed:?}"))
        };
        let report = json(&["run"]);
        for (at, name) in ["dra", "plugin"].into_iter().enumerate() {
            let row = report["nodes"].as_array().unwrap().iter().find(|row| row["node"] == name).unwrap();
            let told = |report: &Value| report["devices"].as_str().unwrap_or_default().to_owned();
            let own = &row["kubeScheduler"];
            assert_eq!((&own["fits"], told(own).as_str()), (&json!(fits[at]), devices[at]));
            let explained = json(&["explain", "--node", name]);
            assert_eq!(
                explained["kubeScheduler"]["plugin"], own["plugin"],
                "kube-scheduler rejects the node here, too"
            );
            assert_eq!(told(&explained), devices[at]);
        }
        assert_eq!(run(&[&["run"], &of[..]].concat()).out.contains(remark), !devices[0].is_empty());
    }
}

/// n1 has a pod that keeps others with the label `app=web` away from its host.
#[test]
fn run_and_explain_show_whom_placed_pods_keep_away_and_which_pods_are_not_tried() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let module = plimsoll_guests::compile("cpu", include_str!("../../../guests/guests/good/cpu.wat"));
    fs::create_dir(at("policies")).unwrap();
    fs::write(at("policies").join("cpu.wasm"), module).unwrap();
    let node = |name: &str| {
        json!({"kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "4"}}})
    };
    let term = json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}});
    let lonely = json!({"kind": "Pod", "metadata": {"name": "lonely", "namespace": "default", "uid": "lonely"}, "spec": {
        "nodeName": "n1", "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}});
    let (policies, cluster, file) = (at("policies"), at("cluster.json"), at("pod.json"));
    fs::write(&cluster, json!({"kind": "List", "items": [node("n1"), node("n2"), lonely]}).to_string()).unwrap();
    let of = ["--policies", text(&policies), "--pod", text(&file), "--snapshot", text(&cluster), "--no-compile-cache"];
    let reason = "node(s) didn't satisfy existing pods anti-affinity rules";
    let (gated, deleted) = (json!({"schedulingGates": [{"name": "a.com/quota"}]}), json!("2026-01-01T00:00:00Z"));
    for (spec, deletion, why) in [
        (json!({}), Value::Null, None),
        (gated, Value::Null, Some("it has a scheduling gate")),
        (json!({}), deleted, Some("it is being deleted")),
    ] {
        let metadata = json!({"name": "p", "labels": {"app": "web"}, "deletionTimestamp": deletion});
        fs::write(&file, json!({"kind": "Pod", "metadata": metadata, "spec": spec}).to_string()).unwrap();
        for command in [&["run"][..], &["explain", "--node", "n1"]] {
            let out = run(&[command, &of].concat()).out;
            let line = why.map(|why| format!("kube-scheduler does not try the pod: {why}\n"));
            assert!(out.contains(reason) && line.is_none_or(|line| out.contains(&line)), "{out}");
            let is_run = command == ["run"];
            assert_eq!(out.contains("\notherwise 1 of 2 nodes is left"), is_run && why.is_some(), "{out}");
            let json = run(&[command, &of, &["--output", "json"]].concat()).out;
            let report: Value = serde_json::from_str(&json).unwrap();
            let own = if is_run { &report["nodes"][1]["kubeScheduler"] } else { &report["kubeScheduler"] };
            assert_eq!(*own, json!({"fits": false, "plugin": "InterPodAffinity", "reasons": [reason]}));
            assert_eq!(report["notTried"], json!(why));
        }
    }
}

/// A directory with a sample policy.
fn lay_policy(directory: &Path, name: &str) {
    fs::create_dir(directory).unwrap();
    for file in [format!("{name}.wasm"), format!("{name}.yaml")] {
        fs::copy(policies().join(&file), directory.join(&file)).unwrap();
    }
}

/// Asks the policies about the pod on the sample cluster.
fn run_sample(policies: &Path, pod: &Path, flags: &str) -> Printed {
    run_line(&format!("run --no-compile-cache --sample --policies {} --pod {} {flags}", text(policies), text(pod)))
}
