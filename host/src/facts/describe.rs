//! The content of `/api/facts`.

use plimsoll_core::Roster;
use plimsoll_facts::SourceStatus;
use serde_json::{Value, json};

use super::{follow::FactsFileFollower, policies_by_source::policies_by_source};

/// The content of `/api/facts`: the declared sources, and those that policies name and nobody has declared.
pub(crate) fn describe(sources: Option<&FactsFileFollower>, roster: &Roster) -> Value {
    let mut policies_by_source = policies_by_source(roster);
    let statuses = sources.map(FactsFileFollower::statuses).unwrap_or_default();
    let declared: Vec<Value> = statuses
        .iter()
        .map(|status| {
            let policies = policies_by_source.remove(&*status.name).unwrap_or_default();
            describe_source(status, &policies)
        })
        .collect();
    let undeclared = policies_by_source
        .into_iter()
        .map(|(source, policies)| json!({"source": source, "state": "not-declared", "policies": policies}));
    let all: Vec<Value> = declared.into_iter().chain(undeclared).collect();
    json!({"file": sources.map(describe_file), "sources": all})
}

fn describe_file(sources: &FactsFileFollower) -> Value {
    let reloads = sources.reloads();
    json!({
        "path": sources.path().display().to_string(),
        "loaded": reloads.loaded,
        "refused": reloads.refused,
        "error": reloads.error,
    })
}

fn describe_source(status: &SourceStatus, policies: &[String]) -> Value {
    let seconds = |duration: std::time::Duration| duration.as_secs_f64();
    json!({
        "source": status.name,
        "state": if status.is_absent { "absent" } else { "in-force" },
        "kind": status.kind,
        "place": status.place,
        "everySeconds": seconds(status.every),
        "maxAgeSeconds": seconds(status.max_age),
        "ageSeconds": status.age.map(seconds),
        "values": status.values,
        "bytes": status.bytes,
        "leftOut": status.left_out,
        "fetches": status.good + status.failed,
        "failures": status.failed,
        "error": status.error,
        "policies": policies,
    })
}
