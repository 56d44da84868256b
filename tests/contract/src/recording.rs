//! The recorded requests of kube-scheduler, and the cluster that it sent them from.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use bytes::Bytes;
use plimsoll_core::{Cluster, Node, Pod};
use serde_json::Value;

/// One recorded call.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The folder.
    pub story: &'static str,
    /// Its number and verb, as in the file names.
    pub name: String,
    /// The last segment of its URL.
    pub verb: String,
    /// The request's headers.
    pub headers: String,
    /// The request's body.
    pub request: Bytes,
    /// The recorded extender's answer.
    pub response: Bytes,
}

/// Every story, and whether its scheduler named nodes (`nodeCacheCapable: true`).
pub const STORIES: [(&str, bool); 6] = [
    ("cache", true),
    ("cache-preempt-rejected", true),
    ("cache-scores", true),
    ("nocache", false),
    ("nocache-preempt-rejected", false),
    ("nocache-scores", false),
];

/// The calls of a story, in order.
pub fn story(story: &'static str) -> Result<Vec<Recording>> {
    let folder = folder(story);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        names.extend(file.strip_suffix(".request.json").map(str::to_owned));
    }
    names.sort();
    let read = |name: String| {
        let text = |ending: &str| fs::read(folder.join(format!("{name}.{ending}"))).with_context(|| name.clone());
        Ok(Recording {
            story,
            verb: name.split_once('-').map_or("", |(_, verb)| verb).to_owned(),
            headers: String::from_utf8(text("headers.txt")?)?,
            request: text("request.json")?.into(),
            response: text("response.json")?.into(),
            name,
        })
    };
    names.into_iter().map(read).collect()
}

/// The cluster of a story told by name: the nodes of `nocache`, and every pod where it was bound.
pub fn cluster(of: &'static str) -> Result<Cluster> {
    let list = serde_json::from_slice::<Value>(&story("nocache")?.first().context("no recordings")?.request)?;
    let nodes = list["Nodes"]["items"].as_array().context("no nodes")?.iter();
    let nodes = nodes.map(|node| Ok(Node::from_json(node.to_string().into())?)).collect::<Result<Vec<_>>>()?;
    let (mut seen, mut pods) = (Vec::<Value>::new(), Vec::new());
    for call in story(of)? {
        let request: Value = serde_json::from_slice(&call.request)?;
        if call.verb != "bind" {
            seen.push(request["Pod"].clone());
            continue;
        }
        let pod = seen.iter().rfind(|pod| pod["metadata"]["uid"] == request["PodUID"]);
        let mut pod = pod.context("bound, but never scheduled")?.clone();
        pod["spec"]["nodeName"] = request["Node"].clone();
        pods.push(Pod::from_json(pod.to_string().into())?);
    }
    Ok(Cluster::from_objects(nodes, pods))
}

fn folder(story: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recordings").join(story)
}

// === impl Recording ===

impl Recording {
    /// Where to look when a check fails.
    pub fn place(&self) -> String {
        format!("{}/{}", self.story, self.name)
    }
}
