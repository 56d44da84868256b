//! The API server: pods, nodes, one Lease, and watches with a history.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};

use super::world::{LEASE, micros};

/// The annotation with a pod's device.
pub(super) const DEVICE: &str = "device";

/// A pod as it is stored.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) uid: String,
    pub(super) version: u64,
    pub(super) node: Option<String>,
    pub(super) device: Option<String>,
}

/// One event of the pods' watch; pods that wait have none.
pub(super) struct Happened {
    pub(super) version: u64,
    pub(super) at: u64,
    pub(super) line: String,
}

#[derive(Default)]
pub(super) struct SimulatedApi {
    /// The world's time.
    pub(super) now: u64,
    pub(super) nodes: Vec<String>,
    /// The number of pods that may be bound at a time.
    seats: usize,
    pub(super) pods: BTreeMap<String, Stored>,
    pub(super) version: u64,
    pub(super) log: Vec<Happened>,
    lease: Option<Value>,
    /// When the Lease was made or passed to its holder, and whether it was made.
    passed: (u64, bool),
    /// Every pod that was ever bound, by UID.
    bound: BTreeMap<String, String>,
}

/// A reply: status and body.
pub(super) type ApiReply = (u16, Value);

// === impl SimulatedApi ===

impl SimulatedApi {
    pub(super) fn new(nodes: u64, seats: usize) -> Self {
        Self { nodes: (0..nodes).map(|node| format!("n{node}")).collect(), seats, version: 1, ..Self::default() }
    }

