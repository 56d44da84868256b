//! Asks each policy by itself, outside the chain: about one node with its reads on the way, about all nodes for `run`,
//! and in shadow mode.

use std::{slice, sync::Arc};

use crate::{
    decide::{Group, Member, ShadowRejections},
    model::{
        Additions, Ask, Fault, Mode, NodeSource, Pod, Policy, Preemption, ReadLine, Recording, SurveyAnswer, Verb,
        Verdict, View, ViewSource,
        answer::{VerbAnswer, check},
    },
};

use super::{
    Caller, DecideError, RequestContext, Unbound,
    additions::Merged,
    call::or_skip,
    lookup::{FeasibleNodes, PolicyAnswers, PolicyLookup},
    outcome::reason_text,
    prioritize::ask_scores,
};

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
    /// Whether a filter request leaves the pod one node of those that fit, which may be another.
    pub gets_one_node: bool,
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

/// The answers of each matching policy about each node of a request.
#[derive(Debug, Default)]
pub struct Survey {
    /// One column for each policy and verb, in the order in which they are asked.
    pub columns: Vec<SurveyColumn>,
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

/// One node, and the answer about it.
struct OneNode<'r, A> {
    node: Option<u32>,
    answer: Option<A>,
    recording: &'r Recording,
}

/// Asks each policy that is not off about this node of the context.
pub(crate) fn explain(
    caller: &Caller,
    group: &Group,
    context: &RequestContext,
    node: u32,
    gets_one_node: bool,
) -> Explanation {
    let (nodes, mut bytes_left) = (&context.node_set, MAX_BYTES);
    let explained = |(member, verb): (&Arc<Member>, Verb)| {
        // A bind is about the one node, with the pods placed there.
        let (view, node) =
            if verb == Verb::Bind { (nodes.view(&[node]).for_bind(true), 0) } else { (nodes.whole_view(), node) };
        let (answer, recording) = evaluate_one(caller, member, verb, view, node);
        let mut reads = recording.take_lines();
        if member.policy.program().is_some() {
            // It reads all nodes as a whole: the others would hide the one in question.
            reads.retain(|line| line.other.is_none());
        }
        let is_cached = matches!(verb, Verb::Filter | Verb::Score)
            && !recording.is_uncacheable()
            && member.cache.disabled(verb).is_none();
        let reads_left_out = cut(&mut reads, &mut bytes_left);
        Explained { member: Arc::clone(member), verb, answer, reads, reads_left_out, is_cached }
    };
    let verbs = [Verb::Filter, Verb::Score, Verb::Rank, Verb::Bind];
    let answers: Vec<Explained> = asked(group, context, &verbs).map(explained).collect();
    let bind = deciding(&answers, Verb::Bind).next().is_some().then(|| binding(&answers, context.pod()));
    let verdict = verdict(&answers);
    Explanation { verdict, bind, answers, not_asked: not_asked(group, context), gets_one_node }
}

/// Asks each policy that is not off about all nodes.
pub(crate) fn survey(caller: &Caller, group: &Group, context: &RequestContext) -> Survey {
    let column = |(member, verb): (&Arc<Member>, Verb)| {
        let by_request = |answers: Vec<SurveyAnswer>| {
            let mut placed = vec![None; context.len()];
            for (node, answer) in (0..).zip(answers) {
                placed[context.request_index(node) as usize] = Some(answer);
            }
            placed
        };
        if context.len() == 0 {
            // Like kube-scheduler, which calls no extender without nodes.
            return SurveyColumn { member: Arc::clone(member), verb, answers: Ok(Vec::new()) };
        }
        SurveyColumn { member: Arc::clone(member), verb, answers: ask(caller, member, verb, context).map(by_request) }
    };
    let columns = asked(group, context, &[Verb::Filter, Verb::Score, Verb::Rank]).map(column).collect();
    Survey { columns, not_asked: not_asked(group, context) }
}

/// The policies in force and those in shadow mode that are asked one of these verbs about the pod, in order.
fn asked<'a>(
    group: &'a Group,
    context: &'a RequestContext,
    verbs: &'a [Verb],
) -> impl Iterator<Item = (&'a Arc<Member>, Verb)> {
    let modes = |verb: &Verb| [(Mode::Enforce, *verb), (Mode::Shadow, *verb)];
    let answering = move |mode, verb| group.answering(mode, verb, context.pod(), context.in_force());
    let members = move |(mode, verb)| answering(mode, verb).map(move |member| (member, verb));
    verbs.iter().flat_map(modes).flat_map(members)
}

