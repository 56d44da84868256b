//! `plimsoll check`.

use std::fs;

use plimsoll_commands::{matches_golden, plimsoll, steady};
use plimsoll_harness::{FakeApi, guest, policies, tempdir, workspace};
use serde_json::{Value, json};

use crate::{POD, hostile, run, text};

#[test]
fn check_tells_what_each_sample_policy_is() {
    let files = ["tenant-pool", "warm-image", "zone-spread", "preempt-guard", "gpu-binpack"];
    let files: Vec<String> = files.iter().map(|name| format!("target/policies/{name}.wasm")).collect();
    policies();
    let args: Vec<&str> = ["check", "--no-compile-cache"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let printed = run(&args);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    matches_golden("check.txt", &steady(&printed.out)).unwrap();
}

#[test]
fn check_says_why_a_file_is_refused_and_exits_with_1() {
    let directory = tempdir().unwrap();
    let bad = directory.path().join("bad.wasm");
    fs::write(&bad, "no wasm at all").unwrap();
    fs::write(directory.path().join("notes.txt"), "no policy").unwrap();
    let printed =
        plimsoll(directory.path(), &["check", "--no-compile-cache", "bad.wasm", "missing.wasm", "notes.txt"]).unwrap();
    assert_eq!(printed.code, Some(1));
    matches_golden("check-refused.txt", &printed.out).unwrap();
}

#[test]
fn check_of_a_directory_names_files_that_serve_would_ignore() {
    let directory = tempdir().unwrap();
    let folder = directory.path().join("p");
    fs::create_dir_all(folder.join("gpu/deep")).unwrap();
    for name in ["good.wasm", "Warm.WASM", "gpu/deep/x.wasm"] {
        fs::copy(policies().join("zone-spread.wasm"), folder.join(name)).unwrap();
    }
    let check =
        |args: &[&str]| plimsoll(directory.path(), &[&["check", "--no-compile-cache"][..], args].concat()).unwrap();
    let printed = check(&["p"]);
    let lines: Vec<&str> = printed.out.lines().collect();
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(lines[1].starts_with("p: Warm.WASM: ignored: the ending must be lower-case"), "{printed:?}");
    assert!(lines[2].starts_with("p: gpu/deep: ignored: it is a directory in a group"), "{printed:?}");
    assert_eq!(lines.len(), 3, "{printed:?}");
    let printed = check(&["--strict", "p"]);
    for refused in ["p: good: REFUSED, it has no sidecar", "p: Warm.WASM: REFUSED, the ending must be lower-case"] {
        assert!(printed.code == Some(1) && printed.out.contains(refused), "{refused}: {printed:?}");
    }
}

#[test]
fn check_says_which_setting_is_refused() {
    let directory = tempdir().unwrap();
    fs::copy(policies().join("tenant-pool.wasm"), directory.path().join("tenant-pool.wasm")).unwrap();
    fs::write(directory.path().join("tenant-pool.yaml"), "settings: {lable: x}\n").unwrap();
    let printed = plimsoll(directory.path(), &["check", "--no-compile-cache", "tenant-pool.yaml"]).unwrap();
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("lable"), "{}", printed.out);
}

