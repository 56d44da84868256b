//! The store of the API server: its objects, and the events of its watches.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde_json::{Value, json};

/// Events that are kept for watches; one that asks for older ones has to list again.
const MOST_EVENTS: usize = 10_000;

/// Items of a page for which no limit was asked.
const PAGE: usize = 500;

/// A status and a body.
pub(super) type Reply = (u16, Value);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Nodes,
    Pods,
    /// Pods that are not placed.
    Waiting,
    Namespaces,
    DeviceClasses,
    /// PersistentVolumeClaims.
    Claims,
}

/// One line of a watch.
pub(super) struct Event {
    pub(super) version: u64,
    pub(super) resource: Resource,
    pub(super) line: Arc<str>,
}

#[derive(Default)]
pub(super) struct Objects {
    version: u64,
    nodes: BTreeMap<String, Value>,
    /// By namespace and name, with a `_` between them, which is in neither.
    pods: BTreeMap<String, Value>,
    namespaces: BTreeMap<String, Value>,
    device_classes: BTreeMap<String, Value>,
    /// As pods.
    claims: BTreeMap<String, Value>,
    /// As pods; nobody watches them.
    config_maps: BTreeMap<String, Value>,
    lease: Option<Value>,
    events: VecDeque<Event>,
    /// Events up to this version are forgotten.
    forgotten: u64,
}

// === impl Resource ===

impl Resource {
    /// Whether an object in the place of the resource is one of it.
    fn has(self, object: &Value) -> bool {
        match self {
            Self::Pods => is_placed(object),
            Self::Waiting => !is_placed(object),
            Self::Nodes | Self::Namespaces | Self::DeviceClasses | Self::Claims => true,
        }
    }
}

// === impl Objects ===

impl Objects {
    pub(super) fn put_node(&mut self, mut node: Value) {
        self.stamp(&mut node);
        let name = text(&node["metadata"]["name"]);
        let kind = if self.nodes.contains_key(&name) { "MODIFIED" } else { "ADDED" };
        self.note(Resource::Nodes, kind, &node);
        self.nodes.insert(name, node);
    }

    pub(super) fn put_namespace(&mut self, mut namespace: Value) {
        self.stamp(&mut namespace);
        let name = text(&namespace["metadata"]["name"]);
        let kind = if self.namespaces.contains_key(&name) { "MODIFIED" } else { "ADDED" };
        self.note(Resource::Namespaces, kind, &namespace);
        self.namespaces.insert(name, namespace);
    }

    pub(super) fn put_device_class(&mut self, mut class: Value) {
        self.stamp(&mut class);
        let name = text(&class["metadata"]["name"]);
        let kind = if self.device_classes.contains_key(&name) { "MODIFIED" } else { "ADDED" };
        self.note(Resource::DeviceClasses, kind, &class);
        self.device_classes.insert(name, class);
    }

    pub(super) fn delete_device_class(&mut self, name: &str) {
        let Some(mut class) = self.device_classes.remove(name) else { return };
        self.stamp(&mut class);
        self.note(Resource::DeviceClasses, "DELETED", &class);
    }

    pub(super) fn put_claim(&mut self, mut claim: Value) {
        self.stamp(&mut claim);
        let key = key(&text(&claim["metadata"]["namespace"]), &text(&claim["metadata"]["name"]));
        let kind = if self.claims.contains_key(&key) { "MODIFIED" } else { "ADDED" };
        self.note(Resource::Claims, kind, &claim);
        self.claims.insert(key, claim);
    }

    pub(super) fn delete_claim(&mut self, namespace: &str, name: &str) {
        let Some(mut claim) = self.claims.remove(&key(namespace, name)) else { return };
        self.stamp(&mut claim);
        self.note(Resource::Claims, "DELETED", &claim);
    }

    pub(super) fn put_config_map(&mut self, namespace: &str, name: &str, data: Value) {
        self.config_maps.insert(key(namespace, name), data);
    }

