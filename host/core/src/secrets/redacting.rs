//! A policy whose texts never quote the secrets of its settings.

use std::sync::Arc;

use super::Secrets;
use crate::{Annotation, Ask, Fault, MAX_REASON_BYTES, NodeSource, Policy, Preemption, Verbs, Verdict};

/// Takes the secrets out of the reasons and faults of a policy as they come from it, so that nothing behind it
/// (replies, cached answers, explanations, the log) has them.
struct RedactingPolicy {
    policy: Arc<dyn Policy>,
    secrets: Secrets,
}

/// Hands on the answers of a call without secrets.
struct RedactingSource<'t> {
    nodes: &'t mut dyn NodeSource<Verdict>,
    secrets: &'t Secrets,
}

/// The policy as it may be quoted with these settings (JSON): the same one if they have no secrets.
pub fn redacting(policy: Arc<dyn Policy>, settings: &str) -> Arc<dyn Policy> {
    let secrets = Secrets::of_reasons(settings);
    if secrets.is_empty() { policy } else { Arc::new(RedactingPolicy { policy, secrets }) }
}

/// The policy as it was before [`redacting`].
pub fn unredacted(policy: &Arc<dyn Policy>) -> Arc<dyn Policy> {
    policy.unredacted().unwrap_or_else(|| Arc::clone(policy))
}

// === impl RedactingPolicy ===

impl Policy for RedactingPolicy {
    fn verbs(&self) -> Verbs {
        self.policy.verbs()
    }

    fn imports(&self) -> &[String] {
        self.policy.imports()
    }

    fn unredacted(&self) -> Option<Arc<dyn Policy>> {
        Some(Arc::clone(&self.policy))
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        let answer = self.faults(self.policy.validate(ask))?;
        Ok(answer.map_err(|text| self.secrets.hide(&text).into_owned()))
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

    fn preempt(&self, ask: &Ask, candidates: &[u32]) -> Result<Vec<Preemption>, Fault> {
        let answers = self.faults(self.policy.preempt(ask, candidates))?;
        let hide = |answer| match answer {
            Preemption::Reject(reason) => Preemption::Reject(self.secrets.reason(reason)),
            other => other,
        };
        Ok(answers.into_iter().map(hide).collect())
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<Result<Vec<Annotation>, String>, Fault> {
        // Annotations are what the policy does, not what it says.
        let answer = self.faults(self.policy.bind(ask, node))?;
        Ok(answer.map_err(|reason| self.secrets.reason(reason.into()).into()))
    }
}

impl RedactingPolicy {
    fn faults<A>(&self, answer: Result<A, Fault>) -> Result<A, Fault> {
        answer.map_err(|fault| fault.without(&self.secrets))
    }
}

// === impl RedactingSource ===

impl NodeSource<Verdict> for RedactingSource<'_> {
    fn next(&mut self) -> Option<u32> {
        self.nodes.next()
    }

    fn answer(&mut self, answer: Verdict) {
        self.nodes.answer(self.secrets.verdict(answer));
    }
}

// === impl Secrets ===

impl Secrets {
    fn verdict(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Fits => Verdict::Fits,
            Verdict::Unschedulable(reason) => Verdict::Unschedulable(self.reason(reason)),
            Verdict::Unresolvable(reason) => Verdict::Unresolvable(self.reason(reason)),
        }
    }

    /// A reason that breaks no bound stays within it, though what stands for a secret may be longer.
    fn reason(&self, reason: Box<str>) -> Box<str> {
        match self.hide(&reason) {
            std::borrow::Cow::Borrowed(_) => reason,
            std::borrow::Cow::Owned(hidden) if reason.len() <= MAX_REASON_BYTES => {
                hidden[..hidden.floor_char_boundary(MAX_REASON_BYTES)].into()
            }
            std::borrow::Cow::Owned(hidden) => hidden.into(),
        }
    }
}