#[test]
fn check_prints_json_for_programs() {
    let module = policies().join("tenant-pool.wasm");
    let printed = run(&["check", "--no-compile-cache", "--output", "json", text(&module)]);
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(report[0]["accepted"], true);
    assert_eq!(report[0]["verbs"][0], "filter");
    assert!(report[0]["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(report[0]["calls"][0]["microseconds"].as_f64().unwrap() > 0.0);
}

/// With a sidecar or without: a file that fails each call is not accepted.
#[test]
fn check_refuses_a_policy_that_fails_every_call() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let guests = [
        ("endless_loop", "timeout"),
        ("endless_loop_in_start", "timeout"),
        ("trap_in_start", "start"),
        ("trap_in_verb", "trap"),
        ("host_panic", "panic"),
    ];
    for (guest, fault) in guests {
        fs::write(at("policy.wasm"), hostile(guest)).unwrap();
        for has_sidecar in [false, true] {
            if has_sidecar {
                fs::write(at("policy.yaml"), "order: 1\n").unwrap();
            }
            let printed = plimsoll(directory.path(), &["check", "--no-compile-cache", "policy.wasm"]).unwrap();
            assert_eq!(printed.code, Some(1), "{guest} {printed:?}");
            let first = printed.out.lines().next().unwrap();
            // With a sidecar it is loaded as a directory would load it, by a trial call.
            let expected = if has_sidecar {
                format!("every call of filter would fail, as a trial did: {fault}")
            } else {
                format!("it fails to filter on a sample node: {fault}")
            };
            assert!(first.starts_with(&format!("policy.wasm: REFUSED, {expected}")), "{guest}: {first}");
        }
        fs::remove_file(at("policy.yaml")).unwrap();
    }
}

/// Preempt is not timed, so only a trial call shows how it fails.
#[test]
fn check_refuses_a_policy_whose_preempt_fails_every_call() {
    let directory = tempdir().unwrap();
    for guest in ["replace_nobody", "replace_huge"] {
        fs::write(directory.path().join("policy.wasm"), hostile(guest)).unwrap();
        for flags in [
            &["check", "--no-compile-cache", "policy.wasm"][..],
            &["check", "--no-compile-cache", "--strict", "policy.wasm"],
        ] {
            let printed = plimsoll(directory.path(), flags).unwrap();
            assert_eq!(printed.code, Some(1), "{guest} {printed:?}");
            let expected = "policy.wasm: REFUSED, it fails to preempt on a sample node: output";
            assert!(printed.out.starts_with(expected), "{guest}: {}", printed.out);
        }
    }
}

#[test]
fn check_says_that_a_module_needs_settings_and_refuses_it_only_if_it_is_to_be_strict() {
    let directory = tempdir().unwrap();
    fs::copy(guest("machines"), directory.path().join("machines.wasm")).unwrap();
    let check = |flags: &[&str]| {
        plimsoll(directory.path(), &[&["check", "--no-compile-cache", "machines.wasm"], flags].concat()).unwrap()
    };
    let printed = check(&[]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let why = "it needs settings, and has no sidecar: the field";
    assert!(printed.out.starts_with(&format!("machines.wasm: accepted, but not tried: {why}")), "{}", printed.out);
    let printed = check(&["--strict"]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.starts_with(&format!("machines.wasm: REFUSED, {why}")), "{}", printed.out);
}

/// The texts are those of the directory that `serve` and `run` read.
#[test]
fn check_refuses_what_serve_refuses_once_and_in_the_same_words() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let refusal = |files: &[(&str, &str)], refused: &str| {
        let policies = at("p");
        for (file, text) in files {
            fs::create_dir_all(policies.join(file).parent().unwrap()).unwrap();
            match text {
                &"" => drop(fs::copy(guest("zone_drain_v1"), policies.join(file)).unwrap()),
                text => fs::write(policies.join(file), text).unwrap(),
            }
        }
        fs::write(at("pod.json"), POD).unwrap();
        let run = ["run", "--no-compile-cache", "--sample", "--policies", "p", "--pod", "pod.json"];
        let run = plimsoll(directory.path(), &run).unwrap();
        let check = plimsoll(directory.path(), &["check", "--no-compile-cache", "p"]).unwrap();
        let file = plimsoll(directory.path(), &["check", "--no-compile-cache", &format!("p/{refused}")]).unwrap();
        fs::remove_dir_all(policies).unwrap();
        // A directory by itself is no group, so its name may be any.
        let is_file = refused.contains('.');
        assert_eq!((check.code, file.code), (Some(1), Some(i32::from(is_file))), "{check:?} {file:?}");
        let line = check.out.lines().find(|line| line.contains("REFUSED")).unwrap();
        let why = line.split_once("REFUSED, ").unwrap().1.to_owned();
        assert!(run.err.contains(&format!("cannot be loaded: {why}")), "{why}\n{}", run.err);
        assert_eq!(check.out.matches("REFUSED").count(), 1, "{}", check.out);
        (check.out.lines().count(), why, file.out.replacen("REFUSED, ", "", 1))
    };
    let (lines, why, file) = refusal(&[("a b.wasm", "")], "a b.wasm");
    assert!(lines == 1 && why.starts_with("'a b' is no name for a policy: expected letters"), "{why}");
    assert!(file.contains(&why), "{file}");
    let (lines, why, _) = refusal(&[("x.wasm", ""), ("GPU/x.wasm", "")], "GPU");
    assert!(lines == 2 && why.starts_with("'GPU' is no name for a group"), "{why}");
    let (lines, why, file) = refusal(&[("x.wasm", ""), ("x.yaml", "modus: off\n")], "x.yaml");
    assert!(lines == 1 && why.contains("unknown key 'modus'"), "{why}");
    assert!(file.contains(&why), "{file}");
    let (lines, why, file) = refusal(&[("copy.yaml", "order: 1\n")], "copy.yaml");
    let expected =
        "p/copy.yaml: there is no module for this sidecar: expected the file copy.wasm, or the key 'module' or 'cel'";
    assert_eq!((lines, why.as_str()), (1, expected));
    assert!(file.contains(&why), "{file}");
    let (lines, why, file) = refusal(&[("x.wasm", ""), ("x.yaml", "order: 1\n"), ("x.yml", "order: 1\n")], "x.wasm");
    assert_eq!((lines, why.as_str()), (1, "'x.yaml' and 'x.yml' are both there: expected one sidecar"));
    assert!(file.contains(&why), "{file}");
}

/// A group's sidecar names a module of the root: it is a library, as `serve` sees it.
#[test]
fn check_of_a_directory_leaves_out_a_library_of_the_root_that_only_a_group_uses() {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join("gpu")).unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("shared.wasm")).unwrap();
    fs::write(directory.path().join("gpu/one.yaml"), "module: ../shared.wasm\n").unwrap();
    let printed = plimsoll(directory.path(), &["check", "--no-compile-cache", "."]).unwrap();
    assert_eq!((printed.code, printed.out.as_str()), (Some(0), ".: gpu/one: accepted\n"), "{printed:?}");
}

