//! Every recorded call is answered, and the reply checked against the reference and the recorded rule.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context, Result, ensure};
use plimsoll_contract::{
    binder::Api,
    check,
    client::{Client, Reply},
    recording::{Recording, STORIES, cluster, story},
    rules::{member, ssd},
    server::{Server, gateway},
};
use plimsoll_core::Roster;
use plimsoll_http::WireConfig;
use serde_json::Value;

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_call_is_answered_as_the_reference_says() {
    for (name, by_name) in STORIES {
        let gateway = gateway(Roster::of_root(vec![member("ssd", ssd())]));
        if by_name {
            gateway.set_cluster(Arc::new(cluster(name).unwrap()));
        }
        let calls = story(name).unwrap();
        let api = Api::of_story(&calls);
        gateway.set_binder(Arc::clone(&api) as _);
        let server = Server::start(gateway, WireConfig::default()).await.unwrap();
        // One connection, as kube-scheduler keeps one.
        let mut client = server.client().await.unwrap();
        assert!(calls.len() >= 11, "{name} has {} calls", calls.len());
        for call in calls {
            check_call(&mut client, &call).await.with_context(|| call.place()).unwrap();
        }
        server.stopped().await.unwrap();
        assert!(!api.bindings().is_empty(), "{name} binds nobody");
    }
}

async fn check_call(client: &mut Client, call: &Recording) -> Result<()> {
    let path = call.headers.split(' ').nth(1).context("no path")?;
    let reply = client.post(path, call.request.clone()).await?;
    if call.verb != "bind" {
        let in_lower_case = client.post(path, in_lower_case(&call.request)).await?;
        ensure!(in_lower_case.body == reply.body, "in lower case: {}", in_lower_case.text());
    }
    match call.verb.as_str() {
        "filter" => check_filter(call, &reply),
        "prioritize" => check_prioritize(call, &reply),
        "preempt" => check_preempt(call, &reply),
        "bind" => {
            check::frame(&reply)?;
            ensure!(reply.body == call.response, "{}", reply.text());
            Ok(())
        }
        other => anyhow::bail!("a recorded {other}"),
    }
}

/// The request as Kubernetes up to 1.17 wrote it: the keys of Pods and Nodes have the API's own case at all times.
fn in_lower_case(request: &[u8]) -> String {
    let keys =
        ["Pod", "Nodes", "NodeNames", "NodeNameToVictims", "NodeNameToMetaVictims", "Pods", "UID", "NumPDBViolations"];
    keys.iter().fold(String::from_utf8_lossy(request).into_owned(), |text, key| {
        text.replace(&format!("\"{key}\":"), &format!("\"{}\":", key.to_ascii_lowercase()))
    })
}

fn check_filter(call: &Recording, reply: &Reply) -> Result<()> {
    let ours = check::filter(&call.request, reply)?;
    let theirs: Value = serde_json::from_slice(&call.response)?;
    let names = if theirs["Nodes"].is_null() {
        theirs["NodeNames"].as_array().context("names")?.clone()
    } else {
        check::echo(&call.request, &reply.body)?;
        theirs["Nodes"]["items"]
            .as_array()
            .context("items")?
            .iter()
            .map(|node| node["metadata"]["name"].clone())
            .collect()
    };
    ensure!(names == ours.kept, "kept {:?}, recorded {names:?}", ours.kept);
    let prefixed =
        |(node, reason): (&String, &Value)| (node.clone(), format!("ssd: {}", reason.as_str().unwrap_or("?")));
    let failed: BTreeMap<_, _> = theirs["FailedNodes"].as_object().into_iter().flatten().map(prefixed).collect();
    // kube-scheduler accepts each node that it names, so preemption cannot help but on the one that it has chosen.
    let request: Value = serde_json::from_slice(&call.request)?;
    let nominated = request["Pod"]["status"]["nominatedNodeName"].as_str();
    ensure!(ours.failed.keys().all(|node| Some(node.as_str()) == nominated), "failed {:?}", ours.failed);
    let ours: BTreeMap<_, _> = ours.failed.into_iter().chain(ours.unresolvable).collect();
    ensure!(failed == ours, "failed {ours:?}, recorded {failed:?}");
    Ok(())
}

fn check_prioritize(call: &Recording, reply: &Reply) -> Result<()> {
    let ours = check::prioritize(&call.request, reply)?;
    let theirs: Vec<Value> = serde_json::from_slice(&call.response)?;
    let theirs = theirs.iter().map(|entry| Some((entry["Host"].as_str()?.to_owned(), entry["Score"].as_i64()?)));
    let theirs: Vec<_> = theirs.collect::<Option<_>>().context("the recorded scores")?;
    ensure!(ours == theirs, "{ours:?}, recorded {theirs:?}");
    Ok(())
}

/// The recorded extender echoed every candidate; plimsoll drops those that the filter refuses.
fn check_preempt(call: &Recording, reply: &Reply) -> Result<()> {
    let ours = check::preempt(&call.request, reply)?;
    let request: Value = serde_json::from_slice(&call.request)?;
    let theirs: Value = serde_json::from_slice(&call.response)?;
    let needs_ssd = request["Pod"]["metadata"]["labels"]["needs"] == "ssd";
    let mut expected = BTreeMap::new();
    for (node, victims) in theirs["NodeNameToMetaVictims"].as_object().context("victims")? {
        let has_ssd = matches!(node.as_str(), "node-00000" | "node-00002");
        if needs_ssd && !has_ssd {
            continue;
        }
        let uid = |pod: &Value| pod["UID"].as_str().map(str::to_owned);
        let uids = victims["Pods"].as_array().context("pods")?.iter().map(uid).collect::<Option<Vec<_>>>();
        expected.insert(node.clone(), (uids.context("uids")?, victims["NumPDBViolations"].as_i64().context("number")?));
    }
    ensure!(ours == expected, "{ours:?}, expected {expected:?}");
    Ok(())
}
