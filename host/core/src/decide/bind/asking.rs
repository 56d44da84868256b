//! Asks the policies that decide about a bind from one snapshot, and compares it with a later one: would they answer
//! the same?
//!
//! First come the filters that read placed pods: kube-scheduler decides about the next pod before the last one is
//! bound, so that the count may have passed its limit since they were asked. Then come the policies with `bind`.

use std::sync::Arc;

use crate::{
    cache::{Change, SeenValues},
    decide::{Caller, DecideError, Group, Member, Unbound, additions::Merged, call::or_skip, filter::reason_text},
    model::{
        Additions, Ask, BindAnswer, Cluster, Fault, Mode, NotBound, Placed, Pod, Recording, Verb, Verdict, View,
        cluster::OwnPlace, facts::Moment, whole_cluster::WholeCluster,
    },
};

/// One pod that is to be bound to one node.
pub(super) struct Asking<'b> {
    pub(super) caller: &'b Caller,
    pub(super) group: &'b Group,
    pub(super) pod: &'b Arc<Pod>,
    pub(super) node: &'b str,
    /// The facts are the same however often the policies are asked: a load that changes must not hold a bind up.
    pub(super) moment: Moment,
}

/// The additions that the policies give the pod, by the values that they have read.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) additions: Additions,
    /// Why a policy wants to be asked again when the values have changed, if one does.
    pub(super) retry: Option<Unbound>,
    /// The IDs of the policies that gave it annotations or labels.
    pub(super) authors: Vec<Box<str>>,
    /// The view that policies in shadow mode are to be asked about.
    pub(super) for_shadow: Option<View>,
    seen: Option<Seen>,
}

/// The values that the policies in force have read, with the cluster and the view that they were read of.
struct Seen {
    cluster: Arc<Cluster>,
    view: View,
    values: Vec<SeenValues>,
}

// === impl Asking ===

impl Asking<'_> {
    /// Asks the policies about the node as it is in this cluster.
    pub(super) fn ask(&self, cluster: Option<Arc<Cluster>>) -> Result<Answer, DecideError> {
        let is_in_shadow = self.answering(Mode::Shadow, Verb::Bind).next().is_some();
        if self.answering(Mode::Enforce, Verb::Bind).chain(self.pod_readers()).next().is_none() {
            // A policy in shadow must not be the reason that a request fails, nor that it is asked again.
            let view = cluster.filter(|_| is_in_shadow).and_then(|cluster| self.view(&cluster).ok());
            return Ok(Answer { for_shadow: view, ..Answer::default() });
        }
        let cluster = cluster.ok_or(DecideError::NoCluster)?;
        let view = self.view(&cluster)?;
        let mut values = Vec::new();
        self.ask_filters(&view, &mut values)?;
        let mut answer = self.ask_binds(&view, &mut values)?;
        answer.for_shadow = is_in_shadow.then(|| view.clone());
        answer.seen = Some(Seen { cluster, view, values });
        Ok(answer)
    }

    /// The change that the policies would find in this cluster, if any. It runs while the place is reserved.
    pub(super) fn change(&self, answer: &Answer, newest: &Arc<Cluster>) -> Option<Change> {
        let seen = answer.seen.as_ref().filter(|seen| !Arc::ptr_eq(&seen.cluster, newest))?;
        match self.view(newest) {
            Ok(now) => seen.values.iter().find_map(|values| values.change(&seen.view, &now)),
            Err(_) => Some(Change::OfNode),
        }
    }

    /// Asks the filters that may read placed pods. One that does, and refuses the node, fails the bind.
    fn ask_filters(&self, view: &View, values: &mut Vec<SeenValues>) -> Result<(), DecideError> {
        for member in self.pod_readers() {
            let recording = Recording::for_bind();
            let ask = |ask: &Ask, nodes: &[u32]| member.policy.filter(ask, nodes);
            let result = self.caller.ask(member, Verb::Filter, view.clone().recorded(recording.clone()), ask);
            // Its answer is about the nodes of the filter request together, which are not known here.
            if recording.compares_nodes() {
                continue;
            }
            let Some(verdicts) = or_skip(member, Verb::Filter, result)? else { continue };
            let seen = SeenValues::of(&recording, view);
            if !seen.has_read_pods() {
                continue;
            }
            for verdict in verdicts {
                if let Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason) = verdict {
                    let reason = reason_text(&member.name, &reason);
                    let text = format!("{reason} (asked again at bind: the cluster has changed since the filter)");
                    return Err(Unbound::Refused(text.into()).into());
                }
            }
            values.push(seen);
        }
        Ok(())
    }

    /// Asks the policies with `bind` in order, and merges their answers.
    fn ask_binds(&self, view: &View, values: &mut Vec<SeenValues>) -> Result<Answer, DecideError> {
        let (mut merged, mut authors) = (Merged::default(), Vec::new());
        for member in self.answering(Mode::Enforce, Verb::Bind) {
            let recording = Recording::for_bind();
            let ask = |ask: &_, nodes: &[u32]| ask_bind(member, ask, nodes);
            let recorded = view.clone().recorded(recording.clone());
            let answers = self.caller.ask(member, Verb::Bind, recorded, ask);
            let Some(answers) = or_skip(member, Verb::Bind, answers)? else { continue };
            values.push(SeenValues::of(&recording, view));
            for answer in answers {
                let metadata = match answer {
                    Ok(metadata) => metadata,
                    Err(not_bound) => {
                        let why = Unbound::said_by(&member.name, &not_bound);
                        let NotBound::Retry(_) = not_bound else { return Err(why.into()) };
                        return Ok(Answer { retry: Some(why), ..Answer::default() });
                    }
                };
                if !metadata.is_empty() {
                    authors.push(member.id().into());
                }
                merged.add(metadata, member)?;
            }
        }
        Ok(Answer { additions: merged.for_pod(self.pod)?, authors, ..Answer::default() })
    }

    fn answering(&self, mode: Mode, verb: Verb) -> impl Iterator<Item = &Arc<Member>> {
        self.group.answering(mode, verb, self.pod)
    }

    /// The filters that may read placed pods. Others read nothing that a bind changes, so they are not asked again: a
    /// label that has changed or a minute that has passed must not fail a pod for which all is reserved.
    fn pod_readers(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.answering(Mode::Enforce, Verb::Filter).filter(|member| member.may_count())
    }

    /// The node alone, with the pods that are placed there in this cluster.
    fn view(&self, cluster: &Arc<Cluster>) -> Result<View, Unbound> {
        let at = cluster.find(self.node).ok_or_else(|| Unbound::UnknownNode(self.node.to_owned()))?;
        let placed = cluster.slots().get(at as usize).and_then(|slot| slot.placed.as_deref());
        // An earlier bind whose outcome was not known may have left the pod there: it must not stand in its own way.
        let own = placed.and_then(|placed: &Placed| placed.position(self.pod.uid()));
        let mut whole = WholeCluster::of(Some(Arc::clone(cluster)));
        whole.leave_out(self.pod, OwnPlace::AsThePodSays);
        let view =
            View::new(Arc::clone(self.pod), Arc::clone(cluster), Arc::from([at]), self.moment.now).with_whole(whole);
        let view = view.with_facts(Arc::clone(&self.moment.facts));
        Ok(match own {
            Some(own) => view.without(Arc::from([vec![own]])),
            None => view,
        })
    }
}

pub(super) fn ask_bind(member: &Member, ask: &Ask, nodes: &[u32]) -> Result<Vec<BindAnswer>, Fault> {
    nodes.iter().map(|node| member.policy.bind(ask, *node)).collect()
}
