//! An API server that fits into a test: pods, the replica that binds them, and the failures of writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Condvar, Mutex, Weak},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use super::super::fixture::{Fixture, bytes, mk_cluster, mk_node};
use crate::{
    decide::{BindOutcome, DecideError, Member},
    gateway::Gateway,
    model::{
        BindError, BindQuery, Binder, Binding, Clock, Cluster, IsUnchanged, Leader, NotReserved, Pod, Reservation,
    },
};

/// Reads and binds as the real one does, and puts in force the pods that the watch shows, with those that are reserved.
pub(super) struct Api {
    gateway: Weak<Gateway>,
    nodes: Vec<Json>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// By `namespace/name`.
    pods: BTreeMap<String, Json>,
    leader: Leader,
    writes: Vec<Binding>,
    /// The outcomes of the next writes.
    ends: Vec<End>,
    /// By number.
    reserved: BTreeMap<u64, Reserved>,
    next: u64,
    /// The names of the pods whose binding the watch has not shown yet; it shows none while it lags.
    unshown: BTreeSet<String>,
    lags: bool,
    /// An action before the next place is reserved.
    before_reserve: Option<Box<dyn FnOnce() + Send>>,
    /// Writes to this node wait.
    closed: Option<&'static str>,
    waiting: usize,
    /// The number of times that a pod was read.
    reads: usize,
    /// Whether places are reserved whatever has changed.
    is_blind: bool,
}

/// A place that a bind holds.
struct Reserved {
    pod: Json,
    node: Box<str>,
    /// Its bind has not ended.
    is_open: bool,
}

/// A way in which a write goes wrong.
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
        let state = State {
            pods: pods.into_iter().map(|pod| (full_name(&pod), pod)).collect(),
            leader: Leader::ThisReplica,
            writes: vec![],
            ends: vec![],
            reserved: BTreeMap::new(),
            next: 0,
            unshown: BTreeSet::new(),
            lags: false,
            before_reserve: None,
            closed: None,
            waiting: 0,
            reads: 0,
            is_blind: false,
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

    pub(super) fn set_leader(&self, leader: Leader) {
        self.state.lock().unwrap().leader = leader;
    }

    /// The next write ends so.
    pub(super) fn next_write(&self, end: End) {
        self.state.lock().unwrap().ends.push(end);
    }

    /// Changes a pod behind the gateway's back.
    pub(super) fn change(&self, name: &str, change: impl FnOnce(&mut Json)) {
        change(self.state.lock().unwrap().pods.get_mut(&format!("ml/{name}")).unwrap());
    }

    /// Nominates a pod for a node, and the watch shows it.
    pub(super) fn nominate(&self, name: &str, node: &str) {
        self.change(name, |pod| pod["status"] = json!({"nominatedNodeName": node}));
        self.publish(&mut self.state.lock().unwrap());
    }

    pub(super) fn delete(&self, name: &str) {
        self.state.lock().unwrap().pods.remove(&format!("ml/{name}"));
    }

    /// The same, and the watch shows it.
    pub(super) fn delete_and_show(&self, name: &str) {
        self.delete(name);
        self.publish(&mut self.state.lock().unwrap());
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
        self.until_waiting(1);
    }

    /// Waits until this many writes wait.
    pub(super) fn until_waiting(&self, count: usize) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.waiting < count).unwrap());
    }

    /// Makes the watch lag, or show all that it has not shown.
    pub(super) fn lag(&self, lags: bool) {
        let mut state = self.state.lock().unwrap();
        state.lags = lags;
        self.publish(&mut state);
    }

    /// Does this once, before the next place is reserved.
    pub(super) fn before_reserve(&self, act: impl FnOnce() + Send + 'static) {
        self.state.lock().unwrap().before_reserve = Some(Box::new(act));
    }

    /// Reserves places from now on without asking whether anything has changed.
    pub(super) fn reserve_blindly(&self) {
        self.state.lock().unwrap().is_blind = true;
    }

    /// The number of times that a pod was read.
    pub(super) fn reads(&self) -> usize {
        self.state.lock().unwrap().reads
    }

    /// The names of the pods that are bound, with their nodes.
    pub(super) fn bound(&self) -> Vec<(String, String)> {
        let state = self.state.lock().unwrap();
        let node = |(name, pod): (&String, &Json)| Some((name.clone(), pod["spec"]["nodeName"].as_str()?.to_owned()));
        state.pods.iter().filter_map(node).collect()
    }

    /// Puts in force the pods that the watch shows, with those that are reserved beside them.
    fn publish(&self, state: &mut State) {
        if !state.lags {
            state.unshown.clear();
        }
        let is_shown = |(name, pod): &(&String, &Json)| {
            pod["spec"]["nodeName"].is_string() && !state.unshown.contains(name.as_str())
        };
        let shown: BTreeMap<&String, &Json> = state.pods.iter().filter(is_shown).collect();
        state.reserved.retain(|_, reserved| !shown.contains_key(&full_name(&reserved.pod)));
        let reserved = || state.reserved.values().map(|reserved| &reserved.pod);
        let is_nominated = |pod: &&Json| {
            !pod["spec"]["nodeName"].is_string()
                && reserved().all(|own| own["metadata"]["uid"] != pod["metadata"]["uid"])
        };
        let nominated = state.pods.values().filter(is_nominated);
        let pods: Vec<Json> = shown.into_values().chain(reserved()).chain(nominated).cloned().collect();
        self.gateway.upgrade().unwrap().set_cluster(mk_cluster(&self.nodes, &pods));
    }

    fn cluster(&self) -> Arc<Cluster> {
        self.gateway.upgrade().unwrap().cluster().unwrap()
    }

    /// Writes, as far as the test lets it.
    fn write(&self, number: u64, pod: &Pod, binding: &Binding) -> Result<(), BindError> {
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
        let name = format!("{}/{}", binding.namespace, binding.name);
        let stored = state.pods.get(&name).ok_or(BindError::NoPod)?;
        if stored["metadata"]["uid"] != *binding.uid || pod.uid() != &*binding.uid {
            return Err(BindError::Conflict("Precondition failed: UID in precondition".to_owned()));
        }
        if let Some(node) = stored["spec"]["nodeName"].as_str() {
            return Err(BindError::Conflict(format!("pod is already assigned to node \"{node}\"")));
        }
        if !matches!(end, Some(End::IsLost)) {
            let bound = placed(stored, binding);
            state.pods.insert(name.clone(), bound);
            state.unshown.insert(name);
        }
        // From here on the place is taken, or may be: the reservation stays until the watch shows the pod.
        if let Some(reserved) = state.reserved.get_mut(&number) {
            reserved.is_open = false;
        }
        self.publish(&mut state);
        if end.is_some() { Err(BindError::Timeout("no answer".to_owned())) } else { Ok(()) }
    }

    /// Gives an open place back.
    fn release(&self, number: u64) {
        let mut state = self.state.lock().unwrap();
        if state.reserved.get(&number).is_some_and(|reserved| reserved.is_open) {
            state.reserved.remove(&number);
            self.publish(&mut state);
        }
    }
}

