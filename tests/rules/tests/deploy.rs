//! `deploy/` fits the workspace. It is checked without a container runtime, as far as that goes.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{collections::BTreeSet, fs};

use plimsoll_harness::workspace;

#[test]
fn the_image_has_the_binary_of_make_dist_and_no_other_file_of_the_checkout() {
    let copied = instructions("COPY");
    let [copy] = &copied[..] else { panic!("{copied:?}") };
    let (built, installed) = copy.rsplit_once(' ').unwrap();
    assert_eq!(built, "target/dist/plimsoll-*-linux-$TARGETARCH");
    assert_eq!(read(".dockerignore"), "*\n!target/dist\n");
    // The file is started by a user with a number that is not root's.
    assert_eq!(instructions("ENTRYPOINT"), [format!("[\"{installed}\"]")]);
    let user = instructions("USER").pop().unwrap();
    let (values, (id, _)) = (read("deploy/chart/values.yaml"), user.split_once(':').unwrap());
    assert!(id != "0" && values.contains(&format!("runAsUser: {id}\n")), "the chart runs as another user than {id}");
}

#[test]
fn the_chart_has_the_version_of_the_workspace() {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, version) = manifest.split_once("[workspace.package]\nversion = \"").unwrap();
    let version = version.split('"').next().unwrap();
    let chart = fs::read_to_string(workspace().join("deploy/chart/Chart.yaml")).unwrap();
    for key in ["version", "appVersion"] {
        assert!(chart.contains(&format!("\n{key}: {version}\n")), "Chart.yaml: {key} is not {version}");
    }
}

/// `runbook_url` leads to the heading with the alert's name in small letters.
#[test]
fn every_alert_has_a_section_and_every_section_an_alert() {
    let rules = read("deploy/chart/templates/prometheusrule.yaml");
    let page = read("docs/alerts.md");
    let alerts: BTreeSet<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let sections: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(alerts, sections);
    for rule in rules.split("- alert: ").skip(1) {
        let name = rule.lines().next().unwrap();
        let runbook = format!("runbook_url: {{{{ $runbook }}}}#{}\n", name.to_lowercase());
        assert!(rule.contains(&runbook), "{name} has no link to its section");
    }
}

/// kube-scheduler ignores the error of a prioritize, and places the pod.
#[test]
fn an_alert_about_prioritize_alone_is_a_warning() {
    let rules = read("deploy/chart/templates/prometheusrule.yaml");
    let of_decisions = rules.split("- alert: ").filter(|rule| rule.starts_with("PlimsollDecisionsFail\n"));
    let mut severities: Vec<(bool, bool)> =
        of_decisions.map(|rule| (rule.contains("verb=\"prioritize\""), rule.contains("severity: critical"))).collect();
    severities.sort_unstable();
    assert_eq!(severities, [(false, true), (true, false)]);
}

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}

/// The arguments of every instruction of a kind in the Dockerfile.
fn instructions(kind: &str) -> Vec<String> {
    let dockerfile = fs::read_to_string(workspace().join("deploy/Dockerfile")).unwrap();
    let of_kind = |line: &str| line.strip_prefix(kind)?.strip_prefix(' ').map(str::to_owned);
    dockerfile.lines().filter_map(of_kind).collect()
}
