//! Files that hang, have no end, or forge lines by their names.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use plimsoll_commands::plimsoll;
use plimsoll_harness::{Plimsoll, binary, policies, tempdir, wait_until};
use serde_json::json;

use crate::{POD, text};

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a command that could hang; its exit code and what it said.
fn ends(directory: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(binary());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PLIMSOLL_") || name == "KUBECONFIG") {
        command.env_remove(name);
    }
    // The output about a file is short, so the pipes hold all of it.
    command.args(args).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let ended = wait_until(&format!("the end of {args:?}"), || child.try_wait().ok().flatten());
    if ended.is_err() {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    ended.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn a_pipe_or_a_device_in_the_place_of_a_file_is_refused_at_once_by_every_command() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("pod.json"), POD).unwrap();
    fs::create_dir(at("pipes")).unwrap();
    for pipe in ["pipe", "pipe.wasm", "pipe.yaml", "pipes/pipe.wasm"] {
        mkfifo(&at(pipe));
    }
    std::os::unix::fs::symlink("/dev/zero", at("zero.wasm")).unwrap();
    fs::copy(policies().join("tenant-pool.wasm"), at("good.wasm")).unwrap();
    mkfifo(&at("good.yaml"));
    let policies = text(policies());
    let sample = ["--no-compile-cache", "--sample", "--policies", policies];
    let serve =
        ["serve", "--no-compile-cache", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--policies", policies];
    let mut table: Vec<Vec<&str>> = vec![
        vec!["check", "--no-compile-cache", "pipe.wasm"],
        vec!["check", "--no-compile-cache", "pipe.yaml"],
        vec!["check", "--no-compile-cache", "good.wasm"],
        vec!["check", "--no-compile-cache", "zero.wasm"],
        vec!["check", "--no-compile-cache", "pipes"],
        vec!["scheduler-config", "--no-compile-cache", "--policies", "pipes"],
    ];
    for file in ["pipe", "/dev/zero"] {
        table.push([&["run"][..], &sample, &["--pod", file]].concat());
        table.push([&["explain"][..], &sample, &["--node", "n", "--pod", file]].concat());
        table.push(vec!["run", "--no-compile-cache", "--policies", policies, "--pod", "pod.json", "--snapshot", file]);
        table.push([&serve[..], &["--snapshot", file]].concat());
    }
    for args in table {
        let (code, said) = ends(directory.path(), &args);
        assert!(matches!(code, Some(1 | 2)), "{args:?}: {said}");
        assert!(said.contains(" is not a regular file"), "{args:?}: {said}");
    }
}

#[test]
fn a_file_that_is_too_large_is_refused_with_its_limit() {
    let directory = tempdir().unwrap();
    let large = |name: &str, bytes: u64| fs::File::create(directory.path().join(name)).unwrap().set_len(bytes).unwrap();
    large("m.wasm", (64 << 20) + 1);
    large("s.yaml", (1 << 20) + 1);
    large("pod", (128 << 20) + 1);
    let policies = text(policies());
    for (args, limit) in [
        (&["check", "--no-compile-cache", "m.wasm"][..], 64 << 20),
        (&["check", "--no-compile-cache", "s.yaml"], 1 << 20),
        (&["run", "--no-compile-cache", "--sample", "--policies", policies, "--pod", "pod"], 128 << 20),
    ] {
        let (code, said) = ends(directory.path(), args);
        assert!(matches!(code, Some(1 | 2)), "{args:?}: {said}");
        assert!(said.contains(&format!(" is larger than {limit} bytes")), "{args:?}: {said}");
    }
}

/// A pipe that the shell opens for a command is no file of somebody else: `run --pod <(kubectl get pod web-0 -o yaml)`.
#[test]
fn what_the_shell_hands_over_may_be_a_pipe() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("pod.json"), POD).unwrap();
    let run = format!("{} run --no-compile-cache --sample --policies {} --rows 1", text(binary()), text(policies()));
    for command in [format!("{run} --pod <(cat pod.json)"), format!("cat pod.json | {run} --pod -")] {
        let output = Command::new("bash").args(["-c", &command]).current_dir(directory.path()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains("pod team-a/api-0\n"), "{command}: {printed} {:?}", String::from_utf8(output.stderr));
    }
}

