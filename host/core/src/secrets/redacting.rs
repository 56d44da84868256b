//! A policy whose texts never quote the secrets of its settings.

use std::{borrow::Cow, sync::Arc};

use super::Secrets;
use crate::{
    Ask, BindAnswer, Fault, MAX_REASON_BYTES, NodeSource, Policy, Preemption, Program, Verbs, Verdict,
    answer::VerbAnswer, bounded, undecorated,
};

/// The most bytes of a text about settings that are shown; a reply or a line of the log has fewer.
const MAX_VALIDATION_BYTES: usize = 4096;

/// Takes the secrets out of the reasons and faults of a policy as they come from it, so that nothing behind it
/// (replies, cached answers, explanations, the log) has them.
struct RedactingPolicy {
    policy: Arc<dyn Policy>,
    secrets: Secrets,
}

/// Hands on the answers of a call without secrets.
struct RedactingSource<'t, A> {
    nodes: &'t mut dyn NodeSource<A>,
    secrets: &'t Secrets,
}

/// The policy as it may be quoted with these settings (JSON): the same one if they have no secrets.
pub fn redacting(policy: Arc<dyn Policy>, settings: &str) -> Arc<dyn Policy> {
    let secrets = Secrets::of_reasons(settings);
    if secrets.is_empty() { policy } else { Arc::new(RedactingPolicy { policy, secrets }) }
}

// === impl RedactingPolicy ===

impl Policy for RedactingPolicy {
    fn verbs(&self) -> Verbs {
        self.policy.verbs()
    }

    fn imports(&self) -> &[String] {
        self.policy.imports()
    }

    fn may_read_pods(&self) -> bool {
        self.policy.may_read_pods()
    }

    fn undecorated(&self) -> Option<Arc<dyn Policy>> {
        Some(undecorated(&self.policy))
    }

    fn program(&self) -> Option<&dyn Program> {
        self.policy.program()
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        let answer = self.faults(self.policy.validate(ask))?;
        // The call is over: its time does not bound this search.
        Ok(answer.map_err(|text| self.secrets.hide(bounded(&text, MAX_VALIDATION_BYTES)).into_owned()))
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        let mut nodes = RedactingSource { nodes, secrets: &self.secrets };
        self.faults(self.policy.filter_each(ask, &mut nodes))
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        self.faults(self.policy.score_each(ask, nodes))
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        self.faults(self.policy.rank(ask))
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        let mut candidates = RedactingSource { nodes: candidates, secrets: &self.secrets };
        self.faults(self.policy.preempt_each(ask, &mut candidates))
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<BindAnswer, Fault> {
        // Annotations and labels are not redacted: they are the effect of the policy, not a text about it.
        let answer = self.faults(self.policy.bind(ask, node))?;
        Ok(answer.map_err(|not_bound| match self.secrets.shown_reason(not_bound.reason()) {
            Some(reason) => not_bound.with_reason(reason),
            None => not_bound,
        }))
    }
}

impl RedactingPolicy {
    fn faults<A>(&self, answer: Result<A, Fault>) -> Result<A, Fault> {
        answer.map_err(|fault| fault.without(&self.secrets))
    }
}

// === impl RedactingSource ===

impl<A: VerbAnswer> NodeSource<A> for RedactingSource<'_, A> {
    fn next(&mut self) -> Option<u32> {
        self.nodes.next()
    }

    /// It is called between two questions to the guest, so that the time of the call bounds this, too.
    fn answer(&mut self, mut answer: A) {
        if let Some(reason) = answer.reason()
            && let Some(shown) = self.secrets.shown_reason(reason)
        {
            *reason = shown.into();
        }
        self.nodes.answer(answer);
    }
}

// === impl Secrets ===

impl Secrets {
    /// The reason without secrets, if it has any. One that breaks no bound stays within it, though the text that stands for
    /// a secret may be longer.
    fn shown_reason(&self, reason: &str) -> Option<String> {
        // A longer one is not searched: its length is a fault, which does not quote it.
        if reason.len() > MAX_REASON_BYTES {
            return None;
        }
        let Cow::Owned(mut shown) = self.hide(reason) else { return None };
        shown.truncate(shown.floor_char_boundary(MAX_REASON_BYTES));
        Some(shown)
    }
}
