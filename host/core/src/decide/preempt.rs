//! preempt: which candidates may be preempted, and whom would it evict?
//!
//! kube-scheduler offers candidates that the filters never saw or had refused, so each is put to the filters as if its
//! victims were gone. The `preempt` policies keep, drop or change it. A policy with both may add the victims that its
//! filter demands, so its filter is asked after its `preempt`.

use std::{borrow::Cow, cell::OnceCell, cmp::Reverse, collections::BTreeMap, sync::Arc};

use hashbrown::HashMap;

use crate::{
    decide::{Group, Member, node_cache::NodeCache},
    model::{
        Ask, Candidate, Cluster, Fault, FaultKind, Mode, Placed, Pod, Preemption, Slot, Verb, View,
        cluster::{OwnPlace, WholeCluster},
        facts::Moment,
    },
};

use super::{
    Caller, CandidateQuery, DecideError, Victims,
    call::or_skip,
    context::NodeSet,
    filter::{reject, rejections},
    lookup::{FeasibleNodes, PolicyAnswers},
    outcome::{Reasons, reason_text},
    query::NOT_SEEN,
};

/// The outcome of a preempt request.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PreemptOutcome {
    /// The candidates that are left, in the order of the request.
    pub kept: Vec<SurvivingCandidate>,
    /// The others, by index in the request, with the reason.
    pub dropped: Vec<(u32, Box<str>)>,
    /// Whether a policy chose other victims for a candidate that is left.
    pub has_replaced: bool,
}

/// A candidate that may be preempted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurvivingCandidate {
    /// Its index in the request.
    pub candidate: u32,
    /// UIDs of the pods to evict, by descending priority.
    pub victims: Vec<Box<str>>,
    /// Whether kube-scheduler proposed to evict pods of other nodes too, as it does with pods of a group.
    pub spans_nodes: bool,
    /// The request's number, even if a policy chose other victims: only kube-scheduler can count violations.
    pub pdb_violations: i64,
}

/// The outcome of a look-up, or why the candidate is dropped.
type Found<T> = Result<T, Cow<'static, str>>;

/// The pods of the cluster by UID: victims of a group are on other nodes than their candidate's.
struct Everywhere<'c> {
    cluster: Option<&'c Cluster>,
    by_uid: OnceCell<HashMap<&'c str, &'c Arc<Pod>>>,
}

/// The state of one preempt request: candidates by index of the set's nodes.
struct Preempting<'p> {
    caller: &'p Caller,
    group: &'p Group,
    node_set: NodeSet,
    candidates: Vec<Candidate>,
    /// The candidates as kube-scheduler proposed them.
    proposed: Arc<[Candidate]>,
    /// The index in the request of each candidate.
    origins: Vec<u32>,
    /// Why others are dropped, by index in the request.
    dropped: BTreeMap<u32, Box<str>>,
}

