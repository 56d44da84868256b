//! An API server as far as a bind needs one: pods by name, and who binds them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use bytes::Bytes;
use plimsoll_core::{BindError, Binder, Binding, IsUnchanged, Leader, NotReserved, Places, Pod, Reservation};
use serde_json::json;

use crate::recording::Recording;

/// Holds pods that wait for a node, and binds them.
#[derive(Debug)]
pub struct Api(Mutex<State>);

#[derive(Debug)]
struct State {
    leader: Leader,
    /// By namespace and name: the UID, and the node once there is one.
    pods: BTreeMap<(String, String), (String, Option<String>)>,
    bindings: Vec<Binding>,
}

// === impl Api ===

impl Api {
    /// Pods that wait: namespace, name and UID.
    pub fn of<'p>(pods: impl IntoIterator<Item = (&'p str, &'p str, &'p str)>) -> Arc<Self> {
        let entry = |(namespace, name, uid): (&str, &str, &str)| {
            ((namespace.to_owned(), name.to_owned()), (uid.to_owned(), None))
        };
        let pods = pods.into_iter().map(entry).collect();
        Arc::new(Self(Mutex::new(State { leader: Leader::ThisReplica, pods, bindings: vec![] })))
    }

    /// The pods of a story's bind calls.
    pub fn of_story(calls: &[Recording]) -> Arc<Self> {
        let binds = calls.iter().filter(|call| call.verb == "bind");
        let bodies: Vec<serde_json::Value> =
            binds.filter_map(|call| serde_json::from_slice(&call.request).ok()).collect();
        let text = |body: &serde_json::Value, key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let pods: Vec<_> = bodies
            .iter()
            .map(|body| (text(body, "PodNamespace"), text(body, "PodName"), text(body, "PodUID")))
            .collect();
        Self::of(pods.iter().map(|(namespace, name, uid)| (&**namespace, &**name, &**uid)))
    }

    /// Sets the replica that binds from now on.
    pub fn set_leader(&self, leader: Leader) {
        self.state().leader = leader;
    }

    /// The bindings that were written.
    pub fn bindings(&self) -> Vec<Binding> {
        self.state().bindings.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// It shows no cluster, so a place has no effect.
impl Places for Api {
    fn hold(&self, _: Arc<Pod>, _: Instant) {}

    fn leave(&self, _: &str) {}
}

impl Binder for Api {
    fn leader(&self) -> Leader {
        self.state().leader.clone()
    }

    fn pod(&self, namespace: &str, name: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
        let state = self.state();
        let key = (namespace.to_owned(), name.to_owned());
        let (uid, node) = state.pods.get(&key).ok_or(BindError::NoPod)?;
        let pod = json!({
            "metadata": {"namespace": namespace, "name": name, "uid": uid},
            "spec": {"nodeName": node},
        });
        let pod = Pod::from_json(Bytes::from(pod.to_string()));
        pod.map(Arc::new).map_err(|error| BindError::Api(error.to_string()))
    }

    fn reserve(
        &self,
        _: &Arc<Pod>,
        binding: Binding,
        _: &IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        Ok(Box::new(Place { api: self, binding }))
    }
}

/// A place that nobody else asks for.
struct Place<'a> {
    api: &'a Api,
    binding: Binding,
}

impl Reservation for Place<'_> {
    fn bind(self: Box<Self>, _: &Arc<Pod>, _: Instant) -> Result<(), BindError> {
        let (mut state, binding) = (self.api.state(), self.binding);
        let key = (binding.namespace.to_string(), binding.name.to_string());
        let (_, node) = state.pods.get_mut(&key).ok_or(BindError::NoPod)?;
        *node = Some(binding.node.to_string());
        state.bindings.push(binding);
        Ok(())
    }
}