    /// Carries out one request of a process; `line` is its target.
    pub(super) fn answer(&mut self, sender: &str, method: &Method, target: &str, body: &[u8]) -> ApiReply {
        let (path, _) = target.split_once('?').unwrap_or((target, ""));
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let body = || serde_json::from_slice::<Value>(body).unwrap();
        match (method.as_str(), segments.as_slice()) {
            ("GET", ["apis", "coordination.k8s.io", .., "plimsoll"]) => {
                self.lease.clone().map_or_else(|| refusal(404, "no such lease"), |lease| (200, lease))
            }
            ("PUT", ["apis", "coordination.k8s.io", .., "plimsoll"]) => self.write_lease(body(), false),
            ("POST", ["apis", "coordination.k8s.io", .., "leases"]) => self.write_lease(body(), true),
            ("GET", ["api", "v1", "nodes"]) => {
                let items: Vec<Value> = self.nodes.iter().map(|name| json!({"metadata": {"name": name}})).collect();
                (200, json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": items}))
            }
            ("GET", ["api", "v1", "pods"]) => {
                let bound = self.pods.iter().filter(|(_, pod)| pod.node.is_some());
                let items: Vec<Value> = bound.map(|(name, pod)| pod.json(name)).collect();
                (200, json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": items}))
            }
            ("GET", ["api", "v1", "namespaces", "ml", "pods", name]) => {
                self.pods.get(*name).map_or_else(|| refusal(404, "no such pod"), |pod| (200, pod.json(name)))
            }
            ("POST", ["api", "v1", "namespaces", "ml", "pods", name, "binding"]) => self.bind(sender, name, &body()),
            _ => panic!("nobody asks {method} {target}"),
        }
    }

    fn write_lease(&mut self, mut lease: Value, makes: bool) -> ApiReply {
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        match (&self.lease, makes) {
            (Some(_), true) => return refusal(409, "the lease is there"),
            (None, false) => return refusal(404, "no such lease"),
            (Some(own), false) if version(own) != version(&lease) => return refusal(409, "it has been modified"),
            _ => {}
        }
        let holder = |lease: &Value| lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        if makes || self.lease.as_ref().map(holder) != Some(holder(&lease)) {
            self.passed = (self.now, makes);
        }
        self.version += 1;
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.lease = Some(lease.clone());
        (if makes { 201 } else { 200 }, lease)
    }

    /// Somebody deletes the Lease, to help.
    pub(super) fn delete_lease(&mut self) {
        self.lease = None;
    }

    /// As the real one does it: `pkg/registry/core/pod/storage/storage.go`.
    fn bind(&mut self, sender: &str, name: &str, binding: &Value) -> ApiReply {
        let Some(pod) = self.pods.get(name) else { return refusal(404, "no such pod") };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if text(&binding["metadata"]["uid"]) != pod.uid
            || text(&binding["metadata"]["resourceVersion"]) != pod.version.to_string()
        {
            return refusal(409, "precondition failed");
        }
        if pod.node.is_some() {
            return refusal(409, "the pod is already assigned");
        }
        let (node, device) = (text(&binding["target"]["name"]), text(&binding["metadata"]["annotations"][DEVICE]));
        self.check(sender, name, &node, &device);
        self.version += 1;
        let version = self.version;
        let pod = Stored { node: Some(node.clone()), device: Some(device), version, ..pod.clone() };
        assert!(self.bound.insert(pod.uid.clone(), node).is_none(), "pod {name} was bound twice");
        self.happened("ADDED", name, &pod);
        self.pods.insert(name.to_owned(), pod);
        (201, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    }

    /// Checks the invariants of a Binding when it is carried out.
    fn check(&self, sender: &str, name: &str, node: &str, device: &str) {
        let now = self.now;
        let has_it = |pod: &&Stored| pod.node.as_deref() == Some(node) && pod.device.as_deref() == Some(device);
        if let Some(other) = self.pods.values().find(has_it) {
            panic!("device {device} of {node} is given twice: to {} and by {sender} to {name}", other.uid);
        }
        let taken = self.pods.values().filter(|pod| pod.node.is_some()).count();
        assert!(taken < self.seats, "a seat of {} is given twice: by {sender} to {name}", self.seats);
        let holder = self.lease.as_ref().and_then(|lease| lease["spec"]["holderIdentity"].as_str());
        let (passed, was_made) = self.passed;
        // A deleted Lease may still be held by its last holder; a replica that creates it waits until that has ended.
        let is_held_by_another = holder.is_some_and(|holder| holder != sender);
        let is_in_waiting = was_made && now < passed + micros(LEASE * 9 / 8);
        assert!(
            !is_held_by_another || is_in_waiting,
            "{sender} bound {name} after {holder:?} took the Lease at {passed}: now is {now}"
        );
    }

    pub(super) fn was_bound(&self, uid: &str, node: &str) -> bool {
        self.bound.get(uid).is_some_and(|bound| bound == node)
    }

    pub(super) fn create(&mut self, name: &str, uid: String) {
        self.version += 1;
        let pod = Stored { uid, version: self.version, node: None, device: None };
        self.pods.insert(name.to_owned(), pod);
    }

    pub(super) fn delete(&mut self, name: &str) {
        let Some(mut pod) = self.pods.remove(name) else { return };
        self.version += 1;
        pod.version = self.version;
        if pod.node.is_some() {
            self.happened("DELETED", name, &pod);
        }
    }

    /// The scheduler, or the kubelet, writes the pod's status.
    pub(super) fn touch(&mut self, name: &str) {
        let Some(mut pod) = self.pods.get(name).cloned() else { return };
        self.version += 1;
        pod.version = self.version;
        if pod.node.is_some() {
            self.happened("MODIFIED", name, &pod);
        }
        self.pods.insert(name.to_owned(), pod);
    }

    fn happened(&mut self, kind: &str, name: &str, pod: &Stored) {
        let line = format!("{}\n", json!({"type": kind, "object": pod.json(name)}));
        self.log.push(Happened { version: pod.version, at: self.now, line });
    }

    /// The UIDs and devices on a node.
    pub(super) fn placed(&self, node: &str) -> BTreeSet<(String, String)> {
        let there = self.pods.values().filter(|pod| pod.node.as_deref() == Some(node));
        there.map(|pod| (pod.uid.clone(), pod.device.clone().unwrap_or_default())).collect()
    }
}

// === impl Stored ===

impl Stored {
    fn json(&self, name: &str) -> Value {
        let mut pod = json!({
            "metadata": {
                "name": name, "namespace": "ml", "uid": self.uid, "resourceVersion": self.version.to_string(),
            },
            "spec": {"containers": []},
        });
        if let (Some(node), Some(device)) = (&self.node, &self.device) {
            pod["spec"]["nodeName"] = node.as_str().into();
            pod["metadata"]["annotations"] = json!({DEVICE: device});
        }
        pod
    }
}

pub(super) fn refusal(status: u16, message: &str) -> ApiReply {
    let reason = if status == 404 { "NotFound" } else { "Other" };
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": status,
    });
    (status, body)
}