/// The candidates that are left, and the view that policies in shadow mode are asked about afterwards, if there are
/// any.
pub(crate) fn preempt(
    caller: &Caller,
    group: &Group,
    pod: &Arc<Pod>,
    queries: &[CandidateQuery<'_>],
    cluster: Option<&Arc<Cluster>>,
    node_cache: &NodeCache,
    moment: &Moment,
) -> Result<(PreemptOutcome, Option<View>), DecideError> {
    let asks = |mode, verb| group.answering(mode, verb, pod, cluster.map(AsRef::as_ref)).next().is_some();
    let decides = asks(Mode::Enforce, Verb::Filter) || asks(Mode::Enforce, Verb::Preempt);
    let in_shadow = asks(Mode::Shadow, Verb::Preempt);
    let preempting = || Preempting::new(caller, group, Arc::clone(pod), queries, cluster, node_cache, moment);
    if !decides {
        // A policy in shadow must not be the reason that a request fails.
        let proposal = if in_shadow { preempting().ok() } else { None };
        return Ok((echo(queries, cluster.map(AsRef::as_ref))?, proposal.map(|preempting| preempting.proposal())));
    }
    let mut preempting = preempting()?;
    let proposal = in_shadow.then(|| preempting.proposal());
    preempting.run_chain()?;
    Ok((preempting.finish(queries), proposal))
}

/// Asks the matching policies in shadow mode about the proposal of kube-scheduler. Only the observer gets their
/// answers.
pub(crate) fn shadow_preempt(caller: &Caller, group: &Group, pod: &Pod, proposal: &View) {
    for member in group.answering(Mode::Shadow, Verb::Preempt, pod, proposal.in_force()) {
        drop(caller.ask(member, Verb::Preempt, proposal.clone(), |ask, at| ask_preempt(member, ask, at)));
    }
}

/// No policy decides: every candidate stays as it is.
fn echo(queries: &[CandidateQuery<'_>], cluster: Option<&Cluster>) -> Result<PreemptOutcome, DecideError> {
    let everywhere = Everywhere::of(cluster);
    let keep = |(at, query): (usize, &CandidateQuery<'_>)| {
        let found = everywhere.victims(query)?.unwrap_or_default();
        let victims = match &query.victims {
            Victims::Uids(uids) => uids.iter().map(|uid| uid.as_ref().into()).collect(),
            Victims::Pods(_) => found.iter().map(|pod| pod.uid().into()).collect(),
        };
        let spans_nodes = spans_nodes(query, found.iter());
        Ok(SurvivingCandidate { candidate: at as u32, victims, spans_nodes, pdb_violations: query.pdb_violations })
    };
    let kept = queries.iter().enumerate().map(keep).collect::<Result<_, DecideError>>()?;
    Ok(PreemptOutcome { kept, ..PreemptOutcome::default() })
}

fn spans_nodes<'p>(query: &CandidateQuery<'_>, mut victims: impl Iterator<Item = &'p Arc<Pod>>) -> bool {
    victims.any(|victim| victim.node().is_some_and(|node| node != query.node))
}

// === impl Everywhere ===

impl<'c> Everywhere<'c> {
    fn of(cluster: Option<&'c Cluster>) -> Self {
        Self { cluster, by_uid: OnceCell::new() }
    }

    /// The candidate's victims, of which most are on its node.
    fn victims(&self, query: &CandidateQuery<'_>) -> Result<Found<Vec<Arc<Pod>>>, DecideError> {
        let uids = match &query.victims {
            Victims::Uids(uids) => uids,
            Victims::Pods(objects) => {
                let pods = objects.iter().map(|json| Ok(Arc::new(Pod::placed_from_json(json)?)));
                return pods.collect::<Result<_, DecideError>>().map(Ok);
            }
        };
        let on_node = self.cluster.and_then(|cluster| cluster.placed_on(&query.node));
        let find = |uid: &Cow<'_, str>| {
            let own = on_node.as_deref().and_then(|placed| placed.pods().get(placed.position(uid)? as usize));
            let found = own.or_else(|| self.by_uid().get(uid.as_ref()).copied());
            found.cloned().ok_or_else(|| format!("victim with the UID {uid} not seen yet").into())
        };
        Ok(uids.iter().map(find).collect())
    }

    fn by_uid(&self) -> &HashMap<&'c str, &'c Arc<Pod>> {
        self.by_uid.get_or_init(|| {
            let slots = self.cluster.into_iter().flat_map(|cluster| cluster.slots().iter());
            let pods = slots.filter_map(|slot| slot.placed.as_deref()).flat_map(Placed::pods);
            pods.map(|pod| (pod.uid(), pod)).collect()
        })
    }
}

// === impl Preempting ===

impl<'p> Preempting<'p> {
    fn new(
        caller: &'p Caller,
        group: &'p Group,
        pod: Arc<Pod>,
        queries: &[CandidateQuery<'_>],
        cluster: Option<&Arc<Cluster>>,
        node_cache: &NodeCache,
        moment: &Moment,
    ) -> Result<Self, DecideError> {
        let whole = WholeCluster::of(cluster.cloned(), &pod, OwnPlace::AsThePodSays);
        let without = cluster.and_then(|cluster| cluster.without_all(whole.hidden()));
        let counted = without.as_ref().or(cluster.map(AsRef::as_ref));
        let (mut slots, mut candidates, mut origins) = (vec![], vec![], vec![]);
        let mut dropped = BTreeMap::new();
        let everywhere = Everywhere::of(cluster.map(AsRef::as_ref));
        for (at, query) in queries.iter().enumerate() {
            if matches!(query.victims, Victims::Uids(_)) && cluster.is_none() {
                return Err(DecideError::NoCluster);
            }
            match place(query, &everywhere, counted, node_cache)? {
                Ok((slot, victims)) => {
                    slots.push(slot);
                    let pdb_violations = query.pdb_violations.clamp(0, i64::from(u32::MAX)) as u32;
                    candidates.push(Candidate { victims, pdb_violations });
                    origins.push(at as u32);
                }
                Err(reason) => drop(dropped.insert(at as u32, reason_text("plimsoll", &reason))),
            }
        }
        let numbers = (0..slots.len() as u32).collect();
        let cluster = Arc::new(Cluster::new(slots).with_facts(Arc::clone(&moment.facts)));
        let node_set = NodeSet { pod, cluster, whole, slots: numbers, now: moment.now };
        Ok(Self { caller, group, node_set, proposed: candidates.as_slice().into(), candidates, origins, dropped })
    }

    /// All candidates as kube-scheduler proposed them.
    fn proposal(&self) -> View {
        self.node_set.whole_view().with_candidates(Arc::clone(&self.proposed))
    }

    /// The policies in force that are asked this verb about the pod.
    fn answering(&self, verb: Verb) -> Vec<&'p Arc<Member>> {
        let (group, NodeSet { pod, whole, .. }) = (self.group, &self.node_set);
        group.answering(Mode::Enforce, verb, pod, whole.cluster().map(AsRef::as_ref)).collect()
    }