/// The policies of the group that are not asked about the pod, and why.
fn not_asked(group: &Group, context: &RequestContext) -> Vec<(Arc<Member>, &'static str)> {
    let namespace = context.in_force().and_then(|cluster| cluster.namespace(context.pod().namespace()));
    let why = |member: &Member| match member.config.mode {
        Mode::Off => Some("its mode is off"),
        _ => member.config.matches.mismatch(context.pod(), namespace),
    };
    group.members().iter().filter_map(|member| Some((Arc::clone(member), why(member)?))).collect()
}

/// Asks the matching policies in shadow mode; only the observer gets their answers.
///
/// Their answers are cached like those of others, so that their decision tables fill.
pub(crate) fn shadow(caller: &Caller, group: &Group, context: &RequestContext, verbs: &[Verb]) {
    let all = context.node_set.whole_view();
    let (source, nodes) = (ViewSource::of(&all), FeasibleNodes::<()>::one_by_one(all.node_count()));
    for verb in verbs {
        for member in group.answering(Mode::Shadow, *verb, context.pod(), context.in_force()) {
            // Faults and scores were reported to the observer; no reply may have them.
            match verb {
                Verb::Filter => {
                    let lookup = PolicyLookup::<Verdict>::of(member, &source);
                    if let Ok(verdicts) = caller.answers(lookup, *verb, &all, &nodes) {
                        report_rejections(caller, member, &all, &verdicts);
                    }
                }
                Verb::Score => {
                    drop(caller.answers(PolicyLookup::<u32>::of(member, &source), *verb, &all, &nodes));
                }
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
    caller.observer.would_reject(call, &ShadowRejections { asked, rejected, node, reason });
}

fn reason(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Fits => None,
        Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason) => Some(reason),
    }
}

/// Asks a policy about all nodes, whatever its cache knows.
fn ask(caller: &Caller, member: &Member, verb: Verb, context: &RequestContext) -> Result<Vec<SurveyAnswer>, Fault> {
    let view = context.node_set.whole_view();
    if verb == Verb::Filter {
        let verdicts = caller.ask(member, verb, view, |ask, nodes| member.policy.filter(ask, nodes))?;
        return Ok(verdicts.into_iter().map(SurveyAnswer::Verdict).collect());
    }
    let scores = caller.ask(member, verb, view, |ask, nodes| ask_scores(member, verb, ask, nodes))?;
    Ok(scores.into_iter().map(SurveyAnswer::Score).collect())
}

/// Leaves out the reads after the first one for which no bytes are left; returns their number.
fn cut(reads: &mut Vec<ReadLine>, bytes_left: &mut usize) -> usize {
    let fits = |line: &ReadLine| {
        let left = bytes_left.checked_sub(line.size());
        *bytes_left = left.unwrap_or(0);
        left.is_some()
    };
    let all = reads.len();
    let kept = reads.iter().map(fits).position(|fits| !fits).unwrap_or(all);
    reads.truncate(kept);
    all - kept
}

/// The policies that decide, with their answers to one verb.
fn deciding(answers: &[Explained], verb: Verb) -> impl Iterator<Item = &Explained> {
    answers.iter().filter(move |one| one.verb == verb && one.member.config.mode == Mode::Enforce)
}

/// The answer of a policy that decides; none where its faults leave it out.
fn answer_or_skip(one: &Explained) -> Result<Option<&SurveyAnswer>, DecideError> {
    or_skip(&one.member, one.verb, one.answer.as_ref().map_err(Fault::clone))
}

fn verdict(answers: &[Explained]) -> Result<Verdict, DecideError> {
    for one in deciding(answers, Verb::Filter) {
        let text = |reason: &str| reason_text(&one.member.name, reason).into();
        match answer_or_skip(one)? {
            Some(SurveyAnswer::Verdict(Verdict::Unschedulable(why))) => return Ok(Verdict::Unschedulable(text(why))),
            Some(SurveyAnswer::Verdict(Verdict::Unresolvable(why))) => return Ok(Verdict::Unresolvable(text(why))),
            _ => {}
        }
    }
    Ok(Verdict::Fits)
}

fn binding(answers: &[Explained], pod: &Pod) -> DryBind {
    let mut merged = Merged::default();
    for one in deciding(answers, Verb::Bind) {
        let Some(SurveyAnswer::Bind(answer)) = answer_or_skip(one)? else { continue };
        let metadata = answer.clone().map_err(|not_bound| Unbound::said_by(&one.member.name, &not_bound))?;
        merged.add(metadata, one.member.id())?;
    }
    Ok(merged.for_pod(pod)?)
}

/// Calls a fresh instance about one node of a view, and records what it reads. The call is not reported to the observer,
/// and a fault does not open the circuit.
fn evaluate_one(
    caller: &Caller,
    member: &Member,
    verb: Verb,
    view: View,
    node: u32,
) -> (Result<SurveyAnswer, Fault>, Recording) {
    let recording = Recording::with_lines();
    let view = Arc::new(member.view_of(view, verb).recorded(recording.clone()));
    let ask = |ask: &Ask| ask_one(member.policy.as_ref(), ask, verb, node, &recording);
    let answer = caller.call_guest(member, verb, view, caller.now(), ask);
    (answer.and_then(|answer| answer.ok_or_else(|| Fault::miscounted(0, 1))), recording)
}

/// The reads of a policy that answers about one node of a view, or checks its settings.
///
/// # Errors
/// The fault that ended the call, or the breach of the contract by its answer.
pub fn read_for(policy: &dyn Policy, ask: &Ask, verb: Verb, node: u32) -> Result<Vec<ReadLine>, Fault> {
    let recording = Recording::with_lines();
    let view = Arc::new(View::clone(&ask.view).recorded(recording.clone()));
    let ask = Ask { view, ..ask.clone() };
    ask_one(policy, &ask, verb, node, &recording)?;
    Ok(recording.take_lines())
}

/// Asks about one node of a view, the reads of which are recorded. Answers to `preempt` and `validate` are not returned.
pub(super) fn ask_one(
    policy: &dyn Policy,
    ask: &Ask,
    verb: Verb,
    node: u32,
    recording: &Recording,
) -> Result<Option<SurveyAnswer>, Fault> {
    match verb {
        Verb::Filter => one::<Verdict>(recording, node, |one| policy.filter_each(ask, one)).and_then(checked),
        Verb::Score => one::<u32>(recording, node, |one| policy.score_each(ask, one)).and_then(checked),
        Verb::Preempt => {
            let answer = one::<Preemption>(recording, node, |one| policy.preempt_each(ask, one))?;
            check(slice::from_ref(&answer), 1).map(|()| None)
        }
        Verb::Bind => {
            recording.begin(node);
            policy.bind(ask, node).and_then(checked)
        }
        Verb::Rank => {
            let nodes = ask.view.node_count();
            if nodes == 1 {
                recording.begin(0);
            }
            let scores = policy.rank(ask)?;
            check(&scores, nodes)?;
            Ok(scores.get(node as usize).map(|score| SurveyAnswer::Score(*score)))
        }
        Verb::Validate => policy.validate(ask).map(|_| None),
    }
}

/// The answer of a call about one node.
fn one<A>(
    recording: &Recording,
    node: u32,
    call: impl FnOnce(&mut OneNode<'_, A>) -> Result<(), Fault>,
) -> Result<A, Fault> {
    let mut one = OneNode { node: Some(node), answer: None, recording };
    call(&mut one)?;
    one.answer.ok_or_else(|| Fault::miscounted(0, 1))
}

/// An answer that breaks the contract is a fault, here as in a decision.
fn checked<A: VerbAnswer + Into<SurveyAnswer>>(answer: A) -> Result<Option<SurveyAnswer>, Fault> {
    check(slice::from_ref(&answer), 1).map(|()| Some(answer.into()))
}

impl<A> NodeSource<A> for OneNode<'_, A> {
    fn next(&mut self) -> Option<u32> {
        self.node.take().inspect(|node| self.recording.begin(*node))
    }

    fn answer(&mut self, answer: A) {
        self.answer = Some(answer);
    }
}
