//! Why is it so? Each policy's answer about one node, with its reads on the way.

use std::{slice, sync::Arc};

use crate::{
    cache::CachedAnswer,
    decide::{Group, Member},
    model::{
        Additions, Ask, Fault, Mode, NodeSource, OnError, Policy, ReadLine, Recording, SurveyAnswer, Verb, Verdict,
        View,
        answer::{VerbAnswer, check},
    },
};

use super::{Caller, DecideError, RequestContext, Unbound, additions::Merged, call::failed, filter::reason_text};

/// Maximum bytes of the reads of all policies together: one call alone may read a MiB.
const MAX_BYTES: usize = 4 << 20;

/// The additions that a bind would write, or the reason why it would not bind; nothing is written.
pub type DryBind = Result<Additions, DecideError>;

/// The answers of each policy about one node. Each policy is evaluated by itself, without the decision cache.
#[derive(Debug)]
pub struct Explanation {
    /// The verdict of the filters together: that of the first policy that rejects the node.
    pub verdict: Result<Verdict, DecideError>,
    /// The additions that a bind would write, if a policy is asked `bind`; nothing is written.
    pub bind: Option<DryBind>,
    /// One for each policy and verb, in the order in which they are asked.
    pub answers: Vec<Explained>,
    /// The policies of the group that are not asked about this pod, and why.
    pub not_asked: Vec<(Arc<Member>, &'static str)>,
}

/// One answer, and where it comes from.
#[derive(Debug)]
pub struct Explained {
    /// The policy that answers.
    pub member: Arc<Member>,
    /// The verb that it was asked.
    pub verb: Verb,
    /// The answer.
    pub answer: Result<SurveyAnswer, Fault>,
    /// Every read in order; of a very long list the beginning.
    pub reads: Vec<ReadLine>,
    /// The number of reads after these: an explanation has at most 4 MiB of them.
    pub reads_left_out: usize,
    /// Whether such an answer is cached; otherwise the policy is called every time.
    pub is_cached: bool,
}

/// Asks each policy that is not off about this node of the context.
pub(crate) fn explain(caller: &Caller, group: &Group, context: &RequestContext, node: u32) -> Explanation {
    let (mut answers, mut bytes_left) = (Vec::new(), MAX_BYTES);
    for verb in [Verb::Filter, Verb::Score, Verb::Rank, Verb::Bind] {
        for mode in [Mode::Enforce, Mode::Shadow] {
            for member in group.answering(mode, verb, context.pod()) {
                let mut explained = explain_one(caller, member, verb, context, node);
                explained.bound_reads(&mut bytes_left);
                answers.push(explained);
            }
        }
    }
    let not_asked = super::survey::not_asked(group, context.pod());
    Explanation { verdict: verdict(&answers), bind: binding(&answers, context), answers, not_asked }
}

fn explain_one(caller: &Caller, member: &Arc<Member>, verb: Verb, context: &RequestContext, node: u32) -> Explained {
    let all = context.node_set().whole_view();
    match verb {
        Verb::Filter => explained(member, verb, evaluate_one::<Verdict>(caller, member, verb, &all, node)),
        Verb::Score => explained(member, verb, evaluate_one::<u32>(caller, member, verb, &all, node)),
        // A bind is about the one node, with the pods placed there.
        Verb::Bind => {
            let view = context.node_set().view(&[node]);
            let bind = |ask: &Ask, recording: &Recording| {
                recording.begin(0);
                member.policy.bind(ask, 0)
            };
            explained(member, verb, evaluate(caller, member, verb, &view, bind))
        }
        _ => {
            let rank = |ask: &Ask, recording: &Recording| {
                if ask.view.node_count() == 1 {
                    recording.begin(0);
                }
                rank(member, ask, node)
            };
            explained(member, verb, evaluate(caller, member, verb, &all, rank))
        }
    }
}

/// An answer that breaks the contract is a fault, here as in a decision.
fn explained<A: VerbAnswer + Into<SurveyAnswer>>(
    member: &Arc<Member>,
    verb: Verb,
    one: SingleEvaluation<A>,
) -> Explained {
    let SingleEvaluation { answer, mut reads, reads_whole } = one;
    if member.policy.program().is_some() {
        // It reads all nodes as a whole: the others would hide the one in question.
        reads.retain(|line| line.other.is_none());
    }
    let answer = answer.and_then(|answer| check(slice::from_ref(&answer), 1).map(|()| answer.into()));
    let may_be_cached = matches!(verb, Verb::Filter | Verb::Score) && !reads_whole;
    let is_cached = may_be_cached && member.cache.disabled(verb).is_none();
    Explained { member: Arc::clone(member), verb, answer, reads, reads_left_out: 0, is_cached }
}

impl Explained {
    /// Leaves out the reads after the first one for which no bytes are left.
    fn bound_reads(&mut self, bytes_left: &mut usize) {
        let fits = |line: &ReadLine| {
            let left = bytes_left.checked_sub(line.size());
            *bytes_left = left.unwrap_or(0);
            left.is_some()
        };
        let all = self.reads.len();
        let kept = self.reads.iter().map(fits).position(|fits| !fits).unwrap_or(all);
        self.reads.truncate(kept);
        self.reads_left_out = all - kept;
    }
}

fn rank(member: &Member, ask: &Ask, node: u32) -> Result<u32, Fault> {
    let scores = member.policy.rank(ask)?;
    let too_few = || Fault::miscounted(scores.len(), ask.view.node_count());
    scores.get(node as usize).copied().ok_or_else(too_few)
}

/// The policies that decide, with their answers to one verb.
fn deciding(answers: &[Explained], verb: Verb) -> impl Iterator<Item = &Explained> {
    answers.iter().filter(move |one| one.verb == verb && one.member.config.mode == Mode::Enforce)
}

/// The answer of a policy that decides; none where its faults leave it out.
fn answer_or_skip(one: &Explained) -> Option<Result<&SurveyAnswer, DecideError>> {
    match &one.answer {
        Ok(answer) => Some(Ok(answer)),
        Err(fault) if one.member.config.on_fault(one.verb, fault.kind) == OnError::Ignore => None,
        Err(fault) => Some(Err(failed(&one.member, one.verb)(fault.clone()))),
    }
}

fn verdict(answers: &[Explained]) -> Result<Verdict, DecideError> {
    for one in deciding(answers, Verb::Filter) {
        match answer_or_skip(one).transpose()? {
            Some(SurveyAnswer::Verdict(Verdict::Unschedulable(reason))) => {
                return Ok(Verdict::Unschedulable(reason_text(&one.member.name, reason).into()));
            }
            Some(SurveyAnswer::Verdict(Verdict::Unresolvable(reason))) => {
                return Ok(Verdict::Unresolvable(reason_text(&one.member.name, reason).into()));
            }
            _ => {}
        }
    }
    Ok(Verdict::Fits)
}

fn binding(answers: &[Explained], context: &RequestContext) -> Option<DryBind> {
    deciding(answers, Verb::Bind).next()?;
    let merge = || {
        let mut merged = Merged::default();
        for one in deciding(answers, Verb::Bind) {
            let Some(SurveyAnswer::Bind(answer)) = answer_or_skip(one).transpose()? else { continue };
            let metadata = answer.clone().map_err(|not_bound| Unbound::said_by(&one.member.name, &not_bound))?;
            merged.add(metadata, &one.member)?;
        }
        Ok(merged.for_pod(context.pod())?)
    };
    Some(merge())
}

/// One node, and the answer about it.
struct OneNode<A> {
    node: Option<u32>,
    answer: Option<A>,
    recording: Recording,
}

/// The result of one evaluation.
struct SingleEvaluation<A> {
    answer: Result<A, Fault>,
    reads: Vec<ReadLine>,
    /// Whether it read more than the pod and this node.
    reads_whole: bool,
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
fn evaluate_one<A: CachedAnswer>(
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
fn evaluate<A>(
    caller: &Caller,
    member: &Member,
    verb: Verb,
    view: &View,
    ask: impl FnOnce(&Ask, &Recording) -> Result<A, Fault>,
) -> SingleEvaluation<A> {
    let recording = Recording::with_lines();
    let view = member.view_of(view.clone(), verb).recorded(recording.clone());
    let answer = caller.call_guest(member, verb, Arc::new(view), caller.now(), |question| ask(question, &recording));
    SingleEvaluation {
        answer,
        reads: recording.take_shown_lines(Some(&member.fact_access)),
        reads_whole: recording.is_uncacheable(),
    }
}
