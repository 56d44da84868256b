//! A gateway over a small world, with fake policies, a clock that tests turn, and an observer that remembers.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde_json::{Value as Json, json};

use crate::{
    cache::Disabled,
    decide::{
        BindOutcome, BindReport, CallOf, CandidateQuery, DecideError, Explanation, FilterOutcome, LeftWithoutNode,
        Member, Nodes, Observer, Outcome, PreemptOutcome, Query, Roster, ScoreScale, ShadowRejections, Victims,
    },
    gateway::{Gateway, PostReplyWork},
    model::{
        Ask, BindQuery, Clock, Cluster, Fault, FaultKind, MetadataEntry, Node, NodeRead, NodeSource, Pod, PodId,
        Policy, PolicyConfig, Preemption, Read, ReadSet, Value, Verb, Verbs, Verdict, View,
    },
};

pub(super) type Answers<T> = Result<Vec<T>, Fault>;
type PerNode<T> = Box<dyn Fn(&Ask, &[u32]) -> Answers<T> + Send + Sync>;
/// A policy's answer to a bind: annotations, its own refusal, or a fault.
pub(super) type BindAnswer = Result<Result<Vec<MetadataEntry>, String>, Fault>;
type OfNode = Box<dyn Fn(&Ask, u32) -> Result<crate::model::BindAnswer, Fault> + Send + Sync>;
type PerRequest = Box<dyn Fn(&Ask) -> Answers<u32> + Send + Sync>;

/// The time that a request has in every test.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);

/// When the manual clock starts, in Unix seconds.
pub(super) const START: u64 = 1_700_000_000;

// === Policies ===

/// A policy made of closures; it has the verbs that were given.
#[derive(Default)]
pub(super) struct FakePolicy {
    filter: Option<PerNode<Verdict>>,
    score: Option<PerNode<u32>>,
    rank: Option<PerRequest>,
    preempt: Option<PerNode<Preemption>>,
    bind: Option<OfNode>,
    /// Whether it depends on its reads alone.
    is_function: bool,
    reads: ReadSet,
}

impl FakePolicy {
    /// Its module imports these reads.
    pub(super) fn importing(mut self, imports: &[&str]) -> Self {
        self.reads = imports.iter().copied().collect();
        self
    }

    pub(super) fn filter(mut self, filter: impl Fn(&Ask, &[u32]) -> Answers<Verdict> + Send + Sync + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    pub(super) fn filter_each(self, verdict: impl Fn(&View, u32) -> Verdict + Send + Sync + 'static) -> Self {
        self.filter(move |ask, nodes| Ok(nodes.iter().map(|node| verdict(&ask.view, *node)).collect()))
    }

    pub(super) fn score(mut self, score: impl Fn(&Ask, &[u32]) -> Answers<u32> + Send + Sync + 'static) -> Self {
        self.score = Some(Box::new(score));
        self
    }

    pub(super) fn score_each(self, score: impl Fn(&View, u32) -> u32 + Send + Sync + 'static) -> Self {
        self.score(move |ask, nodes| Ok(nodes.iter().map(|node| score(&ask.view, *node)).collect()))
    }

    /// Its closures depend on their reads alone.
    pub(super) fn function(mut self) -> Self {
        self.is_function = true;
        self
    }

    pub(super) fn rank(mut self, rank: impl Fn(&Ask) -> Answers<u32> + Send + Sync + 'static) -> Self {
        self.rank = Some(Box::new(rank));
        self
    }

    pub(super) fn preempt(
        mut self,
        preempt: impl Fn(&Ask, &[u32]) -> Answers<Preemption> + Send + Sync + 'static,
    ) -> Self {
        self.preempt = Some(Box::new(preempt));
        self
    }

    pub(super) fn preempt_each(self, answer: impl Fn(&View, u32) -> Preemption + Send + Sync + 'static) -> Self {
        self.preempt(move |ask, candidates| Ok(candidates.iter().map(|at| answer(&ask.view, *at)).collect()))
    }

    pub(super) fn bind(self, bind: impl Fn(&Ask, u32) -> BindAnswer + Send + Sync + 'static) -> Self {
        self.bind_with(move |ask, node| Ok(bind(ask, node)?.map(Into::into).map_err(Into::into)))
    }

    /// As [`FakePolicy::bind`], with labels too, or a wish to be asked again.
    pub(super) fn bind_with(
        mut self,
        bind: impl Fn(&Ask, u32) -> Result<crate::model::BindAnswer, Fault> + Send + Sync + 'static,
    ) -> Self {
        self.bind = Some(Box::new(bind));
        self
    }
}

impl Policy for FakePolicy {
    fn verbs(&self) -> Verbs {
        let exported = [
            (Verb::Filter, self.filter.is_some()),
            (Verb::Score, self.score.is_some()),
            (Verb::Rank, self.rank.is_some()),
            (Verb::Preempt, self.preempt.is_some()),
            (Verb::Bind, self.bind.is_some()),
        ];
        exported.into_iter().filter_map(|(verb, has)| has.then_some(verb)).collect()
    }

