//! An API server that fits into a test: pods, who binds them, and what may go wrong.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, Weak},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use super::super::fixture::{Fixture, bytes, mk_cluster, mk_node};
use crate::{BindError, BindOutcome, BindQuery, Binder, Binding, Clock, DecideError, Gateway, Member, Pod, Turn};

/// Reads and binds as the real one does, and puts what it wrote in force before it returns.
pub(super) struct Api {
    gateway: Weak<Gateway>,
    nodes: Vec<Json>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// By `namespace/name`.
    pods: BTreeMap<String, Json>,
    turn: Turn,
    writes: Vec<Binding>,
    /// What the next writes come to.
    ends: Vec<End>,
    /// Writes to this node wait.
    closed: Option<&'static str>,
    waiting: usize,
}

/// How a write goes wrong.
pub(super) enum End {
    /// Nothing is written, and everyone knows.
    Fails(BindError),
    /// It is written, but there is no answer.
    IsSilent,
    /// It is not written, there is no answer, and the pod stays assumed.
    IsLost,
}

/// A gateway before an API server.
pub(super) struct Desk {
    pub(super) fixture: Fixture,
    pub(super) api: Arc<Api>,
}

pub(super) type Bound = Result<BindOutcome, DecideError>;

/// A pod of namespace `ml`; its UID is `uid-` and its name.
pub(super) fn mk_waiting(name: &str) -> Json {
    json!({"metadata": {"name": name, "namespace": "ml", "uid": format!("uid-{name}")}, "spec": {}})
}

// === impl Desk ===

impl Desk {
    /// Nodes n1 to n3, and pods that wait.
    pub(super) fn new(members: Vec<Arc<Member>>, pods: Vec<Json>) -> Self {
        Self::with_nodes(&["n1", "n2", "n3"], members, pods)
    }

    pub(super) fn with_nodes(nodes: &[&str], members: Vec<Arc<Member>>, pods: Vec<Json>) -> Self {
        let nodes: Vec<Json> = nodes.iter().map(|name| mk_node(name, &[])).collect();
        let fixture = Fixture::new(members, Some(mk_cluster(&nodes, &[])));
        let full_name = |pod: &Json| format!("ml/{}", pod["metadata"]["name"].as_str().unwrap());
        let state = State {
            pods: pods.into_iter().map(|pod| (full_name(&pod), pod)).collect(),
            turn: Turn::Mine,
            writes: vec![],
            ends: vec![],
            closed: None,
            waiting: 0,
        };
        let api =
            Api { gateway: Arc::downgrade(&fixture.gateway), nodes, state: Mutex::new(state), changed: Condvar::new() };
        let api = Arc::new(api);
        fixture.gateway.set_binder(Arc::clone(&api) as _);
        Self { fixture, api }
    }

    /// Binds a pod of namespace `ml` that was scheduled with its own UID.
    pub(super) fn bind(&self, name: &str, node: &str) -> Bound {
        self.bind_within(name, node, self.fixture.clock.now())
    }

    /// The same for a request that came in at this moment.
    pub(super) fn bind_within(&self, name: &str, node: &str, received: Instant) -> Bound {
        let uid = format!("uid-{name}");
        let query =
            BindQuery { namespace: "ml".into(), name: name.into(), uid: uid.into(), node: node.into(), received };
        let (outcome, after) = self.fixture.gateway.bind("", &query)?;
        after.run();
        Ok(outcome)
    }
}

// === impl Api ===

impl Api {
    /// The bindings that were asked for, in order.
    pub(super) fn writes(&self) -> Vec<Binding> {
        self.state.lock().unwrap().writes.clone()
    }

    pub(super) fn set_turn(&self, turn: Turn) {
        self.state.lock().unwrap().turn = turn;
    }

    /// The next write ends so.
    pub(super) fn next_write(&self, end: End) {
        self.state.lock().unwrap().ends.push(end);
    }

