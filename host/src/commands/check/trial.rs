//! Calls of a policy with sample pods and nodes: does it answer, and how fast?

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, Candidate, Cluster, FactAccess, Fault, Limits, Member, Pod, Policy, PolicyConfig, TrialCall, Verb, Verdict,
    View, check_answers,
};

use crate::sample;

/// The calls of each kind that are timed; the report has the shortest.
pub(super) const ROUNDS: u32 = 5;

/// A policy with its settings and limits.
#[derive(Clone)]
pub(super) struct Callee {
    pub(super) policy: Arc<dyn Policy>,
    settings: Arc<str>,
    /// Facts are absent on the sample cluster, whatever that means to the policy elsewhere.
    fact_access: Arc<FactAccess>,
    timeout: Duration,
    memory: usize,
    counts: bool,
}

/// The nodes that a verb is timed with.
pub(super) const fn nodes_of(verb: Verb) -> u32 {
    if matches!(verb, Verb::Preempt | Verb::Bind) { 1 } else { sample::NODES }
}

// === impl Callee ===

impl Callee {
    /// A module without a sidecar, with no settings and the default limits.
    pub(super) fn alone(policy: Arc<dyn Policy>) -> Self {
        let (config, fact_access) = (PolicyConfig::default_of(policy.as_ref()), Arc::default());
        let PolicyConfig { timeout, memory, counts, .. } = config;
        Self { policy, settings: Arc::from("null"), fact_access, timeout, memory, counts }
    }

    /// A module with its sidecar.
    pub(super) fn of(member: &Member) -> Self {
        let (policy, settings) = (Arc::clone(&member.policy), Arc::clone(&member.settings));
        let fact_access = Arc::new(member.fact_access.lenient());
        let PolicyConfig { timeout, memory, counts, .. } = member.config;
        Self { policy, settings, fact_access, timeout, memory, counts }
    }

    /// Whether its filter may count pods.
    pub(super) fn may_count(&self) -> bool {
        self.counts && self.policy.verbs().has(Verb::Filter) && self.policy.reads().counts_pods()
    }

    /// Whether it accepts its settings; a policy without `validate` accepts any.
    pub(super) fn validate(&self) -> Result<Result<(), String>, Fault> {
        if !self.policy.verbs().has(Verb::Validate) {
            return Ok(Ok(()));
        }
        let view = Arc::new(View::empty(Arc::clone(&self.settings)));
        self.policy.validate(&Ask::new(Arc::from("check"), view, self.limits()))
    }

    /// The shortest time of a call of each verb that answers about nodes; the first round warms the pool up.
    pub(super) fn call_times(&self) -> Vec<(Verb, Result<Duration, Fault>)> {
        let timed = [Verb::Filter, Verb::Score, Verb::Rank, Verb::Preempt, Verb::Bind];
        let timed = timed.into_iter().filter(|verb| self.policy.verbs().has(*verb));
        let (pod, cluster) = (Arc::new(sample::pod()), Arc::new(sample::cluster()));
        let time = |verb| {
            let rounds = (0..ROUNDS).map(|_| self.time(&pod, &cluster, verb)).collect::<Result<Vec<_>, Fault>>()?;
            Ok(rounds.into_iter().min().unwrap_or_default())
        };
        timed.map(|verb| (verb, time(verb))).collect()
    }

    /// Verbs that fail every call: `serve` makes the same trial calls, and refuses such a policy.
    pub(super) fn trial_faults(&self) -> Vec<(Verb, Fault)> {
        let (settings, policy) = (Arc::clone(&self.settings), Arc::from("check"));
        let fact_access = Arc::clone(&self.fact_access);
        let (timeout, memory, counts) = (self.timeout, self.memory, self.counts);
        let trial = TrialCall { policy, settings, fact_access, timeout, longest: timeout, memory, counts };
        let certain = trial.put_to(self.policy.as_ref()).filter(|found| found.is_certain);
        certain.map(|found| (found.verb, found.fault)).collect()
    }