    fn reads(&self) -> ReadSet {
        self.reads.clone()
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        self.each(ask, nodes, self.filter.as_ref().unwrap())
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        self.each(ask, nodes, self.score.as_ref().unwrap())
    }

    fn rank(&self, ask: &Ask) -> Answers<u32> {
        self.rank.as_ref().unwrap()(ask)
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        let list: Vec<u32> = std::iter::from_fn(|| candidates.next()).collect();
        self.preempt.as_ref().unwrap()(ask, &list)?.into_iter().for_each(|answer| candidates.answer(answer));
        Ok(())
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<crate::model::BindAnswer, Fault> {
        self.bind.as_ref().unwrap()(ask, node)
    }
}

impl FakePolicy {
    fn each<A: Clone>(
        &self,
        ask: &Ask,
        nodes: &mut dyn NodeSource<A>,
        closure: impl Fn(&Ask, &[u32]) -> Answers<A>,
    ) -> Result<(), Fault> {
        if !self.is_function {
            return at_once(ask, nodes, |nodes| closure(ask, nodes));
        }
        while let Some(node) = nodes.next() {
            closure(ask, &[node])?.into_iter().for_each(|answer| nodes.answer(answer));
        }
        Ok(())
    }
}

/// Asks about all nodes in one call, and lets nothing be remembered: a closure may depend on more than its reads.
fn at_once<A: Clone>(
    ask: &Ask,
    source: &mut dyn NodeSource<A>,
    closure: impl FnOnce(&[u32]) -> Answers<A>,
) -> Result<(), Fault> {
    let Ok(Value::Number(nodes)) = ask.view.read(Read::NodesCount) else { panic!("a view has a number of nodes") };
    let answers = closure(&(0..nodes as u32).collect::<Vec<_>>())?;
    if answers.len() != nodes as usize {
        return Err(Fault::new(FaultKind::Output, format!("{} answers for {nodes} nodes", answers.len())));
    }
    while let Some(node) = source.next() {
        source.answer(answers[node as usize].clone());
    }
    Ok(())
}

pub(super) fn unschedulable(reason: &str) -> Verdict {
    Verdict::Unschedulable(reason.into())
}

pub(super) fn unresolvable(reason: &str) -> Verdict {
    Verdict::Unresolvable(reason.into())
}

/// A filter that rejects these nodes.
pub(super) fn mk_refusing(nodes: &'static [&'static str], reason: &'static str) -> FakePolicy {
    FakePolicy::default().filter_each(move |view, node| {
        if nodes.contains(&name_of(view, node).as_str()) { unschedulable(reason) } else { Verdict::Fits }
    })
}

/// A policy whose every verb fails with this kind.
pub(super) fn mk_failing(kind: FaultKind) -> FakePolicy {
    FakePolicy::default()
        .filter(move |_, _| Err(Fault::new(kind, "it fails")))
        .score(move |_, _| Err(Fault::new(kind, "it fails")))
        .rank(move |_| Err(Fault::new(kind, "it fails")))
        .preempt(move |_, _| Err(Fault::new(kind, "it fails")))
        .bind(move |_, _| Err(Fault::new(kind, "it fails")))
}

pub(super) fn name_of(view: &View, node: u32) -> String {
    match view.read(Read::Node(node, NodeRead::Name)) {
        Ok(Value::Text(name)) => name.into_owned(),
        other => panic!("a node's name is text: {other:?}"),
    }
}

pub(super) fn mk_member(name: &str, policy: FakePolicy, configure: impl FnOnce(&mut PolicyConfig)) -> Arc<Member> {
    let mut config = PolicyConfig::default();
    configure(&mut config);
    Arc::new(Member::new("", name, config, Arc::new(policy)))
}

// === The world ===

pub(super) fn mk_node(name: &str, labels: &[(&str, &str)]) -> Json {
    let labels: BTreeMap<_, _> = labels.iter().copied().collect();
    json!({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {"cpu": "8", "memory": "32Gi"}}})
}

