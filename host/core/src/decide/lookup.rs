//! Cached answers: a policy is called about the misses, and now and then about a hit.

use std::{fmt::Debug, sync::Arc, time::Instant};

use crate::{
    Fault, FaultKind, Member, NodeList, NodeSource, Verb, View,
    answer::Answer,
    cache::{Answers, CachedAnswer, Evaluation, Lookup, Recording, Update, ViewSource},
};

use super::{Caller, DecideError, again, call::or_skip};

/// An evaluation that ends at the first answer that breaks the contract.
struct CheckedSource<'e, A: CachedAnswer> {
    evaluation: &'e mut Evaluation<A>,
    breach: Option<String>,
}

impl<A: CachedAnswer + Answer> NodeSource<A> for CheckedSource<'_, A> {
    fn next(&mut self) -> Option<u32> {
        if self.breach.is_some() { None } else { self.evaluation.next_miss() }
    }

    fn answer(&mut self, answer: A) {
        self.breach = answer.breach();
        if self.breach.is_none() {
            self.evaluation.record_answer(answer);
        }
    }
}

// === impl Caller ===

impl Caller {
    /// As [`Caller::call`] for the verbs whose answers are cached: the policy is called about the misses.
    ///
    /// `nodes` are some of the nodes of the view `all`; `view` makes the view that shows a guest only these.
    pub(super) fn lookup_or_call<A: Answer + CachedAnswer + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        all: &View,
        nodes: &[u32],
        view: impl FnOnce() -> View,
    ) -> Result<Answers<A>, Fault> {
        let started = self.now();
        let source = ViewSource::of(all).with_blocking(self.blocking());
        let rows = nodes.iter().map(|node| all.slots()[*node as usize]);
        let lookup = A::cache(&member.cache).lookup(&source, rows);
        if !lookup.is_cacheable() {
            return self
                .call(member, verb, view(), |ask, nodes| {
                    NodeList::collect(nodes, |nodes| A::ask(member.policy.as_ref(), ask, nodes))
                })
                .map(Answers::plain);
        }
        if lookup.is_complete() {
            let answers = lookup.into_answers();
            self.recheck_later(member, verb, all, (nodes.len(), nodes.len()), |at| {
                Some((nodes[at], answers.get(at)?.clone()))
            });
            let elapsed = self.report(
                all.pod(),
                member,
                verb,
                (started, started),
                Ok((nodes.len(), answers.count(Answer::rejects), 0)),
            );
            member.cache.call_times.set(verb, elapsed);
            return Ok(answers);
        }
        let (answers, evaluated, begun, result) = self.evaluate_misses(member, verb, lookup, view());
        let told = result.as_ref().map(|()| (nodes.len(), answers.count(Answer::rejects), evaluated));
        let elapsed = self.report(all.pod(), member, verb, (started, begun), told);
        member.cache.call_times.set(verb, elapsed);
        result.map(|()| answers)
    }

    fn evaluate_misses<A: Answer + CachedAnswer + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        lookup: Lookup<A>,
        view: View,
    ) -> (Answers<A>, usize, Instant, Result<(), Fault>) {
        let mut evaluation = Evaluation::new(lookup, ViewSource::of(&view), Arc::clone(view.slots()));
        let recording = Recording::of(evaluation.log());
        let view = Arc::new(view.with_settings(Arc::clone(&member.settings)).recorded(recording));
        // What the host has looked up until here is not charged to the guest.
        let begun = self.now();
        let result = self.put_in_turn(member, verb, begun, &view, &mut evaluation);
        let evaluated = evaluation.evaluated();
        let (answers, update) = evaluation.finish();
        if result.is_ok() {
            // The guest has seen this view: what it read of the whole of it, it would not find in another.
            let asked = view.node_count();
            let pick = |at| Some((at as u32, answers.get(at)?.clone()));
            self.recheck_later(member, verb, &view, (asked - evaluated, asked), pick);
        }
        if let Some(update) = update {
            self.insert_later(member, verb, update);
        }
        (answers, evaluated, begun, result)
    }

    fn put_in_turn<A: Answer + CachedAnswer + Debug>(
        &self,
        member: &Member,
        verb: Verb,
        begun: Instant,
        view: &Arc<View>,
        evaluation: &mut Evaluation<A>,
    ) -> Result<(), Fault> {
        let asked = view.node_count();
        let mut nodes = CheckedSource { evaluation, breach: None };
        self.bounded(member, verb, Arc::clone(view), begun, |ask| A::ask(member.policy.as_ref(), ask, &mut nodes))?;
        let CheckedSource { evaluation, breach } = nodes;
        let answered = evaluation.answered();
        match breach {
            Some(detail) => Err(Fault::new(FaultKind::Output, detail)),
            None if answered == asked => Ok(()),
            None => Err(Fault::new(FaultKind::Output, format!("{answered} answers for {asked} nodes"))),
        }
    }

    /// As [`Caller::recall`]; none where the policy's faults leave it out of the decision.
    pub(super) fn lookup_or_skip<A: Answer + CachedAnswer + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        all: &View,
        nodes: &[u32],
        view: impl FnOnce() -> View,
    ) -> Result<Option<Answers<A>>, DecideError> {
        or_skip(member, verb, self.lookup_or_call(member, verb, all, nodes, view))
    }

    fn insert_later<A: CachedAnswer>(&self, member: &Arc<Member>, verb: Verb, update: Update<A>) {
        let (member, caller) = (Arc::clone(member), self.after_reply());
        self.defer(move || {
            if let Err(why) = A::cache(&member.cache).insert(&update) {
                caller().observer().cache_disabled(&member, verb, why);
            }
        });
    }

    /// Adds cache hits to the sampler; if one is due, `pick` selects it, and it is evaluated again after the reply.
    pub(super) fn recheck_later<A: CachedAnswer + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        view: &View,
        (cached, asked): (usize, usize),
        pick: impl FnOnce(usize) -> Option<(u32, A)>,
    ) {
        let Some(sampler) = self.sampler() else { return };
        sampler.count(cached, self.now(), |number| {
            let (node, answer) = pick(number as usize % asked.max(1))?;
            let (member, view, caller) = (Arc::clone(member), view.clone(), self.after_reply());
            Some(move || again::recheck(&caller(), &member, verb, &view, node, &answer))
        });
    }
}
