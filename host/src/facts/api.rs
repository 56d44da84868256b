//! The content of `/api/facts`.

use std::time::Duration;

use plimsoll_core::{Facts, Roster, quotable};
use plimsoll_facts::SourceStatus;
use serde_json::{Map, Value, json};

use super::{FactsFileFollower, policies_by_source};

/// The declared sources, and those that policies name and nobody has declared.
pub(crate) fn describe(facts: Option<&FactsFileFollower>, roster: &Roster) -> Value {
    let mut policies = policies_by_source(roster);
    let statuses = facts.map(FactsFileFollower::statuses).unwrap_or_default();
    let declared = statuses.iter().map(|status| {
        let policies = policies.remove(&*status.name).unwrap_or_default();
        describe_source(status, &policies)
    });
    let mut sources: Vec<Value> = declared.collect();
    let undeclared = policies.into_iter();
    sources.extend(
        undeclared.map(|(source, policies)| json!({"source": source, "state": "not-declared", "policies": policies})),
    );
    let file = facts.map(|facts| json!({"path": facts.path.display().to_string(), "error": facts.refusal()}));
    json!({"file": file, "sources": sources})
}

fn describe_source(status: &SourceStatus, policies: &[String]) -> Value {
    json!({
        "source": status.name,
        "state": if status.is_absent { "absent" } else { "in-force" },
        "kind": status.kind,
        "place": status.place,
        "everySeconds": status.every.as_secs_f64(),
        "maxAgeSeconds": status.max_age.as_secs_f64(),
        "ageSeconds": status.age.map(|age: Duration| age.as_secs_f64()),
        "values": status.values,
        "fetches": status.fetches,
        "error": status.error,
        "policies": policies,
    })
}

/// The facts of these sources at one moment, in the form of `--facts-snapshot` (`/api/facts?values=SOURCE,SOURCE`). A
/// source whose facts are absent has none.
///
/// Files of sidecars are not declared: `test --record` reads them beside the sidecar.
///
/// # Errors
/// If a source is not declared.
pub(crate) fn values(names: &[&str], is_declared: impl Fn(&str) -> bool, facts: &Facts) -> Result<Value, String> {
    if let Some(name) = names.iter().find(|name| !is_declared(name)) {
        return Err(format!("there is no source of facts '{}': /api/facts lists them", quotable(name)));
    }
    let of = |name: &&str| {
        let source = facts.source(name).map(|source| source.to_value());
        ((*name).to_owned(), source.unwrap_or_else(|| Value::Object(Map::new())))
    };
    Ok(Value::Object(names.iter().map(of).collect()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_core::FactSource;

    use super::*;

    #[test]
    fn declared_sources_are_written_as_a_snapshot_reads_them() {
        let load = FactSource::from_texts([("n1", "0.25"), ("n2", "0.50"), ("n\u{7}", "x")]).unwrap();
        let of_file = FactSource::from_texts([("node", "1")]).unwrap();
        let facts =
            Facts::from_iter([(Arc::from("load"), Arc::new(load)), (Arc::from("file:a.csv"), Arc::new(of_file))]);
        let values = |names: &[&str]| values(names, |name| ["load", "away"].contains(&name), &facts);
        let written = values(&["load", "away"]).unwrap();
        assert_eq!(written, json!({"load": {"n1": 0.25, "n2": "0.50", "n\u{7}": "x"}, "away": {}}));
        assert_eq!(Facts::from_value(&written).unwrap().source("load"), facts.source("load"));
        for undeclared in ["file:a.csv", "other", ""] {
            let expected = format!("there is no source of facts '{undeclared}': /api/facts lists them");
            assert_eq!(values(&["load", undeclared]), Err(expected));
        }
    }
}
