//! Size and speed of a module, by the topic `pool`: one read of the pod, and one of each node.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, Cluster, Fault, Gateway, Limits, Member, NoObserver, Node, Nodes, Pod, Policy, PolicyConfig, Query, Roster,
    SystemClock, View,
};
use plimsoll_wasm::Inspection;
use serde_json::{Value, json};

use crate::text::{self, micros};

/// The settings of the policy.
const SETTINGS: &str = r#"{"topic":"pool"}"#;

/// The sizes of the clusters.
const CLUSTERS: [usize; 2] = [500, 5000];

/// The most times that a call is made; the median counts.
const ROUNDS: usize = 21;

/// The time of all rounds of one figure: a module may be slow on purpose.
const BUDGET: Duration = Duration::from_secs(5);

/// Ample for 5,000 calls of a slow module, and an end for one that hangs.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Size and times of a module.
pub(super) struct Figures {
    size: u64,
    compile: Duration,
    /// The compile cache had the module.
    from_cache: bool,
    /// A new instance.
    instance: Duration,
    /// A new instance, the settings and one call.
    first: Duration,
    /// Each further call of an instance.
    call: Duration,
    decisions: Vec<Decision>,
}

/// The time of a filter request about all nodes of a cluster, without the wire.
struct Decision {
    nodes: usize,
    /// The first pod of its kind: the policy is asked about each node.
    unseen: Duration,
    /// A pod like one before: the answers are cached.
    steady: Duration,
}

// === impl Figures ===

impl Figures {
    /// Measures a loaded module.
    ///
    /// # Errors
    /// If the policy does not answer.
    pub(super) fn measure(inspection: &Inspection) -> Result<Self, String> {
        let policy = &inspection.policy;
        let (one, all) = (cluster(1), cluster(CLUSTERS[1]));
        let called = |cluster: &Arc<Cluster>, asked: usize| median(|_| call(policy.as_ref(), cluster, asked));
        let text = |fault: Fault| format!("filter of the topic pool: {fault}");
        let instance = called(&one, 0).map_err(text)?;
        let first = called(&one, 1).map_err(text)?;
        let last = called(&all, CLUSTERS[1]).map_err(text)?;
        let decisions = CLUSTERS.map(|nodes| Decision::measure(policy, nodes)).into_iter().collect::<Result<_, _>>()?;
        Ok(Self {
            size: inspection.size,
            compile: inspection.compiled_in,
            from_cache: inspection.from_cache,
            instance,
            first,
            call: last.saturating_sub(first) / (CLUSTERS[1] as u32 - 1),
            decisions,
        })
    }

    pub(super) fn push(&self, text: &mut String) {
        let cached = if self.from_cache { " (from the cache)" } else { "" };
        let mut lines = vec![
            ("size", text::size(self.size)),
            ("compile", format!("{}{cached}", text::duration(self.compile))),
            ("instance", text::duration(self.instance)),
            ("first call", format!("{}, with a new instance and the settings", text::duration(self.first))),
            ("call", text::duration(self.call)),
        ];
        for Decision { nodes, unseen, steady } in &self.decisions {
            let (unseen, steady) = (text::duration(*unseen), text::duration(*steady));
            lines.push(("filter", format!("{nodes} nodes: {unseen} for an unseen pod, {steady} for one like it")));
        }
        for (key, value) in lines {
            text::push_line(text, format_args!("{key:<11}{value}"));
        }
    }

    pub(super) fn as_json(&self) -> Value {
        let as_json = |decision: &Decision| {
            json!({
                "nodes": decision.nodes,
                "unseenMicroseconds": micros(decision.unseen),
                "steadyMicroseconds": micros(decision.steady),
            })
        };
        json!({
            "size": self.size,
            "compileMicroseconds": micros(self.compile),
            "fromCache": self.from_cache,
            "instanceMicroseconds": micros(self.instance),
            "firstCallMicroseconds": micros(self.first),
            "callMicroseconds": micros(self.call),
            "filters": self.decisions.iter().map(as_json).collect::<Vec<_>>(),
        })
    }
}

// === impl Decision ===

impl Decision {
    fn measure(policy: &Arc<dyn Policy>, nodes: usize) -> Result<Self, String> {
        let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), TIMEOUT);
        let cluster = cluster(nodes);
        gateway.set_cluster(Arc::clone(&cluster));
        let config = PolicyConfig { timeout: TIMEOUT, ..PolicyConfig::default() };
        let member = Member::new("", "conformance", config, Arc::clone(policy));
        let member = Member { settings: Arc::from(SETTINGS), ..member };
        gateway.set_roster(Arc::new(Roster::of_root(vec![Arc::new(member)])));
        let names: Vec<Cow<'_, str>> = cluster.slots().iter().map(|slot| slot.node.name().as_ref().into()).collect();
        let decide = |pod: &Arc<Pod>| -> Result<Duration, String> {
            let query = Query::new(Arc::clone(pod), Nodes::Names(&names));
            let started = Instant::now();
            let (_, after) = gateway.filter("", &query).map_err(|error| format!("filter of {nodes} nodes: {error}"))?;
            let took = started.elapsed();
            after.run();
            Ok(took)
        };
        // The first request finds the memory and the index of names cold.
        decide(&pod(0))?;
        let unseen = median(|round| decide(&pod(round + 1)))?;
        let same = pod(1);
        let steady = median(|_| decide(&same))?;
        Ok(Self { nodes, unseen, steady })
    }
}

/// The time of one call about some nodes.
fn call(policy: &dyn Policy, cluster: &Arc<Cluster>, asked: usize) -> Result<Duration, Fault> {
    let slots: Vec<u32> = (0..asked as u32).collect();
    let view = View::new(pod(0), Arc::clone(cluster), (0..cluster.slots().len() as u32).collect(), 0);
    let limits = Limits::until(Instant::now() + TIMEOUT, PolicyConfig::default().memory);
    let ask = Ask::new(Arc::from("conformance"), Arc::new(view.with_settings(Arc::from(SETTINGS))), limits);
    let started = Instant::now();
    policy.filter(&ask, &slots)?;
    Ok(started.elapsed())
}

/// The median of the rounds that there is time for, at least of one.
fn median<E>(mut round: impl FnMut(usize) -> Result<Duration, E>) -> Result<Duration, E> {
    let end = Instant::now() + BUDGET;
    let mut times = vec![round(0)?];
    while times.len() < ROUNDS && Instant::now() < end {
        times.push(round(times.len())?);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

/// Nodes of which each has another value in the label that the policy reads: no answer about one serves another.
fn cluster(nodes: usize) -> Arc<Cluster> {
    let node = |at: usize| {
        let name = format!("node-{at}");
        let json = json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "pool": name}}});
        // Our object, which is one.
        Node::from_json(json.to_string().into()).ok().map(Node::prepared)
    };
    Arc::new(Cluster::from_objects((0..nodes).filter_map(node).collect(), vec![]))
}

fn pod(number: usize) -> Arc<Pod> {
    let json = json!({"metadata": {"name": "p", "labels": {"pool": format!("pool-{number}")}}});
    // Our object, which is one.
    Arc::new(Pod::from_json(json.to_string().into()).unwrap_or_default())
}
