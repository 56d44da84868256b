//! Where the commands that answer one question find their cluster.

use std::{path::PathBuf, time::Duration};

use super::values::duration;

/// One of a file, an API server, and the sample cluster; there is none by default.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "The cluster")]
pub(crate) struct ClusterArgs {
    /// Nodes and pods from a file (`kubectl get nodes,pods -A -o json`)
    #[arg(long, env = "PLIMSOLL_SNAPSHOT", value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,

    /// Read the current nodes and pods through this kubeconfig [default: `$KUBECONFIG`; in a pod: its service account]
    #[arg(long, env = "PLIMSOLL_KUBECONFIG", value_name = "FILE", conflicts_with = "snapshot")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current one]
    #[arg(long, env = "PLIMSOLL_CONTEXT", value_name = "NAME", conflicts_with_all = ["snapshot", "sample"])]
    pub(crate) context: Option<String>,

    /// Use the sample cluster: 200 invented nodes and their pods
    #[arg(long, env = "PLIMSOLL_SAMPLE", conflicts_with_all = ["snapshot", "kubeconfig"])]
    pub(crate) sample: bool,

    /// Give up when the API server has been silent for this long
    #[arg(long, env = "PLIMSOLL_TIMEOUT", value_name = "TIME", default_value = "15s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

// === impl ClusterArgs ===

impl ClusterArgs {
    /// Whether a flag names the cluster.
    pub(crate) fn is_named(&self) -> bool {
        self.sample || self.snapshot.is_some() || self.kubeconfig.is_some() || self.context.is_some()
    }
}