impl Binder for Api {
    fn leader(&self) -> Leader {
        self.state.lock().unwrap().leader.clone()
    }

    fn pod(&self, namespace: &str, name: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
        let mut state = self.state.lock().unwrap();
        state.reads += 1;
        let pod = state.pods.get(&format!("{namespace}/{name}")).ok_or(BindError::NoPod)?.clone();
        if !pod["spec"]["nodeName"].is_string() {
            // The read shows the outcome of binds that have ended.
            let before = state.reserved.len();
            state.reserved.retain(|_, own| own.is_open || own.pod["metadata"]["uid"] != pod["metadata"]["uid"]);
            if state.reserved.len() < before {
                self.publish(&mut state);
            }
        }
        Ok(Arc::new(Pod::from_json(bytes(&pod)).unwrap()))
    }

    fn reserve(
        &self,
        _: &Arc<Pod>,
        binding: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        let before = self.state.lock().unwrap().before_reserve.take();
        if let Some(act) = before {
            act();
        }
        // Lets other threads run, so that a reader that comes too early is found out.
        thread::yield_now();
        let mut state = self.state.lock().unwrap();
        if !is_unchanged(&self.cluster()) && !state.is_blind {
            return Err(NotReserved::Changed);
        }
        let is_own = |reserved: &&Reserved| reserved.pod["metadata"]["uid"] == *binding.uid;
        if let Some(earlier) = state.reserved.values().find(is_own) {
            return Err(NotReserved::Undecided(earlier.node.clone()));
        }
        let cluster = self.cluster();
        let is_bound = |pod: &Arc<Pod>| pod.uid() == &*binding.uid && pod.nomination().is_none();
        let has = |slot: &&crate::model::Slot| slot.placed.as_ref().is_some_and(|own| own.pods().iter().any(is_bound));
        if let Some(slot) = cluster.slots().iter().find(has) {
            return Err(NotReserved::Placed((**slot.node.name()).into()));
        }
        state.next += 1;
        let number = state.next;
        let stored = state.pods.get(&format!("{}/{}", binding.namespace, binding.name)).cloned();
        let shown = placed(&stored.unwrap_or_else(|| mk_waiting(&binding.name)), &binding);
        state.reserved.insert(number, Reserved { pod: shown, node: binding.node.clone(), is_open: true });
        self.publish(&mut state);
        Ok(Box::new(Place { api: self, number, binding }))
    }
}

struct Place<'a> {
    api: &'a Api,
    number: u64,
    binding: Binding,
}

impl Reservation for Place<'_> {
    fn bind(self: Box<Self>, pod: &Arc<Pod>, _: Instant) -> Result<(), BindError> {
        self.api.write(self.number, pod, &self.binding)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.api.release(self.number);
    }
}

fn placed(pod: &Json, binding: &Binding) -> Json {
    let mut pod = pod.clone();
    pod["spec"]["nodeName"] = json!(binding.node);
    for (key, value) in &binding.annotations {
        pod["metadata"]["annotations"][&**key] = json!(value);
    }
    for (key, value) in &binding.labels {
        pod["metadata"]["labels"][&**key] = json!(value);
    }
    pod
}

fn full_name(pod: &Json) -> String {
    let text = |key: &str| pod["metadata"][key].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text("namespace"), text("name"))
}

/// A little before a request would be over that had come in then.
pub(super) fn just_in_time(now: Instant, request_timeout: Duration) -> Instant {
    now.checked_sub(request_timeout).unwrap() + Duration::from_millis(20)
}