    /// Changes a pod behind the gateway's back.
    pub(super) fn change(&self, name: &str, change: impl FnOnce(&mut Json)) {
        change(self.state.lock().unwrap().pods.get_mut(&format!("ml/{name}")).unwrap());
    }

    pub(super) fn delete(&self, name: &str) {
        self.state.lock().unwrap().pods.remove(&format!("ml/{name}"));
    }

    /// An annotation of a pod.
    pub(super) fn annotation(&self, name: &str, key: &str) -> Option<String> {
        let state = self.state.lock().unwrap();
        state.pods[&format!("ml/{name}")]["metadata"]["annotations"][key].as_str().map(ToOwned::to_owned)
    }

    pub(super) fn node_of(&self, name: &str) -> Option<String> {
        let state = self.state.lock().unwrap();
        state.pods[&format!("ml/{name}")]["spec"]["nodeName"].as_str().map(ToOwned::to_owned)
    }

    /// Makes writes to a node wait, or lets them go.
    pub(super) fn close(&self, node: Option<&'static str>) {
        self.state.lock().unwrap().closed = node;
        self.changed.notify_all();
    }

    /// Waits until a write waits.
    pub(super) fn until_one_waits(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.waiting == 0).unwrap());
    }

    /// Puts in force what is bound, and what is assumed.
    fn publish(&self, state: &State, assumed: &[Json]) {
        let bound = state.pods.values().filter(|pod| pod["spec"]["nodeName"].is_string());
        let pods: Vec<Json> = bound.chain(assumed).cloned().collect();
        self.gateway.upgrade().unwrap().set_cluster(mk_cluster(&self.nodes, &pods));
    }
}

impl Binder for Api {
    fn turn(&self) -> Turn {
        self.state.lock().unwrap().turn.clone()
    }

    fn pod(&self, namespace: &str, name: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
        let state = self.state.lock().unwrap();
        let pod = state.pods.get(&format!("{namespace}/{name}")).ok_or(BindError::NoPod)?;
        Ok(Arc::new(Pod::from_json(bytes(pod)).unwrap()))
    }

    fn bind(&self, pod: &Arc<Pod>, binding: &Binding, _: Instant) -> Result<(), BindError> {
        // Whoever reads the cluster too early shall be found out.
        thread::yield_now();
        let mut state = self.state.lock().unwrap();
        if state.closed == Some(&binding.node) {
            state.waiting += 1;
            self.changed.notify_all();
            state = self.changed.wait_while(state, |state| state.closed.is_some()).unwrap();
            state.waiting -= 1;
        }
        state.writes.push(binding.clone());
        let end = state.ends.pop();
        if let Some(End::Fails(error)) = end {
            return Err(error);
        }
        let stored = state.pods.get(&format!("{}/{}", binding.namespace, binding.name)).ok_or(BindError::NoPod)?;
        if stored["metadata"]["uid"] != *binding.uid || pod.uid() != &*binding.uid {
            return Err(BindError::Conflict("Precondition failed: UID in precondition".to_owned()));
        }
        if let Some(node) = stored["spec"]["nodeName"].as_str() {
            return Err(BindError::Conflict(format!("pod is already assigned to node \"{node}\"")));
        }
        let mut bound = stored.clone();
        bound["spec"]["nodeName"] = json!(binding.node);
        for (key, value) in &binding.annotations {
            bound["metadata"]["annotations"][&**key] = json!(value);
        }
        if let Some(End::IsLost) = end {
            self.publish(&state, &[bound]);
            return Err(BindError::Timeout("no answer".to_owned()));
        }
        state.pods.insert(format!("{}/{}", binding.namespace, binding.name), bound);
        self.publish(&state, &[]);
        if let Some(End::IsSilent) = end { Err(BindError::Timeout("no answer".to_owned())) } else { Ok(()) }
    }
}

/// A little before a request would be over that had come in then.
pub(super) fn just_in_time(now: Instant, request_timeout: Duration) -> Instant {
    now.checked_sub(request_timeout).unwrap() + Duration::from_millis(20)
}
