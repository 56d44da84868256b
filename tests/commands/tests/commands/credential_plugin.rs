//! The command of a kubeconfig that makes credentials.

use std::fs;

use plimsoll_harness::{tempdir, wait_until};

use crate::{run, text};

#[test]
fn a_credential_plugin_that_hangs_is_ended_with_the_processes_that_it_started() {
    let script = "sleep 120 & echo $!; sleep 120";
    let printed = run(&["credential-plugin", "--timeout", "200ms", "--", "sh", "-c", script]);
    assert_eq!(printed.code, Some(124), "{printed:?}");
    assert!(printed.err.contains("sh gave no credentials within 200"), "{printed:?}");
    let started: u32 = printed.out.trim().parse().unwrap();
    wait_until("the end of the process that the plugin started", || (!runs(started)).then_some(())).unwrap();
}

/// Whether the process exists and is not a zombie that nobody waits for.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // `12 (name) S ...`; the name may have spaces.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn a_credential_plugin_keeps_its_output_and_its_exit_code_and_writes_nothing_to_the_log() {
    let printed = run(&["credential-plugin", "--", "sh", "-c", "echo out; echo why >&2; exit 3"]);
    assert_eq!((printed.code, printed.out.as_str(), printed.err.as_str()), (Some(3), "out\n", ""));
}

#[test]
fn the_plugin_of_a_kubeconfig_is_run_with_a_time_limit() {
    let directory = tempdir().unwrap();
    let (kubeconfig, pod) = (directory.path().join("kubeconfig"), directory.path().join("pod.json"));
    let exec = "{apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, echo hunter2; exit 7], interactiveMode: Never}";
    let config = format!(
        "clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:1'}}}}]\n\
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n\
         users: [{{name: u, user: {{exec: {exec}}}}}]\n"
    );
    fs::write(&kubeconfig, config).unwrap();
    fs::write(&pod, crate::POD).unwrap();
    let policies = text(directory.path());
    let printed = run(&["run", "--kubeconfig", text(&kubeconfig), "--policies", policies, "--pod", text(&pod)]);
    assert_eq!(printed.code, Some(2), "{printed:?}");
    assert!(printed.err.contains("the credential plugin of the kubeconfig failed with exit status: 7"), "{printed:?}");
    assert!(!printed.err.contains("hunter2"), "{printed:?}");
}
