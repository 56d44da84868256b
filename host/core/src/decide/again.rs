//! Evaluations of one node by a fresh instance: to explain its answer.

use std::sync::Arc;

use crate::{
    Ask, Fault, Member, NodeSource, Policy, ReadLine, Verb, Verdict, View,
    cache::{CachedAnswer, Recording},
};

use super::Caller;

/// One node, and the answer about it.
struct OneNode<A> {
    node: Option<u32>,
    answer: Option<A>,
    recording: Recording,
}

/// The result of one evaluation.
pub(super) struct SingleEvaluation<A> {
    pub(super) answer: Result<A, Fault>,
    pub(super) reads: Vec<ReadLine>,
    /// Whether it read more than the pod and this node.
    pub(super) reads_whole: bool,
}

impl<A> OneNode<A> {
    fn of(node: u32, recording: &Recording) -> Self {
        Self { node: Some(node), answer: None, recording: recording.clone() }
    }
}

impl<A> NodeSource<A> for OneNode<A> {
    fn next(&mut self) -> Option<u32> {
        let node = self.node.take()?;
        self.recording.begin(node);
        Some(node)
    }

    fn answer(&mut self, answer: A) {
        self.answer = Some(answer);
    }
}

/// The reads of a policy that answers about one node of a view, or checks its settings.
///
/// # Errors
/// The fault that ended the call.
pub fn read_for(policy: &dyn Policy, ask: &Ask, verb: Verb, node: u32) -> Result<Vec<ReadLine>, Fault> {
    let recording = Recording::with_lines();
    let view = Arc::new(View::clone(&ask.view).recorded(recording.clone()));
    let ask = Ask { view, ..ask.clone() };
    match verb {
        Verb::Filter => Verdict::ask(policy, &ask, &mut OneNode::of(node, &recording)),
        Verb::Score => u32::ask(policy, &ask, &mut OneNode::of(node, &recording)),
        Verb::Preempt => policy.preempt_each(&ask, &mut OneNode::of(node, &recording)),
        Verb::Bind => {
            recording.begin(node);
            policy.bind(&ask, node).map(drop)
        }
        Verb::Rank => {
            if ask.view.node_count() == 1 {
                recording.begin(0);
            }
            policy.rank(&ask).map(drop)
        }
        Verb::Validate => policy.validate(&ask).map(drop),
    }?;
    Ok(recording.take_shown_lines(ask.view.fact_access()))
}

/// Calls a fresh instance about one node of a view. It is not reported to the observer, and a fault does not open the
/// circuit.
pub(super) fn evaluate_one<A: CachedAnswer>(
    caller: &Caller,
    member: &Member,
    verb: Verb,
    view: &View,
    node: u32,
) -> SingleEvaluation<A> {
    evaluate(caller, member, verb, view, |ask, recording| {
        let mut one = OneNode::of(node, recording);
        A::ask(member.policy.as_ref(), ask, &mut one)?;
        one.answer.ok_or_else(|| Fault::miscounted(0, 1))
    })
}

/// The same for any call.
pub(super) fn evaluate<A>(
    caller: &Caller,
    member: &Member,
    verb: Verb,
    view: &View,
    ask: impl FnOnce(&Ask, &Recording) -> Result<A, Fault>,
) -> SingleEvaluation<A> {
    let recording = Recording::with_lines();
    let view = member.view_of(view.clone()).recorded(recording.clone());
    let answer = caller.bounded(member, verb, Arc::new(view), caller.now(), |question| ask(question, &recording));
    SingleEvaluation {
        answer,
        reads: recording.take_shown_lines(Some(&member.fact_access)),
        reads_whole: recording.is_uncacheable(),
    }
}
