//! Asking a fresh instance about one node: to see whether it says what is remembered, or to explain.

use std::{fmt::Debug, sync::Arc};

use crate::{
    Ask, Difference, Disabled, Fault, FaultKind, Member, NodeSource, Policy, ReadLine, Verb, Verdict, View,
    cache::{CachedAnswer, Recording},
};

use super::Caller;

/// One node, and the answer about it.
struct One<A> {
    node: Option<u32>,
    answer: Option<A>,
    recording: Recording,
}

/// What one evaluation came to.
pub(super) struct Told<A> {
    pub(super) answer: Result<A, Fault>,
    pub(super) reads: Vec<ReadLine>,
    /// Whether it read more than the pod and this node.
    pub(super) reads_whole: bool,
}

impl<A> One<A> {
    fn of(node: u32, recording: &Recording) -> Self {
        Self { node: Some(node), answer: None, recording: recording.clone() }
    }
}

impl<A> Told<A> {
    pub(super) fn map<B>(self, answer: impl FnOnce(A) -> B) -> Told<B> {
        Told { answer: self.answer.map(answer), reads: self.reads, reads_whole: self.reads_whole }
    }
}

impl<A> NodeSource<A> for One<A> {
    fn next(&mut self) -> Option<u32> {
        let node = self.node.take()?;
        self.recording.begin(node);
        Some(node)
    }

    fn answer(&mut self, answer: A) {
        self.answer = Some(answer);
    }
}

/// What a policy reads to filter or score one node of a view.
///
/// # Errors
/// The fault that ended the call.
pub fn read_for(policy: &dyn Policy, ask: &Ask, verb: Verb, node: u32) -> Result<Vec<ReadLine>, Fault> {
    let recording = Recording::of_story();
    let view = Arc::new(View::clone(&ask.view).recorded(recording.clone()));
    let ask = Ask { view, ..ask.clone() };
    match verb {
        Verb::Filter => Verdict::ask(policy, &ask, &mut One::of(node, &recording)),
        Verb::Score => u32::ask(policy, &ask, &mut One::of(node, &recording)),
        _ => Ok(()),
    }?;
    Ok(recording.take_story())
}

/// Asks a fresh instance about one node of a view; neither the observer nor the circuit hears of it.
pub(super) fn tell<A: CachedAnswer>(caller: &Caller, member: &Member, verb: Verb, view: &View, node: u32) -> Told<A> {
    let recording = Recording::of_story();
    let view = view.clone().with_settings(Arc::clone(&member.settings)).recorded(recording.clone());
    let mut one = One::of(node, &recording);
    let asked =
        caller.bounded(member, verb, Arc::new(view), caller.now(), |ask| A::ask(member.policy.as_ref(), ask, &mut one));
    let no_answer = || Err(Fault::new(FaultKind::Output, "0 answers for 1 nodes"));
    let answer = asked.and_then(|()| one.answer.map_or_else(no_answer, Ok));
    Told { answer, reads: recording.take_story(), reads_whole: recording.is_uncacheable() }
}

/// Asks again about a node whose answer was remembered; a difference ends the remembering.
pub(super) fn recheck<A: CachedAnswer + Debug>(
    caller: &Caller,
    member: &Member,
    verb: Verb,
    view: &View,
    node: u32,
    remembered: &A,
) {
    let told = tell::<A>(caller, member, verb, view, node);
    // That it fails now says nothing about what it said then.
    let Ok(asked) = told.answer else { return };
    caller.observer().rechecked(member, verb, asked == *remembered);
    if asked == *remembered {
        return;
    }
    A::cache(&member.cache).disable(Disabled::Differed);
    let node = view.node_name(node).map_or_else(String::new, ToString::to_string);
    let (cached, evaluated) = (format!("{remembered:?}"), format!("{asked:?}"));
    caller.observer().differed(member, verb, &Difference { node, cached, evaluated, reads: told.reads });
    caller.observer().cache_disabled(member, verb, Disabled::Differed);
}