    pub(super) fn config_map(&self, namespace: &str, name: &str) -> Reply {
        match self.config_maps.get(&key(namespace, name)) {
            Some(data) => (200, json!({"metadata": {"namespace": namespace, "name": name}, "data": data})),
            None => refusal(404, &format!("configmaps \"{name}\" not found")),
        }
    }

    pub(super) fn put_pod(&mut self, mut pod: Value) {
        self.stamp(&mut pod);
        let key = key(&text(&pod["metadata"]["namespace"]), &text(&pod["metadata"]["name"]));
        if pod["metadata"]["uid"].is_null() {
            pod["metadata"]["uid"] = key.as_str().into();
        }
        let before = self.pods.insert(key, pod.clone());
        for resource in [Resource::Waiting, Resource::Pods] {
            match (before.as_ref().filter(|old| resource.has(old)), resource.has(&pod)) {
                (Some(_), true) => self.note(resource, "MODIFIED", &pod),
                (None, true) => self.note(resource, "ADDED", &pod),
                // As the real one: the pod as it was when the selector still matched it.
                (Some(old), false) => self.note(resource, "DELETED", old),
                (None, false) => {}
            }
        }
    }

    pub(super) fn delete_pod(&mut self, namespace: &str, name: &str) {
        let Some(mut pod) = self.pods.remove(&key(namespace, name)) else { return };
        self.stamp(&mut pod);
        for resource in [Resource::Waiting, Resource::Pods].into_iter().filter(|resource| resource.has(&pod)) {
            self.note(resource, "DELETED", &pod);
        }
    }

    pub(super) fn pod(&self, namespace: &str, name: &str) -> Option<&Value> {
        self.pods.get(&key(namespace, name))
    }

    pub(super) fn placed_pods(&self) -> impl Iterator<Item = &Value> {
        self.pods.values().filter(|pod| is_placed(pod))
    }

