//! Asking every policy about every node, each by itself: for `run`, and for policies in shadow mode.

use std::sync::Arc;

use crate::{
    decide::{Group, Member, ShadowRejections},
    model::{Fault, Mode, Pod, SurveyAnswer, Verb, Verdict, View},
};

use super::{
    Caller, RequestContext,
    feasible::{FeasibleNodes, PolicyAnswers},
    prioritize::ask_scores,
};

/// The answers of each matching policy about each node of a request.
#[derive(Debug, Default)]
pub struct Survey {
    /// One column for each policy and verb, in the order in which they are asked.
    pub columns: Vec<SurveyColumn>,
    /// The indices in the request of nodes that the cluster does not know.
    pub unknown: Vec<u32>,
    /// The policies of the group that are not asked about this pod, by name, and why.
    pub not_asked: Vec<(Arc<Member>, &'static str)>,
}

/// One policy's answers to one verb.
#[derive(Debug)]
pub struct SurveyColumn {
    /// The policy that answers.
    pub member: Arc<Member>,
    /// The verb that it was asked.
    pub verb: Verb,
    /// By index in the request; none for unknown nodes.
    pub answers: Result<Vec<Option<SurveyAnswer>>, Fault>,
}

/// Asks each policy that is not off about all nodes, outside the chain.
pub(crate) fn survey(caller: &Caller, group: &Group, context: &RequestContext) -> Survey {
    let not_asked = not_asked(group, context.pod());
    let mut survey = Survey { unknown: context.unknown().to_vec(), not_asked, ..Survey::default() };
    for verb in [Verb::Filter, Verb::Score, Verb::Rank] {
        for mode in [Mode::Enforce, Mode::Shadow] {
            for member in group.answering(mode, verb, context.pod()) {
                let answers = ask(caller, member, verb, context).map(|answers| by_request(context, answers));
                survey.columns.push(SurveyColumn { member: Arc::clone(member), verb, answers });
            }
        }
    }
    survey
}

/// The policies of the group that are not asked about the pod, and why.
pub(super) fn not_asked(group: &Group, pod: &Pod) -> Vec<(Arc<Member>, &'static str)> {
    let why = |member: &Member| match member.config.mode {
        Mode::Off => Some("its mode is off"),
        _ => member.config.matches.mismatch(pod),
    };
    group.members().iter().filter_map(|member| Some((Arc::clone(member), why(member)?))).collect()
}

/// Asks the matching policies in shadow mode; only the observer gets their answers.
///
/// Their answers are cached like those of others, so that their decision tables fill.
pub(crate) fn shadow(caller: &Caller, group: &Group, context: &RequestContext, verbs: &[Verb]) {
    let all = context.node_set().whole_view();
    let nodes = FeasibleNodes::<()>::all(None, &all);
    for verb in verbs {
        for member in group.answering(Mode::Shadow, *verb, context.pod()) {
            // Faults and scores were reported to the observer; no reply may have them.
            match verb {
                Verb::Filter => {
                    if let Ok(verdicts) = caller.answers::<Verdict, _>(member, *verb, &all, &nodes, None) {
                        report_rejections(caller, member, &all, &verdicts);
                    }
                }
                Verb::Score => drop(caller.answers::<u32, _>(member, *verb, &all, &nodes, None)),
                _ => drop(ask(caller, member, *verb, context)),
            }
            // Nobody waits for a reply: the answers of one policy need not be kept until the last one has been asked.
            caller.take_deferred().into_iter().for_each(|insert| insert());
        }
    }
}

/// Tells which nodes a policy in shadow mode would have rejected.
fn report_rejections(caller: &Caller, member: &Member, view: &View, verdicts: &PolicyAnswers<Verdict>) {
    let distinct: Vec<Option<&str>> = verdicts.answers.iter().map(reason).collect();
    let reasons = || (0..).zip(verdicts.numbers.iter().map(|number| distinct[*number as usize]));
    let asked = verdicts.numbers.len();
    let Some((at, reason)) = reasons().find_map(|(at, reason)| Some((at, reason?))) else { return };
    let rejected = reasons().filter(|(_, reason)| reason.is_some()).count();
    let node = view.node_name(at).map_or("", AsRef::as_ref);
    let call = caller.call_of(view.pod(), member, Verb::Filter);
    caller.observer().would_reject(call, &ShadowRejections { asked, rejected, node, reason });
}

fn reason(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Fits => None,
        Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason) => Some(reason),
    }
}

fn ask(caller: &Caller, member: &Member, verb: Verb, context: &RequestContext) -> Result<Vec<SurveyAnswer>, Fault> {
    let view = context.node_set().whole_view();
    if verb == Verb::Filter {
        let verdicts = caller.ask(member, verb, view, |ask, nodes| member.policy.filter(ask, nodes))?;
        return Ok(verdicts.into_iter().map(SurveyAnswer::Verdict).collect());
    }
    let scores = caller.ask(member, verb, view, |ask, nodes| ask_scores(member, verb, ask, nodes))?;
    Ok(scores.into_iter().map(SurveyAnswer::Score).collect())
}

fn by_request(context: &RequestContext, answers: Vec<SurveyAnswer>) -> Vec<Option<SurveyAnswer>> {
    let mut placed = vec![None; context.len()];
    for (node, answer) in answers.into_iter().enumerate() {
        placed[context.request_index(node as u32) as usize] = Some(answer);
    }
    placed
}