#[test]
fn check_of_a_directory_has_a_line_for_each_policy_of_each_group() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("gpu")).unwrap();
    for ending in ["wasm", "yaml"] {
        fs::copy(policies().join(format!("tenant-pool.{ending}")), at(&format!("tenant-pool.{ending}"))).unwrap();
    }
    fs::copy(guest("zone_drain_v1"), at("shared.wasm")).unwrap();
    for name in ["one", "two"] {
        fs::write(at(&format!("{name}.yml")), "module: shared.wasm\n").unwrap();
    }
    fs::write(at("gpu/broken.wasm"), hostile("trap_in_verb")).unwrap();
    fs::write(at(".hidden.wasm"), "no wasm").unwrap();
    let printed = plimsoll(directory.path(), &["check", "--no-compile-cache", "."]).unwrap();
    assert_eq!(printed.code, Some(1), "{printed:?}");
    let lines: Vec<&str> = printed.out.lines().collect();
    let [one, pool, two, broken] = lines.as_slice() else { panic!("{}", printed.out) };
    assert_eq!([*one, *pool, *two], [".: one: accepted", ".: tenant-pool: accepted", ".: two: accepted"]);
    assert!(broken.starts_with(".: gpu/broken: REFUSED, it fails to filter"), "{broken}");
    let printed = plimsoll(directory.path(), &["check", "--no-compile-cache", "--output", "json", "."]).unwrap();
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let accepted: Vec<bool> = report.as_array().unwrap().iter().map(|one| one["accepted"] == true).collect();
    assert_eq!(accepted, [true, true, true, false]);
    let printed =
        plimsoll(directory.path(), &["check", "--no-compile-cache", "tenant-pool.wasm", "tenant-pool.yaml"]).unwrap();
    assert_eq!(printed.out.matches("tenant-pool").count(), 2, "once, with its sidecar: {}", printed.out);
    fs::create_dir(at("empty")).unwrap();
    let printed = plimsoll(directory.path(), &["check", "--no-compile-cache", "empty"]).unwrap();
    assert_eq!((printed.code, printed.out.as_str()), (Some(1), "empty: REFUSED, it holds no policy\n"));
}

