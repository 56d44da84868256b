//! The extender that the scheduler asks.

use std::{fs, path::Path};

use anyhow::Result;
use plimsoll_e2e::ControlPlane;
use plimsoll_harness::{
    Peer, TempDir, command, policies,
    samples::{self, Sample},
    tempdir,
};
use serde_json::json;

use crate::objects;

/// An extender, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contender {
    None,
    Null,
    ByName,
    GoFive,
    PlimsollFive,
    PlimsollTen,
}

/// A running extender, and how a scheduler reaches it.
pub(crate) struct Extender {
    pub(crate) scheduler_config: String,
    process: Option<Peer>,
    _directory: TempDir,
}

// === impl Extender ===

impl Extender {
    /// Milliseconds of processor time that it has used; 0 if there is none.
    pub(crate) fn processor_ms(&self) -> f64 {
        self.process.as_ref().and_then(Peer::processor_ms).unwrap_or(0.0)
    }
}

// === impl Contender ===

impl Contender {
    pub(crate) const ALL: [Self; 6] =
        [Self::None, Self::Null, Self::ByName, Self::GoFive, Self::PlimsollFive, Self::PlimsollTen];

    /// All of them, each round another one first: the first one meets a machine that is still busy.
    pub(crate) fn in_round(round: usize) -> impl Iterator<Item = Self> {
        (0..Self::ALL.len()).map(move |at| Self::ALL[(round + at) % Self::ALL.len()])
    }

    /// Whether it keeps pods off nodes.
    pub(crate) fn has_rules(self) -> bool {
        !matches!(self, Self::None | Self::Null)
    }

    /// Its name in the report, and how many policies it has.
    pub(crate) fn describe(self) -> (&'static str, usize) {
        match self {
            Self::None => ("none", 0),
            Self::Null => ("null", 0),
            Self::ByName => ("by name", 0),
            Self::GoFive => ("go", 5),
            Self::PlimsollFive => ("plimsoll", 5),
            Self::PlimsollTen => ("plimsoll", 10),
        }
    }

    pub(crate) fn start(self, cluster: &ControlPlane, snapshot: &Path) -> Result<Extender> {
        let directory = tempdir()?;
        let process = match self {
            Self::None => None,
            Self::Null => Some(Peer::null()?),
            Self::ByName => Some(Peer::by_name(&objects::REFUSED)?),
            Self::GoFive => {
                let rules = directory.path().join("rules.json");
                fs::write(&rules, samples::go_rules(&samples::five()))?;
                Some(Peer::go(&rules, Some(snapshot))?)
            }
            Self::PlimsollFive => Some(plimsoll(&samples::five(), directory.path(), cluster)?),
            Self::PlimsollTen => Some(plimsoll(&samples::ten(), directory.path(), cluster)?),
        };
        let extenders = process.iter().map(|peer| {
            json!({
                "urlPrefix": format!("http://{}", peer.address),
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "weight": 1,
                "nodeCacheCapable": true,
                "httpTimeout": "5s",
            })
        });
        let scheduler_config = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": false},
            // The scheduler's own defaults would be the limit.
            "clientConnection": {"kubeconfig": cluster.kubeconfig(), "qps": 5000, "burst": 5000},
            "extenders": extenders.collect::<Vec<_>>(),
        });
        Ok(Extender { scheduler_config: scheduler_config.to_string(), process, _directory: directory })
    }
}

fn plimsoll(samples: &[Sample], directory: &Path, cluster: &ControlPlane) -> Result<Peer> {
    samples::lay_out(samples, policies(), directory)?;
    let mut command = command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json", "--policies"])
        .arg(directory)
        // The scheduler binds; a gateway that binds would acquire a Lease and list again.
        .arg("--no-bind")
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig());
    let plimsoll = Peer::announced_on_stderr(&mut command)?;
    plimsoll.wait_until_ready()?;
    Ok(plimsoll)
}