    /// Forgets all events.
    pub(super) fn compact(&mut self) {
        self.version += 1;
        self.forgotten = self.version;
        self.events.clear();
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The events behind a version; none if they are forgotten.
    pub(super) fn events_after(&self, version: u64, resource: Resource) -> Option<Vec<Arc<str>>> {
        if version < self.forgotten {
            return None;
        }
        let from = self.events.partition_point(|event| event.version <= version);
        let events = self.events.range(from..).filter(|event| event.resource == resource);
        Some(events.map(|event| Arc::clone(&event.line)).collect())
    }

    /// One page of a list. Its token is the version of the first page and the last key: a watch from that version
    /// repeats what happened between the pages.
    pub(super) fn page(&self, resource: Resource, limit: Option<usize>, token: &str) -> Value {
        let objects = match resource {
            Resource::Nodes => &self.nodes,
            Resource::Pods | Resource::Waiting => &self.pods,
            Resource::Namespaces => &self.namespaces,
            Resource::DeviceClasses => &self.device_classes,
            Resource::Claims => &self.claims,
        };
        let (version, after) = token.split_once('.').unwrap_or(("", ""));
        let version = version.parse().unwrap_or(self.version);
        let behind = objects.range(after.to_owned()..).filter(|(key, _)| key.as_str() != after);
        let mut rest = behind.filter(|(_, object)| resource.has(object)).peekable();
        let mut items = vec![];
        let mut last = "";
        while items.len() < limit.unwrap_or(PAGE)
            && let Some((key, object)) = rest.next()
        {
            items.push(object);
            last = key;
        }
        let next = if rest.peek().is_some() { format!("{version}.{last}") } else { String::new() };
        let metadata = json!({"resourceVersion": version.to_string(), "continue": next});
        json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items})
    }

    pub(super) fn lease(&self) -> Reply {
        self.lease.clone().map_or_else(|| refusal(404, "leases \"plimsoll\" not found"), |lease| (200, lease))
    }

    pub(super) fn put_lease(&mut self, mut lease: Value) -> Value {
        self.stamp(&mut lease);
        self.lease.insert(lease).clone()
    }

    pub(super) fn create_lease(&mut self, lease: Value) -> Reply {
        if self.lease.is_some() {
            return refusal(409, "leases \"plimsoll\" already exists");
        }
        (201, self.put_lease(lease))
    }

    pub(super) fn replace_lease(&mut self, lease: Value) -> Reply {
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        if self.lease.as_ref().map(version) != Some(version(&lease)) {
            return refusal(409, "the object has been modified");
        }
        (200, self.put_lease(lease))
    }

    /// As the real one does it: `pkg/registry/core/pod/storage/storage.go`.
    pub(super) fn bind(&mut self, namespace: &str, name: &str, binding: &Value) -> Reply {
        let Some(pod) = self.pods.get(&key(namespace, name)) else { return refusal(404, "no such pod") };
        for condition in ["uid", "resourceVersion"] {
            let wanted = &binding["metadata"][condition];
            if !wanted.is_null() && *wanted != pod["metadata"][condition] {
                return refusal(409, "precondition failed");
            }
        }
        if is_placed(pod) {
            return refusal(409, &format!("pod {name} is already assigned to node {}", pod["spec"]["nodeName"]));
        }
        let mut pod = pod.clone();
        pod["spec"]["nodeName"] = binding["target"]["name"].clone();
        for field in ["annotations", "labels"] {
            for (key, value) in binding["metadata"][field].as_object().into_iter().flatten() {
                pod["metadata"][field][key] = value.clone();
            }
        }
        self.put_pod(pod);
        (201, json!({"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}))
    }

    /// Carries out a JSON patch of a pod's status: tests, additions and removals of members. As in the real one, a test for
    /// null passes where there is nothing, and the manager of a nomination is kept.
    pub(super) fn patch_status(&mut self, namespace: &str, name: &str, patch: &Value, manager: &str) -> Reply {
        let Some(mut pod) = self.pods.get(&key(namespace, name)).cloned() else { return refusal(404, "no such pod") };
        if pod["status"].is_null() {
            pod["status"] = json!({});
        }
        for step in patch.as_array().into_iter().flatten() {
            if apply(&mut pod, step).is_none() {
                return refusal(422, &format!("the patch does not apply: {step}"));
            }
        }
        let fields = json!({"f:status": {"f:nominatedNodeName": {}}});
        let entry = json!({"manager": manager, "operation": "Update", "subresource": "status", "fieldsV1": fields});
        let is_nominated = pod["status"]["nominatedNodeName"].is_string();
        pod["metadata"]["managedFields"] = if is_nominated { json!([entry]) } else { json!([]) };
        self.put_pod(pod.clone());
        (200, pod)
    }

    /// Gives an object the next version.
    fn stamp(&mut self, object: &mut Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
    }

    fn note(&mut self, resource: Resource, kind: &str, object: &Value) {
        let line = format!("{}\n", json!({"type": kind, "object": object})).into();
        self.events.push_back(Event { version: self.version, resource, line });
        if self.events.len() > MOST_EVENTS
            && let Some(event) = self.events.pop_front()
        {
            self.forgotten = event.version;
        }
    }
}

pub(super) fn refusal(status: u16, message: &str) -> Reply {
    // kube tells a missing object by its reason, not by its status.
    let reason = match status {
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        _ => "InternalError",
    };
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": status});
    (status, body)
}

/// Carries out one step of a JSON patch; none if it does not apply.
fn apply(object: &mut Value, step: &Value) -> Option<()> {
    let (parent, member) = step["path"].as_str()?.rsplit_once('/')?;
    let parent = object.pointer_mut(parent)?.as_object_mut()?;
    match step["op"].as_str()? {
        "test" => (parent.get(member).unwrap_or(&Value::Null) == &step["value"]).then_some(()),
        "add" => {
            parent.insert(member.to_owned(), step["value"].clone());
            Some(())
        }
        "remove" => parent.remove(member).map(drop),
        _ => None,
    }
}

fn is_placed(pod: &Value) -> bool {
    pod["spec"]["nodeName"].is_string()
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}_{name}")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
