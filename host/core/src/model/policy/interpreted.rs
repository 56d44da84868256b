//! A policy in a language that a guest interprets.

use std::sync::Arc;

use crate::model::{
    Ask, BindAnswer, Fault, FaultKind, NodeSource, Policy, Preemption, ReadSet, Verb, Verbs, Verdict, View,
};

/// Makes the settings of the interpreter of those of a policy.
type WithSource = dyn Fn(&str) -> Arc<str> + Send + Sync;

/// Gives the errors in a text of the interpreter their places in the source; none if there are no such errors.
type Located = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A policy whose source an interpreter gets with the settings. The interpreter has more verbs and imports than the
/// policy needs, so both are given.
pub struct InterpretedPolicy {
    interpreter: Arc<dyn Policy>,
    verbs: Verbs,
    reads: ReadSet,
    remarks: Vec<String>,
    with_source: Box<WithSource>,
    located: Box<Located>,
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
        located: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let passed = with_source(&settings);
        Self {
            interpreter,
            verbs,
            reads,
            remarks: vec![],
            with_source: Box::new(with_source),
            located: Box::new(located),
            settings,
            passed,
        }
    }

    /// The same policy with remarks about its source.
    #[must_use]
    pub fn with_remarks(self, remarks: Vec<String>) -> Self {
        Self { remarks, ..self }
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

    /// A fault of the rule is none of the interpreter.
    fn of_rule(&self, fault: Fault) -> Fault {
        let is_panic = fault.kind == FaultKind::Panic;
        let detail = is_panic.then(|| (self.located)(&fault.detail)).flatten();
        detail.map_or(fault, |detail| Fault::new(FaultKind::Rule, detail))
    }
}

impl Policy for InterpretedPolicy {
    fn verbs(&self) -> Verbs {
        self.verbs
    }

    fn reads(&self) -> ReadSet {
        self.reads.clone()
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        let (policy, ask) = self.of_verb(Verb::Validate, ask)?;
        let answer = policy.validate(&ask)?;
        Ok(answer.map_err(|text| (self.located)(&text).unwrap_or(text)))
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        let (policy, ask) = self.of_verb(Verb::Filter, ask)?;
        policy.filter_each(&ask, nodes).map_err(|fault| self.of_rule(fault))
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        let (policy, ask) = self.of_verb(Verb::Score, ask)?;
        policy.score_each(&ask, nodes).map_err(|fault| self.of_rule(fault))
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
        policy.bind(&ask, node).map_err(|fault| self.of_rule(fault))
    }
}
