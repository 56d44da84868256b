//! The content of `/api/facts?values=SOURCE,SOURCE`.

use plimsoll_core::{Facts, MAX_SOURCE_BYTES, quotable};
use serde_json::{Map, Value};

/// Maximum bytes of keys and values on one page: those of the largest source.
const MAX_BYTES: usize = MAX_SOURCE_BYTES;

/// The facts of these sources at one moment, in the form of `--facts-snapshot`. A source whose facts are absent has none.
///
/// Files of sidecars are not declared: `test --record` reads them beside the sidecar.
///
/// # Errors
/// If a source is not declared, or they are too large together.
pub(crate) fn values(names: &[&str], is_declared: impl Fn(&str) -> bool, facts: &Facts) -> Result<Value, String> {
    if let Some(name) = names.iter().find(|name| !is_declared(name)) {
        return Err(format!("there is no source of facts '{}': /api/facts lists them", quotable(name)));
    }
    let bytes: usize = names.iter().filter_map(|name| facts.source(name)).map(|source| source.bytes()).sum();
    if bytes > MAX_BYTES {
        let most = MAX_BYTES >> 20;
        return Err(format!(
            "these sources have {bytes} bytes of keys and values: expected at most {most} MiB; ask for fewer"
        ));
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

    #[test]
    fn sources_that_are_too_large_together_are_refused() {
        let source =
            Arc::new(FactSource::from_texts((0..1100).map(|key| (key.to_string(), "v".repeat(4096)))).unwrap());
        let facts = Facts::from_iter(["a", "b"].map(|name| (Arc::from(name), Arc::clone(&source))));
        assert!(values(&["a"], |_| true, &facts).is_ok());
        let error = values(&["a", "b"], |_| true, &facts).unwrap_err();
        assert!(error.ends_with(": expected at most 8 MiB; ask for fewer"), "{error}");
    }
}