    /// The candidates that are left.
    fn left(&self) -> Vec<u32> {
        let origins = (0..).zip(&self.origins).filter(|(_, origin)| !self.dropped.contains_key(*origin));
        origins.map(|(candidate, _)| candidate).collect()
    }

    /// Puts candidates to these filters with their victims gone, and drops those that are refused.
    fn filter(&mut self, candidates: &[u32], asks: impl Fn(&Arc<Member>) -> bool) -> Result<(), DecideError> {
        let (mut nodes, mut reasons) = (FeasibleNodes::one_by_one(candidates.len()), Reasons::default());
        for member in self.answering(Verb::Filter).into_iter().filter(|it| asks(it)) {
            if nodes.is_empty() {
                break;
            }
            // Without the victims nothing is as the cluster has it, so answers are not cached.
            let left: Vec<u32> = nodes.present().map(|(at, _)| candidates[at]).collect();
            let view = self.node_set.view_without(&left, &self.candidates);
            let ask = |ask: &Ask, nodes: &[u32]| member.policy.filter_without_victims(ask, nodes);
            let verdicts = self.caller.ask(member, Verb::Filter, view, ask);
            if let Some(verdicts) = or_skip(member, Verb::Filter, verdicts)? {
                reject(&mut nodes, member, &PolicyAnswers::plain(verdicts), &mut reasons)?;
            }
        }
        let texts = reasons.into_texts();
        for rejection in rejections(&nodes, |at| candidates[at as usize]) {
            self.drop_candidate(rejection.node, texts[rejection.reason as usize].clone());
        }
        Ok(())
    }

    /// Asks the filters without `preempt`, then the `preempt` policies one after another; each sees the candidates that
    /// the last left. New victims are put to all filters but those whose own `preempt` is still to come.
    fn run_chain(&mut self) -> Result<(), DecideError> {
        let chain = self.answering(Verb::Preempt);
        let is_among = |members: &[&Arc<Member>], one: &Arc<Member>| members.iter().any(|it| Arc::ptr_eq(it, one));
        self.filter(&self.left(), |filter| !is_among(&chain, filter))?;
        for (at, member) in chain.iter().enumerate() {
            let left = self.left();
            if left.is_empty() {
                break;
            }
            let candidates = left.iter().map(|at| self.candidates[*at as usize].clone()).collect();
            let view = self.node_set.view(&left).with_candidates(candidates);
            let ask = |ask: &Ask, candidates: &[u32]| ask_preempt(member, ask, candidates);
            let answers = self.caller.ask(member, Verb::Preempt, view, ask);
            let answers = or_skip(member, Verb::Preempt, answers)?;
            let replaced = answers.map(|answers| self.apply(member, &left, answers)).unwrap_or_default();
            let (replaced, kept): (Vec<u32>, Vec<u32>) = self.left().into_iter().partition(|at| replaced.contains(at));
            self.filter(&replaced, |filter| !is_among(&chain[at + 1..], filter))?;
            self.filter(&kept, |filter| is_among(&[member], filter))?;
        }
        Ok(())
    }

    /// Applies a policy's answers; returns the candidates that have other victims now.
    fn apply(&mut self, member: &Member, left: &[u32], answers: Vec<Preemption>) -> Vec<u32> {
        let mut replaced = vec![];
        for (candidate, answer) in left.iter().copied().zip(answers) {
            match answer {
                Preemption::Keep => {}
                Preemption::Reject(reason) => {
                    self.drop_candidate(candidate, reason_text(&member.name, &reason));
                }
                Preemption::Replace(mut victims) => {
                    victims.sort_unstable();
                    victims.dedup();
                    let (pods, proposed) = (self.pods_of(candidate), &self.proposed[candidate as usize].victims);
                    // kube-scheduler fails the whole call for a victim that it does not have on the node.
                    let is_unplaced = |victim: &&u32| pods[**victim as usize].nomination().is_some();
                    let foreign = victims.iter().filter(is_unplaced).find(|victim| !proposed.contains(victim));
                    if let Some(pod) = foreign.map(|victim| &pods[*victim as usize]) {
                        let what = format!("victim {}/{} is nominated for the node", pod.namespace(), pod.name());
                        let reason = format!("{what}, not bound to it: kube-scheduler cannot evict it");
                        self.drop_candidate(candidate, reason_text(&member.name, &reason));
                        continue;
                    }
                    victims.sort_by_key(|victim| Reverse(pods[*victim as usize].priority()));
                    self.candidates[candidate as usize].victims = victims;
                    replaced.push(candidate);
                }
            }
        }
        replaced
    }

