//! Where the cluster of a report comes from.

use std::{fmt, path::PathBuf};

use serde_json::{Value, json};

use crate::text;

/// The cluster that was asked about; every report names it.
#[derive(Debug, Clone)]
pub(crate) struct ClusterOrigin {
    pub(super) source: OriginSource,
    pub(super) nodes: usize,
    pub(super) pods: usize,
}

/// Where the cluster comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OriginSource {
    Sample,
    Snapshot(PathBuf),
    ApiServer { url: String },
}

// === impl ClusterOrigin ===

impl ClusterOrigin {
    /// The first line of a report.
    pub(crate) fn as_line(&self) -> String {
        let mut line = String::new();
        text::push_line(&mut line, format_args!("cluster {self}"));
        line
    }

    pub(crate) fn as_json(&self) -> Value {
        let mut json = json!({"nodes": self.nodes, "pods": self.pods});
        match &self.source {
            OriginSource::Sample => json["source"] = "sample".into(),
            OriginSource::Snapshot(file) => {
                json["source"] = "snapshot".into();
                json["file"] = file.display().to_string().into();
            }
            OriginSource::ApiServer { url } => {
                json["source"] = "api-server".into();
                json["url"] = url.as_str().into();
            }
        }
        json
    }
}

impl fmt::Display for ClusterOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nodes, pods) = (text::count(self.nodes, "node"), text::count(self.pods, "pod"));
        match &self.source {
            OriginSource::Sample => write!(f, "SAMPLE, not yours: {nodes} and {pods} that do not exist"),
            OriginSource::Snapshot(file) => write!(f, "{}: {nodes} and {pods}", file.display()),
            OriginSource::ApiServer { url } => write!(f, "{url}: {nodes} and {pods}"),
        }
    }
}