    /// A reason of its filter that has the name of the node.
    pub(super) fn reason_with_node(&self) -> Option<Arc<str>> {
        let (pod, cluster) = (Arc::new(sample::pod()), Arc::new(sample::cluster()));
        let slots: Vec<u32> = (0..sample::NODES).collect();
        let has_filter = self.policy.verbs().has(Verb::Filter);
        let verdicts =
            has_filter.then(|| self.policy.filter(&self.ask(&pod, &cluster, sample::NODES), &slots))?.ok()?;
        let mut verdicts = verdicts.into_iter().zip(cluster.slots().iter());
        verdicts.find_map(|(verdict, slot)| match verdict {
            Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason) => {
                reason.contains(&**slot.node.name()).then_some(reason)
            }
            Verdict::Fits => None,
        })
    }

    /// A call about this many nodes, from the first on.
    pub(super) fn ask(&self, pod: &Arc<Pod>, cluster: &Arc<Cluster>, nodes: u32) -> Ask {
        let view = View::new(Arc::clone(pod), Arc::clone(cluster), (0..nodes).collect(), 0);
        let view = view.with_settings(Arc::clone(&self.settings)).with_fact_access(Arc::clone(&self.fact_access));
        let view = Arc::new(view);
        Ask::new(Arc::from("check"), view, self.limits())
    }

    /// The answers of one instance about these nodes, as text.
    pub(super) fn answers(
        &self,
        pod: &Arc<Pod>,
        cluster: &Arc<Cluster>,
        verb: Verb,
        nodes: &[u32],
    ) -> Result<Vec<String>, Fault> {
        // Primed spares are found by the address of the settings, so a copy has none.
        let settings = Arc::from(&*self.settings);
        let fresh = Self { settings, ..self.clone() };
        fresh.texts(&fresh.ask(pod, cluster, sample::NODES), verb, nodes)
    }

    /// The same of an instance that was asked `validate` before.
    pub(super) fn answers_after_validate(
        &self,
        pod: &Arc<Pod>,
        cluster: &Arc<Cluster>,
        verb: Verb,
        nodes: &[u32],
    ) -> Result<Vec<String>, Fault> {
        let ask = Ask { after_validate: true, ..self.ask(pod, cluster, sample::NODES) };
        self.texts(&ask, verb, nodes)
    }

    fn texts(&self, ask: &Ask, verb: Verb, nodes: &[u32]) -> Result<Vec<String>, Fault> {
        if verb == Verb::Filter {
            return Ok(self.policy.filter(ask, nodes)?.iter().map(|verdict| format!("{verdict:?}")).collect());
        }
        let scores = if verb == Verb::Rank { self.policy.rank(ask)? } else { self.policy.score(ask, nodes)? };
        Ok(scores.iter().map(ToString::to_string).collect())
    }

    fn time(&self, pod: &Arc<Pod>, cluster: &Arc<Cluster>, verb: Verb) -> Result<Duration, Fault> {
        let slots: Vec<u32> = (0..nodes_of(verb)).collect();
        let started = Instant::now();
        let ask = self.ask(pod, cluster, nodes_of(verb));
        match verb {
            Verb::Filter => check_answers(&self.policy.filter(&ask, &slots)?, slots.len()),
            Verb::Score => check_answers(&self.policy.score(&ask, &slots)?, slots.len()),
            Verb::Rank => check_answers(&self.policy.rank(&ask)?, slots.len()),
            Verb::Bind => check_answers(&[self.policy.bind(&ask, 0)?], 1),
            Verb::Preempt => check_answers(&self.policy.preempt(&candidate(ask), &[0])?, 1),
            Verb::Validate => Ok(()),
        }?;
        Ok(started.elapsed())
    }

    fn limits(&self) -> Limits {
        Limits::until(Instant::now() + self.timeout, self.memory)
    }
}

/// The call with one candidate for preemption: the first node, and the first pod on it.
fn candidate(ask: Ask) -> Ask {
    let candidate = Candidate { victims: vec![0], pdb_violations: 0 };
    Ask { view: Arc::new(View::clone(&ask.view).with_candidates(Arc::from([candidate]))), ..ask }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{FaultKind, NodeRead, NodeSource, Read, Value, Verbs};

    use super::*;

    /// Rejects each node by its name, or by the same reason.
    struct Rejecting {
        by_name: bool,
    }

    impl Policy for Rejecting {
        fn verbs(&self) -> Verbs {
            [Verb::Filter].into_iter().collect()
        }

        fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
            while let Some(node) = nodes.next() {
                let reason = match ask.view.read(Read::Node(node, NodeRead::Name)) {
                    Ok(Value::Text(name)) if self.by_name => format!("closed: {name}"),
                    _ => "closed".to_owned(),
                };
                nodes.answer(Verdict::Unschedulable(reason.as_str().into()));
            }
            Ok(())
        }
    }

    /// Its answers break the contract.
    struct Wrong;

    impl Policy for Wrong {
        fn verbs(&self) -> Verbs {
            [Verb::Filter, Verb::Score, Verb::Rank].into_iter().collect()
        }

        fn filter_each(&self, _: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
            while nodes.next().is_some() {
                nodes.answer(Verdict::Unschedulable("x".repeat(2_000).into()));
            }
            Ok(())
        }

        fn score_each(&self, _: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
            while nodes.next().is_some() {
                nodes.answer(101);
            }
            Ok(())
        }

        fn rank(&self, _: &Ask) -> Result<Vec<u32>, Fault> {
            Ok(vec![])
        }
    }

    #[test]
    fn an_answer_that_breaks_the_contract_is_a_fault() {
        let times = Callee::alone(Arc::new(Wrong)).call_times();
        let kinds: Vec<_> =
            times.iter().map(|(verb, time)| (*verb, time.as_ref().err().map(|fault| fault.kind))).collect();
        let fault = Some(FaultKind::Output);
        assert_eq!(kinds, [(Verb::Filter, fault), (Verb::Score, fault), (Verb::Rank, fault)]);
    }

    #[test]
    fn a_reason_that_has_the_name_of_its_node_is_found() {
        let found = |by_name| Callee::alone(Arc::new(Rejecting { by_name })).reason_with_node();
        assert_eq!((found(true).as_deref(), found(false)), (Some("closed: node-000"), None));
    }
}