const FORGED: &str = "x\nFORGED accepted\r\u{1b}[2K";

#[test]
fn a_line_break_in_a_name_forges_no_line_of_what_a_command_prints() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": FORGED, "namespace": FORGED, "uid": "u"},
        "spec": {"containers": [{"name": "main"}]}});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": FORGED}});
    fs::write(at("pod.json"), pod.to_string()).unwrap();
    fs::write(at(&format!("{FORGED}.json")), node.to_string()).unwrap();
    fs::write(at(&format!("{FORGED}.wasm")), "no wasm").unwrap();
    fs::write(at(&format!("{FORGED}.yaml")), format!("mode: {FORGED:?}\n")).unwrap();
    fs::create_dir(at(&format!("{FORGED}.d"))).unwrap();
    let (wasm, yaml, json) = (format!("{FORGED}.wasm"), format!("{FORGED}.yaml"), format!("{FORGED}.json"));
    let absent = format!("{FORGED}.absent");
    let folder = format!("{FORGED}.d");
    let policies = text(policies());
    let run = |command: &'static str| vec![command, "--no-compile-cache", "--policies", policies, "--pod", "pod.json"];
    for args in [
        vec!["check", "--no-compile-cache", &wasm, &yaml, &absent, &folder, "."],
        [run("run"), vec!["--snapshot", &json, "--node", FORGED]].concat(),
        [run("explain"), vec!["--snapshot", &json, "--node", FORGED]].concat(),
        [run("explain"), vec!["--snapshot", &json, "--node", &absent]].concat(),
        [run("run"), vec!["--snapshot", &absent]].concat(),
        [run("run"), vec!["--kubeconfig", &absent]].concat(),
        vec!["scheduler-config", "--no-compile-cache", "--policies", "."],
        vec!["scheduler-config", "--no-compile-cache", "--policies", &folder],
    ] {
        let printed = plimsoll(directory.path(), &args).unwrap();
        let said = printed.out + &printed.err;
        assert!(said.contains("FORGED"), "{args:?}: {said}");
        let forged =
            said.lines().find(|line| line.starts_with("FORGED") || line.contains('\r') || line.contains('\u{1b}'));
        assert_eq!(forged, None, "{args:?}: {said}");
    }
}

#[test]
fn a_line_break_in_a_file_s_name_forges_no_line_of_readyz_and_of_the_log() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at(&format!("{FORGED}.wasm")), "no wasm").unwrap();
    fs::write(at("(directory).wasm"), "no wasm").unwrap();
    fs::create_dir(at(FORGED)).unwrap();
    fs::write(at(&format!("{FORGED}/x.wasm")), "no wasm").unwrap();
    std::os::unix::fs::symlink(policies(), at("outside")).unwrap();
    fs::copy(policies().join("zone-spread.wasm"), at("zone-spread.wasm")).unwrap();
    // A name that only looks like that of the directory itself is that of a policy, which may be missing.
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--allow-degraded"]).unwrap();
    let ready = gateway.get("/readyz").unwrap();
    assert_eq!(ready.status, 200, "{ready:?}");
    assert!(ready.body.contains("FORGED"), "{ready:?}");
    assert!(ready.body.lines().all(|line| line == "ok" || line.starts_with("note: ")), "{ready:?}");
    let policies: serde_json::Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    let names: Vec<&str> =
        policies["policies"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.iter().all(|name| !name.contains(['\n', '\r', '\u{1b}'])), "{names:?}");
    let metrics = gateway.get("/metrics").unwrap().body;
    assert!(
        metrics
            .lines()
            .all(|line| line.starts_with("plimsoll_") || line.starts_with('#') || line.starts_with("process_")),
        "{metrics}"
    );
    // The log of people, too.
    let log = at("log");
    let mut child = Command::new(binary())
        .args("serve --no-compile-cache --listen 127.0.0.1:0 --admin 127.0.0.1:0 --log-format pretty".split(' '))
        .arg("--policies")
        .arg(directory.path())
        .stdin(Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let told = wait_until("the refusals", || {
        let log = fs::read_to_string(&log).ok()?;
        (log.matches("FORGED").count() >= 2).then_some(log)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let log = told.unwrap();
    assert!(log.lines().all(|line| line.starts_with("20") && !line.contains('\u{1b}')), "{log}");
}