    fn drop_candidate(&mut self, candidate: u32, reason: Box<str>) {
        self.dropped.insert(self.origins[candidate as usize], reason);
    }

    fn pods_of(&self, candidate: u32) -> &[Arc<Pod>] {
        self.node_set.cluster.slots()[candidate as usize].placed.as_deref().map_or(&[], Placed::pods)
    }

    fn finish(self, queries: &[CandidateQuery<'_>]) -> PreemptOutcome {
        let keep = |candidate: &u32| {
            let origin = self.origins[*candidate as usize];
            let (pods, query) = (self.pods_of(*candidate), &queries[origin as usize]);
            let of = |candidates: &[Candidate]| {
                let victims = candidates[*candidate as usize].victims.iter();
                victims.map(|victim| &pods[*victim as usize]).collect::<Vec<_>>()
            };
            SurvivingCandidate {
                candidate: origin,
                victims: of(&self.candidates).iter().map(|pod| pod.uid().into()).collect(),
                spans_nodes: spans_nodes(query, of(&self.proposed).into_iter()),
                pdb_violations: query.pdb_violations,
            }
        };
        let left = self.left();
        let sorted = |candidates: &[Candidate], at: &u32| {
            let mut victims = candidates[*at as usize].victims.clone();
            victims.sort_unstable();
            victims
        };
        let has_replaced = left.iter().any(|at| sorted(&self.candidates, at) != sorted(&self.proposed, at));
        let kept = left.iter().map(keep).collect();
        PreemptOutcome { kept, dropped: self.dropped.into_iter().collect(), has_replaced }
    }
}

/// Asks, and refuses replacements by pods that the node does not have.
fn ask_preempt(member: &Member, ask: &Ask, candidates: &[u32]) -> Result<Vec<Preemption>, Fault> {
    let answers = member.policy.preempt(ask, candidates)?;
    for (candidate, answer) in candidates.iter().zip(&answers) {
        let Preemption::Replace(victims) = answer else { continue };
        let pods = ask.view.placed_count(*candidate);
        if let Some(victim) = victims.iter().find(|victim| **victim as usize >= pods) {
            let detail = format!("a replacement by placed pod {victim} of a node that has {pods}");
            return Err(Fault::new(FaultKind::Output, detail));
        }
    }
    Ok(answers)
}

/// Looks the candidate's node up, with its pods and with victims that are elsewhere, and the indices of the victims among
/// them. A proposed victim is on the node even if it does not count for the pod.
fn place(
    query: &CandidateQuery<'_>,
    everywhere: &Everywhere<'_>,
    counted: Option<&Cluster>,
    node_cache: &NodeCache,
) -> Result<Found<(Slot, Vec<u32>)>, DecideError> {
    let seen = counted.and_then(|cluster| cluster.slots().get(cluster.find(&query.node)? as usize)).cloned();
    let slot = match &query.victims {
        Victims::Uids(_) => seen,
        Victims::Pods(_) => {
            // A scheduler that sends whole objects has sent this node with a filter request, of this pod or of another:
            // candidates are mostly nodes that its own filters had refused for this one.
            let placed = seen.as_ref().and_then(|slot| slot.placed.clone());
            let sent = node_cache.known().by_name(&query.node).cloned().map(|node| Slot { node, placed });
            sent.or(seen)
        }
    };
    let Some(mut slot) = slot else { return Ok(Err(NOT_SEEN.into())) };
    Ok(everywhere.victims(query)?.map(|pods| {
        let mut victims = place_pods(&mut slot, pods);
        let mut named = vec![false; slot.placed.as_deref().map_or(0, |placed| placed.pods().len())];
        victims.retain(|victim: &u32| !std::mem::replace(&mut named[*victim as usize], true));
        (slot, victims)
    }))
}

/// Adds the pods that the node's own view does not have; returns the indices of all of them.
fn place_pods(slot: &mut Slot, pods: Vec<Arc<Pod>>) -> Vec<u32> {
    let known = slot.placed.take();
    let mut all: Vec<Arc<Pod>> = known.as_ref().map(|known| known.pods().to_vec()).unwrap_or_default();
    let mut added: HashMap<Box<str>, u32> = HashMap::new();
    let mut index_of = |pod: Arc<Pod>| {
        let at = known.as_ref().and_then(|known| known.position(pod.uid()));
        at.unwrap_or_else(|| {
            *added.entry(pod.uid().into()).or_insert_with(|| {
                all.push(pod);
                all.len() as u32 - 1
            })
        })
    };
    let indices = pods.into_iter().map(&mut index_of).collect();
    let with_added = || Arc::new(if known.is_some() { Placed::new(all) } else { Placed::partial(all) });
    slot.placed = if added.is_empty() { known.clone() } else { Some(with_added()) };
    indices
}
