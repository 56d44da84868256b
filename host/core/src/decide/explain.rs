//! Why is it so? Each policy's answer about one node, with what it read on the way.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Ask, Fault, FaultKind, Group, Member, Mode, OnError, ReadLine, SurveyAnswer, Verb, Verdict, View,
    answer::VerbAnswer, cache::Recording,
};

use super::{
    Caller, DecideError, RequestContext, Unbound,
    again::{Evaluated, evaluate_one},
    bind,
    chain::reason_text,
};

/// The annotations that a bind would write by key, or why it would not; nothing is written.
pub type DryBind = Result<BTreeMap<Box<str>, Box<str>>, DecideError>;

/// What each policy says about one node, by itself and asked anew.
#[derive(Debug)]
pub struct Explanation {
    /// What the filters come to together: that of the first policy that turns the node down.
    pub verdict: Result<Verdict, DecideError>,
    /// What a bind would write, if policies have a say in it; nothing is written.
    pub bind: Option<DryBind>,
    /// One for each policy and verb, in the order in which they are asked.
    pub answers: Vec<Explained>,
    /// The policies of the group that are not asked about this pod, and why.
    pub not_asked: Vec<(Arc<Member>, &'static str)>,
}

/// One answer, and where it comes from.
#[derive(Debug)]
pub struct Explained {
    /// Who answers.
    pub member: Arc<Member>,
    /// What it was asked.
    pub verb: Verb,
    /// The answer.
    pub answer: Result<SurveyAnswer, Fault>,
    /// Every read in order; of a very long list the beginning.
    pub reads: Vec<ReadLine>,
    /// Whether such an answer is cached; otherwise the policy is called every time.
    pub is_cached: bool,
}

/// Asks each policy that is not off about the node with this index in the request.
pub(crate) fn explain(
    caller: &Caller,
    group: &Group,
    context: &RequestContext,
    index: u32,
) -> Result<Explanation, DecideError> {
    let node = context.known_index(index).ok_or(DecideError::UnknownNode)?;
    let mut answers = Vec::new();
    for verb in [Verb::Filter, Verb::Score, Verb::Rank, Verb::Bind] {
        for mode in [Mode::Enforce, Mode::Shadow] {
            for member in group.answering(mode, verb, context.pod()) {
                answers.push(explain_one(caller, member, verb, context, node));
            }
        }
    }
    let not_asked = super::survey::not_asked(group, context.pod());
    Ok(Explanation { verdict: verdict(&answers), bind: binding(&answers, context), answers, not_asked })
}

fn explain_one(caller: &Caller, member: &Arc<Member>, verb: Verb, context: &RequestContext, node: u32) -> Explained {
    let everyone = || context.node_set().view(&context.node_set().everyone());
    let Evaluated { answer, reads, reads_whole } = match verb {
        Verb::Filter => {
            checked(evaluate_one::<Verdict>(caller, member, verb, &everyone(), node)).map(SurveyAnswer::Verdict)
        }
        Verb::Score => checked(evaluate_one::<u32>(caller, member, verb, &everyone(), node)).map(SurveyAnswer::Score),
        // A bind is about the one node, with what is placed there.
        Verb::Bind => {
            let told = evaluate_once(caller, member, verb, &context.node_set().view(&[node]), |ask| {
                member.policy.bind(ask, 0)
            });
            checked(told).map(SurveyAnswer::Bind)
        }
        _ => checked(evaluate_once(caller, member, verb, &everyone(), |ask| rank(member, ask, node)))
            .map(SurveyAnswer::Score),
    };
    let is_cached = !reads_whole && member.cache.disabled(verb).is_none();
    Explained { member: Arc::clone(member), verb, answer, reads, is_cached }
}

/// An answer that breaks the contract is a fault, here as in a decision.
fn checked<A: VerbAnswer>(told: Evaluated<A>) -> Evaluated<A> {
    let answer = told.answer.and_then(|answer| match answer.breach() {
        Some(detail) => Err(Fault::new(FaultKind::Output, detail)),
        None => Ok(answer),
    });
    Evaluated { answer, ..told }
}

/// As [`evaluate_one`], for verbs whose answers are not cached.
fn evaluate_once<A>(
    caller: &Caller,
    member: &Member,
    verb: Verb,
    view: &View,
    ask: impl FnOnce(&Ask) -> Result<A, Fault>,
) -> Evaluated<A> {
    let recording = Recording::with_lines();
    let view = view.clone().with_settings(Arc::clone(&member.settings)).recorded(recording.clone());
    if view.node_count() == 1 {
        recording.begin(0);
    }
    let answer = caller.bounded(member, verb, Arc::new(view), caller.now(), ask);
    Evaluated { answer, reads: recording.take_shown_lines(&member.settings), reads_whole: true }
}

fn rank(member: &Member, ask: &Ask, node: u32) -> Result<u32, Fault> {
    let scores = member.policy.rank(ask)?;
    let too_few =
        || Fault::new(FaultKind::Output, format!("{} answers for {} nodes", scores.len(), ask.view.node_count()));
    scores.get(node as usize).copied().ok_or_else(too_few)
}

/// The policies that decide, with their answers to one verb.
fn deciding(answers: &[Explained], verb: Verb) -> impl Iterator<Item = &Explained> {
    answers.iter().filter(move |told| told.verb == verb && told.member.config.mode == Mode::Enforce)
}

/// The answer of a policy that decides; none where its faults leave it out.
fn answer_or_skip(told: &Explained) -> Option<Result<&SurveyAnswer, DecideError>> {
    match &told.answer {
        Ok(answer) => Some(Ok(answer)),
        Err(_) if told.member.config.on_error(told.verb) == OnError::Ignore => None,
        Err(fault) => {
            let policy = told.member.id().to_owned();
            Some(Err(DecideError::Policy { policy, verb: told.verb, fault: fault.clone() }))
        }
    }
}

fn verdict(answers: &[Explained]) -> Result<Verdict, DecideError> {
    for told in deciding(answers, Verb::Filter) {
        match answer_or_skip(told).transpose()? {
            Some(SurveyAnswer::Verdict(Verdict::Unschedulable(reason))) => {
                return Ok(Verdict::Unschedulable(reason_text(&told.member.name, reason).into()));
            }
            Some(SurveyAnswer::Verdict(Verdict::Unresolvable(reason))) => {
                return Ok(Verdict::Unresolvable(reason_text(&told.member.name, reason).into()));
            }
            _ => {}
        }
    }
    Ok(Verdict::Fits)
}

fn binding(answers: &[Explained], context: &RequestContext) -> Option<DryBind> {
    deciding(answers, Verb::Bind).next()?;
    let merge = || {
        let mut merged = bind::Merged::new();
        for told in deciding(answers, Verb::Bind) {
            let Some(SurveyAnswer::Bind(answer)) = answer_or_skip(told).transpose()? else { continue };
            let refused = |reason: &String| Unbound::Refused(reason_text(&told.member.name, reason));
            let annotations = answer.as_ref().map_err(refused)?;
            annotations.iter().try_for_each(|one| bind::merge(&mut merged, one.clone(), &told.member))?;
        }
        let annotations = merged.into_iter().map(|(key, (value, _))| (key, value)).collect();
        bind::check_size(context.pod(), &annotations)?;
        Ok(annotations)
    };
    Some(merge())
}