/// A pod on a node; its name and its UID are the same.
pub(super) fn mk_placed(uid: &str, node: &str, priority: i32, cpu: &str) -> Json {
    json!({
        "metadata": {"name": uid, "uid": uid, "namespace": "web", "labels": {"app": "web"}},
        "spec": {"nodeName": node, "priority": priority, "containers": [{"resources": {"requests": {"cpu": cpu}}}]},
    })
}

pub(super) fn mk_pod() -> Arc<Pod> {
    mk_pod_of("uid-new")
}

/// The same pod with another UID.
pub(super) fn mk_pod_of(uid: &str) -> Arc<Pod> {
    let pod = json!({
        "metadata": {"name": "new", "namespace": "ml", "uid": uid, "labels": {"team": "vision"}},
        "spec": {"priority": 10, "containers": [{"image": "app:1", "resources": {"requests": {"cpu": "2"}}}]},
    });
    Arc::new(Pod::from_json(bytes(&pod)).unwrap())
}

pub(super) fn mk_cluster(nodes: &[Json], pods: &[Json]) -> Arc<Cluster> {
    let nodes = nodes.iter().map(|node| Node::from_json(bytes(node)).unwrap()).collect();
    let pods = pods.iter().map(|pod| Pod::placed_from_json(&bytes(pod)).unwrap()).collect();
    Arc::new(Cluster::from_objects(nodes, pods))
}

/// Nodes n1 to n3 without pods.
pub(super) fn mk_three() -> Arc<Cluster> {
    mk_cluster(&["n1", "n2", "n3"].map(|name| mk_node(name, &[])), &[])
}

pub(super) fn bytes(json: &Json) -> Bytes {
    Bytes::from(json.to_string())
}

// === Clock and observer ===

/// A clock that stands still until a test turns it.
pub(super) struct ManualClock {
    start: Instant,
    turned: AtomicU64,
}

impl ManualClock {
    pub(super) fn advance(&self, by: Duration) {
        self.turned.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.start + Duration::from_millis(self.turned.load(Ordering::SeqCst))
    }

    fn unix_seconds(&self) -> u64 {
        START + self.turned.load(Ordering::SeqCst) / 1000
    }
}

/// One call as the observer was told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) policy: String,
    pub(super) verb: Verb,
    /// The number of nodes asked about and the number rejected, or the fault.
    pub(super) outcome: Result<(usize, usize), FaultKind>,
    pub(super) elapsed: Duration,
}

#[derive(Default)]
pub(super) struct RecordingObserver {
    calls: Mutex<Vec<Call>>,
    opened: Mutex<Vec<String>>,
    bound: Mutex<Vec<Result<BindOutcome, DecideError>>>,
    asked_again: AtomicU64,
    evaluated: Mutex<Vec<usize>>,
    stopped: Mutex<Vec<(String, Disabled)>>,
    logged: Mutex<Vec<String>>,
    left: Mutex<Vec<String>>,
}

/// A log line about a call.
fn line(CallOf { request, pod, member, verb }: CallOf<'_>) -> String {
    let pod = PodId::of(pod).map_or_else(String::new, |pod| format!("{pod} {}", pod.uid()));
    format!("{request} {pod} {} {verb}", member.id())
}

impl Observer for RecordingObserver {
    fn called(&self, call: CallOf<'_>, outcome: Outcome<'_>, elapsed: Duration) {
        let outcome = match outcome {
            Outcome::Answered { asked, rejected, evaluated } => {
                self.evaluated.lock().unwrap().push(evaluated);
                Ok((asked, rejected))
            }
            Outcome::Fault(fault) => {
                self.logged.lock().unwrap().push(format!("{} {}", line(call), fault.kind));
                Err(fault.kind)
            }
        };
        let (policy, verb) = (call.member.id().to_owned(), call.verb);
        self.calls.lock().unwrap().push(Call { policy, verb, outcome, elapsed });
    }

    fn would_reject(&self, call: CallOf<'_>, rejections: &ShadowRejections<'_>) {
        let ShadowRejections { asked, rejected, node, reason } = *rejections;
        self.logged.lock().unwrap().push(format!("{} {rejected}/{asked} {node}: {reason}", line(call)));
    }

