//! The world of a recorded request of kube-scheduler, or of a pod and a snapshot.

use std::{borrow::Cow, collections::HashSet, path::Path};

use anyhow::{Context, Result, bail, ensure};
use plimsoll_cases::World;
use plimsoll_cluster::RawObjects;
use plimsoll_system::bounded_file::read_input;
use serde_json::Value;

use crate::{args::RecordArgs, output, text};

/// Maximum bytes of a request: 5,000 whole nodes of 16 kB.
const MAX_REQUEST_BYTES: u64 = 128 << 20;

/// The world that the arguments name, at the current time.
///
/// # Errors
/// If a file cannot be read, or names an object that the others lack.
pub(super) fn world(args: &RecordArgs) -> Result<World> {
    let snapshot = args.snapshot.as_deref().map(plimsoll_cluster::read_objects).transpose()?;
    let mut world = match (&args.request, &args.pod) {
        (Some(request), _) => of_request(&read(request)?, snapshot, request)?,
        (None, Some(pod)) => of_pod(pod, snapshot)?,
        (None, None) => bail!("--record needs a question: --request FILE, or --pod FILE with --snapshot FILE"),
    };
    world.now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    if !args.nodes.is_empty() {
        for node in &args.nodes {
            let all: Vec<Cow<'_, str>> = names(&world.nodes).collect();
            let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
            ensure!(all.contains(&node.as_str()), "the cluster has no node '{node}'{}", text::hint(node, &all));
        }
        world.request = Some(args.nodes.clone());
    }
    Ok(world)
}

/// The body of a request as JSON.
fn read(path: &Path) -> Result<Value> {
    let shown = path.display();
    let bytes = read_input(path, MAX_REQUEST_BYTES).map_err(|error| anyhow::anyhow!("{shown} {error}"))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{shown}: expected the body of a request in JSON"))
}

fn of_pod(file: &Path, snapshot: Option<RawObjects>) -> Result<World> {
    let Some(RawObjects { nodes, pods, namespaces }) = snapshot else {
        bail!("--record --pod needs --snapshot FILE with the nodes")
    };
    let pod = plimsoll_cluster::read_pod_as_json(file)?;
    Ok(World { pod, nodes, pods, namespaces, ..World::default() })
}

/// The world of the body of a filter or prioritize.
fn of_request(body: &Value, snapshot: Option<RawObjects>, file: &Path) -> Result<World> {
    let has_snapshot = snapshot.is_some();
    let RawObjects { mut nodes, pods, namespaces } = snapshot.unwrap_or_default();
    let Some(pod) = field(body, "Pod").filter(|pod| pod.is_object()).cloned() else {
        bail!("{}: expected the body of a filter or prioritize", file.display())
    };
    let mut request = None;
    if let Some(whole) = field(body, "Nodes").and_then(|list| field(list, "items")).and_then(Value::as_array) {
        request = Some(names(whole).map(Cow::into_owned).collect::<Vec<String>>());
        put_all(&mut nodes, whole);
    } else if let Some(listed) = field(body, "NodeNames").and_then(Value::as_array) {
        let listed: Vec<String> = listed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        request = Some(known(listed, &nodes, has_snapshot)?);
    }
    if request.as_ref().is_none_or(Vec::is_empty) {
        bail!("{}: it names no nodes, or none that the snapshot has", file.display());
    }
    // The pods on the nodes are not part of a request.
    Ok(World { pod, nodes, request, pods, namespaces, without_pods: !has_snapshot, ..World::default() })
}

/// The nodes of names mode: those that the snapshot has. Without one the policy would be asked about nodes without labels,
/// and the case would expect its wrong answers.
fn known(listed: Vec<String>, nodes: &[Value], has_snapshot: bool) -> Result<Vec<String>> {
    ensure!(
        has_snapshot,
        "the request has only the names of its nodes: add --snapshot FILE with the nodes and their pods"
    );
    let in_snapshot: HashSet<Cow<'_, str>> = names(nodes).collect();
    let (known, lost): (Vec<String>, Vec<String>) =
        listed.into_iter().partition(|name| in_snapshot.contains(name.as_str()));
    match &*lost {
        [] => {}
        [one] => output::remark(&format!("the snapshot has no node '{one}', which the request names: it is left out")),
        [first, ..] => {
            let more = lost.len();
            output::remark(&format!(
                "{more} nodes of the request are not in the snapshot, {first} among them: left out"
            ));
        }
    }
    Ok(known)
}

/// Whole nodes of a request are newer than those of a snapshot.
fn put_all(nodes: &mut Vec<Value>, newer: &[Value]) {
    let replaced: HashSet<Cow<'_, str>> = names(newer).collect();
    nodes.retain(|old| !replaced.contains(&at(old, "/metadata/name")));
    nodes.extend(newer.iter().cloned());
}

fn names(nodes: &[Value]) -> impl Iterator<Item = Cow<'_, str>> {
    nodes.iter().map(|node| at(node, "/metadata/name"))
}

/// A field by its name in any case, as the wire has it.
fn field<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    let fields = object.as_object()?;
    fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn at<'v>(object: &'v Value, pointer: &str) -> Cow<'v, str> {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().into()
}
