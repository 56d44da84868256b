//! The set-up before the story begins: a cluster with nodes and pods, plimsoll with its policies, and kube-scheduler.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use plimsoll_e2e::{ControlPlane, Scheduler};
use plimsoll_harness::{Plimsoll, TempDir, guest, policies, tempdir};
use plimsoll_sample::{NAMESPACES, NODES, PODS, list, node, placed_pod};
use serde_json::{Value, json};

const DRAIN_SIDECAR: &str = "order: 50\nmatch:\n  namespaces: [web]\n";
const GUARD_SIDECAR: &str = "settings:\n  protect:\n    example.com/protected: \"true\"\n";
const FRAGILE_SIDECAR: &str = "# Crashes for pods of the app `train`; its faults are ignored.\nonError: ignore\n";

/// The processes and files of the demo; all of it ends with the demo.
pub(crate) struct Stage {
    // kube-scheduler ends first, the files go last.
    _scheduler: Scheduler,
    pub(crate) gateway: Plimsoll,
    pub(crate) cluster: ControlPlane,
    policies: PathBuf,
    _directory: TempDir,
}

// === impl Stage ===

impl Stage {
    /// Starts everything.
    pub(crate) fn lay() -> Result<Self> {
        let directory = tempdir()?;
        let dir = directory.path().join("policies");
        lay_policies(&dir)?;
        let cluster = ControlPlane::start_with_default_features()?;
        populate(&cluster)?;
        let gateway = cluster.gateway_with_kubeconfig(&dir, &[])?;
        let binds = |line: &Value| line["message"].as_str().is_some_and(|text| text.ends_with("this gateway binds"));
        gateway.wait_for_log("plimsoll to hold the Lease", binds)?;
        let scheduler = cluster.schedule_with(gateway.wire, &dir, &[])?;
        Ok(Self { _scheduler: scheduler, gateway, cluster, policies: dir, _directory: directory })
    }

    /// Drops the other version of `zone-drain` over the one in force.
    pub(crate) fn swap_zone_drain(&self) -> Result<()> {
        put(&self.policies, "zone_drain_v2", "zone-drain")
    }

    /// Drops the policy that crashes.
    pub(crate) fn add_fragile(&self) -> Result<()> {
        fs::write(self.policies.join("fragile.yaml"), FRAGILE_SIDECAR)?;
        put(&self.policies, "fragile", "fragile")
    }
}

/// A sample pod as an API server accepts it: it gives priorities itself, by class.
pub(crate) fn created(mut pod: Value) -> Value {
    let class = match pod["spec"]["priority"].as_i64() {
        Some(priority) if priority < 0 => "low",
        Some(priority) if priority > 0 => "high",
        _ => "",
    };
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove("priority");
        spec.insert("priorityClassName".to_owned(), class.into());
        // Without a kubelet nobody would confirm a graceful end.
        spec.insert("terminationGracePeriodSeconds".to_owned(), 0.into());
    }
    pod
}

fn populate(cluster: &ControlPlane) -> Result<()> {
    let namespace = |name: &&str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let class = |(name, value): (&str, i64)| {
        let kind = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"});
        json!({"apiVersion": kind["apiVersion"], "kind": kind["kind"], "metadata": {"name": name}, "value": value})
    };
    cluster.create(&list(NAMESPACES.iter().map(namespace)))?;
    cluster.create(&list([("low", -10), ("high", 1_000)].map(class)))?;
    cluster.create(&list((0..NODES).map(node)))?;
    cluster.create(&list((0..PODS).map(placed_pod).map(created)))
}

/// The sample policies, and `zone-drain` that keeps pods off zone c.
fn lay_policies(dir: &Path) -> Result<()> {
    fs::create_dir(dir)?;
    for entry in fs::read_dir(policies())? {
        let path = entry?.path();
        fs::copy(&path, dir.join(path.file_name().unwrap_or_default()))?;
    }
    fs::write(dir.join("zone-drain.yaml"), DRAIN_SIDECAR)?;
    // Without its rule for young pods: in the demo all of them are.
    fs::write(dir.join("preempt-guard.yaml"), GUARD_SIDECAR)?;
    put(dir, "zone_drain_v1", "zone-drain")
}

/// Puts a guest in place in one step, as a careful operator would.
fn put(dir: &Path, name: &str, policy: &str) -> Result<()> {
    let unfinished = dir.join(format!(".{policy}.wasm"));
    fs::copy(guest(name), &unfinished)?;
    Ok(fs::rename(&unfinished, dir.join(format!("{policy}.wasm")))?)
}