    fn left_without_node(&self, report: &LeftWithoutNode<'_>) {
        let LeftWithoutNode { group, pod, rejected, nominated } = report;
        let text = format!("{group}/{}: {rejected} of {}, {nominated:?}", pod.uid(), rejected.nodes);
        self.left.lock().unwrap().push(text);
    }

    fn circuit_opened(&self, member: &Member, _: Verb) {
        self.opened.lock().unwrap().push(member.id().to_owned());
    }

    fn bound(&self, report: &BindReport<'_>) {
        self.bound.lock().unwrap().push(report.outcome.cloned().map_err(Clone::clone));
    }

    fn bind_asked_again(&self, _: &BindQuery<'_>) {
        self.asked_again.fetch_add(1, Ordering::SeqCst);
    }

    fn cache_disabled(&self, member: &Member, _: Verb, why: Disabled) {
        self.stopped.lock().unwrap().push((member.id().to_owned(), why));
    }
}

// === The gateway ===

/// One request each.
impl Gateway {
    pub(crate) fn filter(&self, group: &str, query: &Query<'_>) -> Result<(FilterOutcome, PostReplyWork), DecideError> {
        self.begin(group)?.filter(query)
    }

    pub(crate) fn prioritize(
        &self,
        scale: ScoreScale,
        group: &str,
        query: &Query<'_>,
    ) -> Result<(Vec<u32>, PostReplyWork), DecideError> {
        self.begin(group)?.prioritize(scale, query)
    }

    pub(crate) fn preempt(
        &self,
        group: &str,
        pod: Arc<Pod>,
        candidates: &[CandidateQuery<'_>],
        received: Instant,
    ) -> Result<(PreemptOutcome, PostReplyWork), DecideError> {
        self.begin(group)?.preempt(pod, candidates, received)
    }

    pub(crate) fn bind(&self, group: &str, query: &BindQuery<'_>) -> Result<(BindOutcome, PostReplyWork), DecideError> {
        self.begin(group)?.bind(query)
    }

    pub(crate) fn explain(&self, group: &str, pod: &Arc<Pod>, node: &str) -> Result<Explanation, DecideError> {
        self.begin(group)?.explain(pod, node)
    }
}

/// A gateway with everything that a test wants to look at.
pub(super) struct Fixture {
    pub(super) gateway: Arc<Gateway>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) observer: Arc<RecordingObserver>,
}

/// The outcome of a filter request, by node: the reason, and whether it is unresolvable.
pub(super) type Refused = BTreeMap<String, (String, bool)>;

impl Fixture {
    pub(super) fn new(members: Vec<Arc<Member>>, cluster: Option<Arc<Cluster>>) -> Self {
        let clock = Arc::new(ManualClock { start: Instant::now(), turned: AtomicU64::new(0) });
        let observer = Arc::new(RecordingObserver::default());
        let gateway = Arc::new(Gateway::new(Arc::clone(&clock) as _, Arc::clone(&observer) as _, REQUEST_TIMEOUT));
        gateway.set_roster(Arc::new(Roster::of_root(members)));
        if let Some(cluster) = cluster {
            gateway.set_cluster(cluster);
        }
        Self { gateway, clock, observer }
    }

    /// As [`Fixture::new`] with nodes n1 to n3.
    pub(super) fn of(members: impl IntoIterator<Item = Arc<Member>>) -> Self {
        Self::new(members.into_iter().collect(), Some(mk_three()))
    }

    pub(super) fn filter(&self, names: &[&str]) -> Result<Refused, DecideError> {
        self.filter_outcome(names).map(|outcome| by_name(&outcome, names))
    }

    /// As [`Fixture::filter`], about a pod with this UID.
    pub(super) fn filter_about(&self, uid: &str, names: &[&str]) -> Result<Refused, DecideError> {
        let nodes = cows(names);
        let query = Query { pod: mk_pod_of(uid), ..self.query(Nodes::Names(&nodes)) };
        let (outcome, after) = self.gateway.filter("", &query)?;
        after.run();
        Ok(by_name(&outcome, names))
    }

    pub(super) fn filter_outcome(&self, names: &[&str]) -> Result<FilterOutcome, DecideError> {
        let names = cows(names);
        let (outcome, after) = self.gateway.filter("", &self.query(Nodes::Names(&names)))?;
        after.run();
        Ok(outcome)
    }

