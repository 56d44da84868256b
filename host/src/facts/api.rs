//! The content of `/api/facts`.

use std::{sync::Arc, time::Duration};

use plimsoll_core::{Facts, Roster, quotable};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{FactsFileFollower, policies_by_source};

#[derive(Serialize)]
pub(crate) struct FactsJson {
    file: Option<FileJson>,
    sources: Vec<SourceJson>,
}

/// The file of `--facts`.
#[derive(Serialize)]
struct FileJson {
    path: String,
    error: Option<String>,
}

#[derive(Serialize)]
struct SourceJson {
    source: Arc<str>,
    state: &'static str,
    #[serde(flatten)]
    declared: Option<DeclaredJson>,
    policies: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeclaredJson {
    kind: &'static str,
    place: String,
    every_seconds: f64,
    max_age_seconds: f64,
    age_seconds: Option<f64>,
    values: usize,
    fetches: u64,
    error: Option<String>,
    gaps: Option<String>,
}

/// The declared sources, and those that policies name and nobody has declared.
pub(crate) fn describe(facts: Option<&FactsFileFollower>, roster: &Roster) -> FactsJson {
    let mut policies = policies_by_source(roster);
    let statuses = facts.map(FactsFileFollower::statuses).unwrap_or_default();
    let declared = statuses.into_iter().map(|status| SourceJson {
        source: status.name.clone(),
        state: if status.is_absent { "absent" } else { "in-force" },
        policies: policies.remove(&*status.name).unwrap_or_default(),
        declared: Some(DeclaredJson {
            kind: status.kind,
            place: status.place,
            every_seconds: status.every.as_secs_f64(),
            max_age_seconds: status.max_age.as_secs_f64(),
            age_seconds: status.age.map(|age: Duration| age.as_secs_f64()),
            values: status.values,
            fetches: status.fetches,
            error: status.error,
            gaps: status.gaps,
        }),
    });
    let mut sources: Vec<SourceJson> = declared.collect();
    sources.extend(policies.into_iter().map(|(source, policies)| SourceJson {
        source: source.into(),
        state: "not-declared",
        declared: None,
        policies,
    }));
    let file = facts.map(|facts| FileJson { path: facts.path.display().to_string(), error: facts.refusal() });
    FactsJson { file, sources }
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
    use plimsoll_core::FactSource;
    use serde_json::json;

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