#[test]
fn check_says_how_many_pods_a_policy_matches_and_whose_weight_has_no_effect() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("p/gpu")).unwrap();
    fs::copy(guest("fragile"), at("p/shared.wasm")).unwrap();
    for (file, sidecar) in [
        ("p/all.yaml", "module: shared.wasm\nweight: 3\n"),
        ("p/gpu/few.yaml", "module: ../shared.wasm\nweight: 3\nmatch: {namespaces: [ml]}\n"),
        ("p/gpu/none.yaml", "module: ../shared.wasm\nmatch: {podSelector: {matchLabels: {app: trian}}}\n"),
    ] {
        fs::write(at(file), sidecar).unwrap();
    }
    let check =
        |args: &[&str]| plimsoll(directory.path(), &[&["check", "--no-compile-cache"][..], args].concat()).unwrap();
    let printed = check(&["--sample", "p"]);
    let expected = "cluster SAMPLE, not yours: 200 nodes and 1000 pods that do not exist
p: all: accepted
  matches  1000 of 1000 placed pods, on 200 of 200 nodes
p: gpu/few: accepted
  matches  200 of 1000 placed pods, on 40 of 200 nodes
p: gpu/none: accepted
  matches  0 of 1000 placed pods, on 0 of 200 nodes
";
    assert_eq!((printed.code, printed.out.as_str()), (Some(0), expected), "{printed:?}");
    assert!(printed.err.contains("p: all: the weight 3 has no effect"), "{printed:?}");
    assert!(printed.err.contains("scheduler-config --weight 3"), "{printed:?}");
    assert_eq!(printed.err.matches("has no effect").count(), 1, "{printed:?}");
    let report: Value = serde_json::from_str(&check(&["--sample", "--output", "json", "p"]).out).unwrap();
    let matches = json!({"pods": 200, "of": 1000, "nodes": 40, "ofNodes": 200, "waiting": 0, "ofWaiting": 0});
    assert_eq!(report[1]["matches"], matches);
    assert!(!check(&["p"]).out.contains("matches"), "no cluster is named");

    // Pods that wait for a node are named too, and finished ones are not.
    let pod = |name: &str, namespace: &str, spec: Value, status: Value| {
        let metadata = json!({"name": name, "namespace": namespace, "uid": name});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    };
    let nodes = ["n1", "n2"].map(|name| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}));
    let pods = [
        pod("placed", "ml", json!({"nodeName": "n1"}), json!({"phase": "Running"})),
        pod("waiting", "ml", json!({}), json!({"phase": "Pending"})),
        pod("other", "web", json!({}), json!({"phase": "Pending"})),
        pod("ended", "ml", json!({}), json!({"phase": "Failed"})),
    ];
    let items = [&nodes[..], &pods].concat();
    fs::write(at("snapshot.json"), json!({"kind": "List", "items": items}).to_string()).unwrap();
    let api = FakeApi::start(nodes, pods).unwrap();
    let few = "p: gpu/few: accepted\n  matches  1 of 1 placed pod, on 1 of 2 nodes; 1 of 2 waiting pods\n";
    for cluster in [["--snapshot", "snapshot.json"], ["--kubeconfig", text(&api.kubeconfig())]] {
        let printed = check(&[&cluster[..], &["p"]].concat());
        assert!(printed.out.contains(few), "{printed:?}");
    }
}