    pub(super) fn prioritize(&self, names: &[&str]) -> Result<Vec<u32>, DecideError> {
        self.prioritize_on(ScoreScale::Coarse, names)
    }

    /// As [`Fixture::prioritize`], about a pod with this UID.
    pub(super) fn prioritize_about(&self, uid: &str, names: &[&str]) -> Result<Vec<u32>, DecideError> {
        let names = cows(names);
        let query = Query { pod: mk_pod_of(uid), ..self.query(Nodes::Names(&names)) };
        let (scores, after) = self.gateway.prioritize(ScoreScale::Coarse, "", &query)?;
        after.run();
        Ok(scores)
    }

    pub(super) fn prioritize_on(&self, scale: ScoreScale, names: &[&str]) -> Result<Vec<u32>, DecideError> {
        let names = cows(names);
        let (outcome, after) = self.gateway.prioritize(scale, "", &self.query(Nodes::Names(&names)))?;
        after.run();
        Ok(outcome)
    }

    pub(super) fn preempt(&self, candidates: &[CandidateQuery<'_>]) -> Result<PreemptOutcome, DecideError> {
        let (outcome, after) = self.gateway.preempt("", mk_pod(), candidates, self.clock.now())?;
        after.run();
        Ok(outcome)
    }

    pub(super) fn query<'q>(&self, nodes: Nodes<'q>) -> Query<'q> {
        Query { pod: mk_pod(), nodes, received: self.clock.now(), may_bind: true }
    }

    /// The lines logged since it was last asked.
    pub(super) fn logged(&self) -> Vec<String> {
        std::mem::take(&mut *self.observer.logged.lock().unwrap())
    }

    /// The pods that were left without a node since it was last asked, as the log has them.
    pub(super) fn left(&self) -> Vec<String> {
        std::mem::take(&mut *self.observer.left.lock().unwrap())
    }

    /// The calls since it was last asked.
    pub(super) fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut *self.observer.calls.lock().unwrap())
    }

    /// The policies of the calls since it was last asked, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.policy).collect()
    }

    /// The binds that the observer was told of since it was last asked.
    pub(super) fn bound(&self) -> Vec<Result<BindOutcome, DecideError>> {
        std::mem::take(&mut *self.observer.bound.lock().unwrap())
    }

    /// The number of times policies were asked again about a bind since it was last asked.
    pub(super) fn asked_again(&self) -> u64 {
        self.observer.asked_again.swap(0, Ordering::SeqCst)
    }

    /// For each call since it was last asked, the number of nodes for which the guest was evaluated.
    pub(super) fn evaluated(&self) -> Vec<usize> {
        std::mem::take(&mut *self.observer.evaluated.lock().unwrap())
    }

    /// The policies whose cache was disabled since it was last asked.
    pub(super) fn stopped(&self) -> Vec<(String, Disabled)> {
        std::mem::take(&mut *self.observer.stopped.lock().unwrap())
    }

    /// The policies whose circuits opened since it was last asked.
    pub(super) fn opened(&self) -> Vec<String> {
        std::mem::take(&mut *self.observer.opened.lock().unwrap())
    }
}

pub(super) fn by_name(outcome: &FilterOutcome, names: &[&str]) -> Refused {
    let entry = |rejection: &crate::decide::Rejection| {
        (names[rejection.node as usize].to_owned(), (outcome.reason(*rejection).to_string(), rejection.unresolvable))
    };
    outcome.rejected.iter().map(entry).collect()
}

pub(super) fn cows<'a>(names: &[&'a str]) -> Vec<Cow<'a, str>> {
    names.iter().map(|name| Cow::Borrowed(*name)).collect()
}

/// A candidate with its victims by UID.
pub(super) fn mk_candidate<'a>(node: &'a str, uids: &[&'a str]) -> CandidateQuery<'a> {
    CandidateQuery { node: node.into(), victims: Victims::Uids(cows(uids)), pdb_violations: 0 }
}

/// The candidates that are left: node index in the request and victims.
pub(super) fn kept(outcome: &PreemptOutcome) -> Vec<(u32, Vec<&str>)> {
    outcome.kept.iter().map(|kept| (kept.candidate, kept.victims.iter().map(AsRef::as_ref).collect())).collect()
}

/// The candidates that are not, with the reason.
pub(super) fn dropped(outcome: &PreemptOutcome) -> Vec<(u32, &str)> {
    outcome.dropped.iter().map(|(at, reason)| (*at, reason.as_ref())).collect()
}
