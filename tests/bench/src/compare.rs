//! A figure means nothing if the servers do not give the same answers.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use plimsoll_harness::Client;

/// Asks plimsoll and the Go extender, and compares what they say about each node.
pub(crate) fn agree(verb: &str, body: &[u8], plimsoll: &mut Client, go: &mut Client) -> Result<()> {
    let path = format!("/{verb}");
    let own = verdicts(verb, plimsoll.post(&path, body)?).context("plimsoll")?;
    let go = verdicts(verb, go.post(&path, body)?).context("go")?;
    for (node, verdict) in &own {
        let other = go.get(node);
        ensure!(other == Some(verdict), "{verb}: about {node} plimsoll says {verdict:?}, Go says {other:?}");
    }
    ensure!(own.len() == go.len(), "{verb}: plimsoll answers about {} nodes, Go about {}", own.len(), go.len());
    let first = own.values().next();
    ensure!(own.values().any(|verdict| Some(verdict) != first), "{verb}: every node gets {first:?}");
    Ok(())
}

/// The statement of a reply about each node: kept, rejected and why, or its score.
fn verdicts(verb: &str, reply: &[u8]) -> Result<BTreeMap<String, String>> {
    let reply: Value = serde_json::from_slice(reply)?;
    let mut verdicts = BTreeMap::new();
    let mut add = |node: &Value, verdict: String| -> Result<()> {
        let node = node.as_str().context("a node without a name")?.to_owned();
        ensure!(verdicts.insert(node, verdict).is_none(), "a node is named twice");
        Ok(())
    };
    if verb == "prioritize" {
        for score in reply.as_array().context("no list of scores")? {
            add(&score["Host"], score["Score"].to_string())?;
        }
        return Ok(verdicts);
    }
    ensure!(reply["Error"] == "", "the filter failed: {}", reply["Error"]);
    for name in reply["NodeNames"].as_array().into_iter().flatten() {
        add(name, "kept".to_owned())?;
    }
    for node in reply["Nodes"]["items"].as_array().into_iter().flatten() {
        add(&node["metadata"]["name"], "kept".to_owned())?;
    }
    for list in ["FailedNodes", "FailedAndUnresolvableNodes"] {
        for (node, reason) in reply[list].as_object().into_iter().flatten() {
            add(&Value::from(node.as_str()), format!("{list}: {reason}"))?;
        }
    }
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_of_a_reply_has_one_verdict() {
        let reply = br#"{"Nodes":null,"NodeNames":["a"],"FailedNodes":{"b":"p: no"},"FailedAndUnresolvableNodes":{"c":"p: never"},"Error":""}"#;
        let verdicts = verdicts("filter", reply).unwrap();
        let expected =
            [("a", "kept"), ("b", "FailedNodes: \"p: no\""), ("c", "FailedAndUnresolvableNodes: \"p: never\"")];
        assert_eq!(verdicts, expected.map(|(node, verdict)| (node.to_owned(), verdict.to_owned())).into());
    }

    #[test]
    fn a_reply_that_decides_nothing_is_refused() {
        assert!(verdicts("filter", br#"{"NodeNames":["a"],"Error":"no"}"#).is_err());
        assert!(verdicts("filter", br#"{"NodeNames":["a"],"FailedNodes":{"a":"p: no"},"Error":""}"#).is_err());
        assert!(verdicts("prioritize", br#"{"Error":"no"}"#).is_err());
    }
}
