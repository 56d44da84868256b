//! A policy in a language that a guest interprets.

use std::sync::Arc;

use crate::model::{Ask, BindAnswer, Fault, NodeSource, Policy, Preemption, ReadSet, Verb, Verbs, Verdict, View};

/// Makes the settings of the interpreter of those of a policy.
type WithSource = dyn Fn(&str) -> Arc<str> + Send + Sync;

/// A policy whose source an interpreter gets with the settings. The interpreter has more verbs and imports than the
/// policy needs, so both are given.
pub struct InterpretedPolicy {
    interpreter: Arc<dyn Policy>,
    verbs: Verbs,
    reads: ReadSet,
    with_source: Box<WithSource>,
    /// The settings of the policy, and what the interpreter gets for them: spares are found by the latter's address.
    settings: Arc<str>,
    passed: Arc<str>,
}

// === impl InterpretedPolicy ===

impl InterpretedPolicy {
    /// The policy of these verbs. A read that is not one of `reads` ends the call.
    pub fn new(
        interpreter: Arc<dyn Policy>,
        verbs: Verbs,
        reads: ReadSet,
        settings: Arc<str>,
        with_source: impl Fn(&str) -> Arc<str> + Send + Sync + 'static,
    ) -> Self {
        let passed = with_source(&settings);
        Self { interpreter, verbs, reads, with_source: Box::new(with_source), settings, passed }
    }

    /// The interpreter, if the policy has the verb, and the call as the interpreter gets it.
    fn of_verb(&self, verb: Verb, ask: &Ask) -> Result<(&dyn Policy, Ask), Fault> {
        if !self.verbs.has(verb) {
            return Err(self.lacks(verb));
        }
        let settings = ask.view.settings();
        let is_own = Arc::ptr_eq(settings, &self.settings);
        let passed = if is_own { Arc::clone(&self.passed) } else { (self.with_source)(settings) };
        let view = View::clone(&ask.view).with_settings(passed).with_reads(self.reads.clone());
        Ok((self.interpreter.as_ref(), Ask { view: Arc::new(view), ..ask.clone() }))
    }
}

impl Policy for InterpretedPolicy {
    fn verbs(&self) -> Verbs {
        self.verbs
    }

    fn reads(&self) -> ReadSet {
        self.reads.clone()
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        let (policy, ask) = self.of_verb(Verb::Validate, ask)?;
        policy.validate(&ask)
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        let (policy, ask) = self.of_verb(Verb::Filter, ask)?;
        policy.filter_each(&ask, nodes)
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        let (policy, ask) = self.of_verb(Verb::Score, ask)?;
        policy.score_each(&ask, nodes)
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        let (policy, ask) = self.of_verb(Verb::Rank, ask)?;
        policy.rank(&ask)
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        let (policy, ask) = self.of_verb(Verb::Preempt, ask)?;
        policy.preempt_each(&ask, candidates)
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<BindAnswer, Fault> {
        let (policy, ask) = self.of_verb(Verb::Bind, ask)?;
        policy.bind(&ask, node)
    }
}