/// A module of Python or TypeScript imports every function, as this one does.
#[test]
fn a_filter_that_counts_nothing_says_so_in_its_sidecar_and_is_held_to_that() {
    let directory = tempdir().unwrap();
    let module = workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/conformance.wasm");
    let counts = |sidecar: &str| {
        fs::copy(&module, directory.path().join("all.wasm")).unwrap();
        fs::write(directory.path().join("all.yaml"), sidecar).unwrap();
        let printed = run(&["check", "--no-compile-cache", "--output", "json", text(directory.path())]);
        let report: Value = serde_json::from_str(&printed.out).unwrap();
        (report[0]["accepted"].clone(), report[0]["counts"].clone(), report[0]["error"].clone())
    };
    assert_eq!(counts("settings: {topic: pool}\n"), (json!(true), json!(true), Value::Null));
    assert_eq!(counts("settings: {topic: pool}\ncounts: false\n"), (json!(true), json!(false), Value::Null));
    let (accepted, _, error) = counts("settings: {topic: placed}\ncounts: false\n");
    assert_eq!(accepted, false);
    let expected = "the filter counts pods, or reads those on a node (placed.";
    assert!(error.as_str().unwrap().contains("its sidecar says `counts: false`: remove that line"), "{error}");
    assert!(error.as_str().unwrap().contains(expected), "{error}");
}

/// As `serve` does.
#[test]
fn check_of_a_module_takes_the_one_that_its_sidecar_names() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let check = |file: &str| plimsoll(directory.path(), &["check", "--no-compile-cache", file]).unwrap();
    fs::copy(guest("zone_drain_v1"), at("zone.wasm")).unwrap();
    fs::write(at("zone.yaml"), "module: nothing.wasm\n").unwrap();
    let printed = check("zone.wasm");
    assert!(printed.code == Some(1) && printed.out.contains("nothing.wasm"), "{printed:?}");
    fs::write(at("zone.yaml"), "module: zone.wasm\n").unwrap();
    for file in ["zone.wasm", "./zone.wasm", "zone.yaml"] {
        assert_eq!(check(file).code, Some(0), "{file}");
    }
    let printed = check("zone");
    assert_eq!((printed.code, &*printed.out), (Some(1), "zone: REFUSED, there is no such file or directory\n"));
}

#[test]
fn check_accepts_a_policy_that_is_off_whatever_its_settings() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let check = |args: &[&str]| {
        plimsoll(directory.path(), &[&["check", "--no-compile-cache", "--strict"], args].concat()).unwrap()
    };
    fs::copy(policies().join("tenant-pool.wasm"), at("tenant-pool.wasm")).unwrap();
    fs::write(at("tenant-pool.yaml"), "mode: off\nsettings: {lable: x}\n").unwrap();
    fs::write(at("broken.wasm"), hostile("trap_in_verb")).unwrap();
    fs::write(at("broken.yaml"), "mode: off\n").unwrap();
    let printed = check(&["."]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    for policy in ["broken", "tenant-pool"] {
        let expected = format!(".: {policy}: accepted, but not tried: its mode is off\n");
        assert!(printed.out.contains(&expected), "{printed:?}");
    }
    let printed = check(&["tenant-pool.wasm"]);
    assert!(printed.code == Some(0) && !printed.out.contains("no sidecar"), "{printed:?}");
}

/// Runtimes of languages import preview 1, so that an author sees what of it a policy gets.
#[test]
fn check_lists_the_functions_of_wasi_preview_1_and_what_each_gets() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("exit.wasm"), hostile("exit")).unwrap();
    let check = |format: &str| {
        plimsoll(directory.path(), &["check", "--no-compile-cache", "--output", format, "exit.wasm"]).unwrap().out
    };
    let log_lines = "log lines: of standard output at level info, of standard error at level warn";
    let panics = "the call ends as the fault `panic`";
    let printed = check("text");
    let expected = format!("  wasi     fd_write: {log_lines}\n  wasi     proc_exit: {panics}\n");
    assert!(printed.contains(&expected), "{printed}");
    let report: Value = serde_json::from_str(&check("json")).unwrap();
    let expected = json!([
        {"interface": "wasi_snapshot_preview1.fd_write", "gets": log_lines},
        {"interface": "wasi_snapshot_preview1.proc_exit", "gets": panics},
    ]);
    assert_eq!(report[0]["wasi"], expected, "{report:#}");
}
