//! A small cluster, and policies to ask about it.
#![expect(clippy::expect_used, reason = "a broken fixture should stop its test")]

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, BindError, Binder, Binding, Candidate, Cluster, IsUnchanged, Leader, Limits, Loader, Member, Node,
    NotReserved, Pod, PolicyConfig, Reservation, View,
};
use plimsoll_wasm::{EngineConfig, WasmLoader, digest, module_of};

/// The number of nodes in the small cluster: `n0` and `n2` in zone a, the others in zone b.
pub const NODES: u32 = 4;

/// An API server with pod `default/p`, which always waits: it keeps the bindings that it is sent.
#[derive(Debug, Default)]
pub struct Binds(Mutex<Vec<Binding>>);

impl Binds {
    /// The bindings that were to be written, in order.
    pub fn all(&self) -> Vec<Binding> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Binder for Binds {
    fn leader(&self) -> Leader {
        Leader::ThisReplica
    }

    fn pod(&self, _: &str, _: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
        let pod = Pod::from_json(r#"{"metadata":{"name":"p","namespace":"default","uid":"p"}}"#.into());
        pod.map(Arc::new).map_err(|error| BindError::Api(error.to_string()))
    }

    fn reserve(
        &self,
        _: &Arc<Pod>,
        binding: Binding,
        _: &IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        Ok(Box::new(Place { binds: self, binding }))
    }
}

/// A place that nobody else asks for.
struct Place<'a> {
    binds: &'a Binds,
    binding: Binding,
}

impl Reservation for Place<'_> {
    fn bind(self: Box<Self>, _: &Arc<Pod>, _: Instant) -> Result<(), BindError> {
        self.binds.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.binding);
        Ok(())
    }
}

/// A loader as an operator has it, without a cache.
pub fn loader() -> WasmLoader {
    WasmLoader::new(EngineConfig::in_process()).expect("WebAssembly must run here")
}

/// So many nodes, alternating between zone a and b, and a pod on each.
pub fn cluster(nodes: u32) -> Arc<Cluster> {
    let node = |n: u32| Node::from_json(node_json(n).into()).expect("the node must be sound");
    let pod = |n: u32| {
        let json = format!(r#"{{"metadata":{{"name":"p{n}","uid":"u{n}"}},"spec":{{"nodeName":"n{n}"}}}}"#);
        Pod::from_json(json.into()).expect("the pod must be sound")
    };
    Arc::new(Cluster::from_objects((0..nodes).map(node).collect(), (0..nodes).map(pod).collect()))
}

/// A view of all the nodes of a cluster, each a preemption candidate.
pub fn view(cluster: &Arc<Cluster>) -> View {
    let nodes: Vec<u32> = (0..cluster.slots().len() as u32).collect();
    let candidates = nodes.iter().map(|_| Candidate { victims: vec![0], pdb_violations: 0 });
    View::new(Arc::new(Pod::default()), Arc::clone(cluster), nodes.iter().copied().collect(), 1_700_000_000)
        .with_candidates(candidates.collect())
}

/// A question about a view, with the bounds that sidecars have by default.
pub fn ask(view: View) -> Ask {
    let config = PolicyConfig::default();
    let limits = Limits::until(Instant::now() + config.timeout, config.memory);
    Ask::new(Arc::from("guest"), Arc::new(view), limits)
}

/// The same with another deadline, for guests that are asked much or slow to start.
pub fn patient(mut ask: Ask) -> Ask {
    ask.limits.deadline = Instant::now() + Duration::from_secs(30);
    ask
}

/// A policy of the root group.
pub fn member(loader: &WasmLoader, name: &str, module: &[u8], config: PolicyConfig) -> Arc<Member> {
    let policy = loader.load("", &module_of(module)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Arc::new(Member {
        digest: digest(module).into(),
        size: module.len() as u64,
        ..Member::new("", name, config, policy)
    })
}

fn node_json(n: u32) -> String {
    let zone = if n.is_multiple_of(2) { "a" } else { "b" };
    let other: Vec<String> = (0..20).map(|key| format!(r#""example.com/label-{key}":"value-{key}-{n}""#)).collect();
    format!(r#"{{"metadata":{{"name":"n{n}","labels":{{"zone":"{zone}",{}}}}}}}"#, other.join(","))
}
