//! `deploy/` fits the workspace. It is checked without a container runtime, as far as that goes.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{collections::BTreeSet, fs, path::Path};

use plimsoll_harness::workspace;

#[test]
fn the_image_is_built_from_all_that_the_workspace_has() {
    let sources: Vec<String> = instructions("COPY")
        .into_iter()
        .filter(|copy| !copy.starts_with("--from"))
        .flat_map(|copy| {
            let words: Vec<String> = copy.split_whitespace().map(str::to_owned).collect();
            words[..words.len() - 1].to_vec()
        })
        .collect();
    let ignored = fs::read_to_string(workspace().join(".dockerignore")).unwrap();
    for source in &sources {
        assert!(workspace().join(source).exists(), "the Dockerfile copies {source}, which is not there");
        assert!(!ignored.lines().any(|line| line == source), ".dockerignore keeps {source} from the Dockerfile");
    }
    let is_copied = |path: &str| sources.iter().any(|source| Path::new(path).starts_with(source));
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let members = members.split_once(']').unwrap().0.lines().filter_map(|line| line.trim().strip_prefix('"'));
    for member in members.map(|line| line.trim_end_matches([',', '"'])).chain(["Cargo.toml", "Cargo.lock"]) {
        assert!(is_copied(member), "the Dockerfile does not copy {member}, and cargo wants every member");
    }
    // The contract is compiled into the binary.
    assert!(is_copied("plugin-sdk/wit/v0.1.0/policy.wit"));
}

#[test]
fn the_image_is_built_as_the_project_is() {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, rust) = manifest.split_once("rust-version = \"").unwrap();
    let from = instructions("FROM");
    assert!(from[0].starts_with(&format!("rust:{}-", rust.split('"').next().unwrap())), "{from:?}");
    assert_eq!(instructions("RUN"), ["cargo build --release --locked --package plimsoll"]);
    // The file that is copied out of the first stage is started, by a user with a number that is not root's.
    let copied = instructions("COPY").pop().unwrap();
    let (built, installed) = copied.rsplit_once(' ').unwrap();
    assert_eq!(built, "--from=build /src/target/release/plimsoll");
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
