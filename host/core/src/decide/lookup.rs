//! Cached answers: a policy is called about the misses, and now and then about a hit.

use std::{sync::Arc, time::Instant};

use crate::{
    Fault, FaultKind, Member, NodeSource, Verb, View,
    answer::{DistinctReasons, VerbAnswer},
    cache::{CachedAnswer, Evaluation, Recording, RowAnswers, Update, ViewSource},
    policy::NodeList,
};

use super::{
    Caller,
    feasible::{CachedByClass, FeasibleClasses, FeasibleNodes, PolicyAnswers},
};

/// An evaluation that ends at the first answer that breaks the contract.
struct CheckedSource<'e, A: CachedAnswer> {
    evaluation: &'e mut Evaluation<A>,
    reasons: DistinctReasons,
    breach: Option<String>,
}

impl<A: CachedAnswer> NodeSource<A> for CheckedSource<'_, A> {
    fn next(&mut self) -> Option<u32> {
        if self.breach.is_some() { None } else { self.evaluation.next_miss() }
    }

    fn answer(&mut self, mut answer: A) {
        self.breach = answer.breach().or_else(|| self.reasons.share(&mut answer).err());
        if self.breach.is_none() {
            self.evaluation.record_answer(answer);
        }
    }
}

// === impl Caller ===

impl Caller {
    /// The answers of a policy about the feasible nodes of the view `all`: by class if they are cached by class, else
    /// node by node.
    ///
    /// The policy is called about the misses of its cache. The guest sees only the feasible nodes.
    pub(super) fn lookup_or_call<A: CachedAnswer>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        all: &View,
        feasible: &FeasibleNodes,
        cached: Option<CachedByClass<A>>,
    ) -> Result<PolicyAnswers<A>, Fault> {
        match (feasible, cached) {
            (FeasibleNodes::ByClass(classes), Some(cached)) => self.ask_by_class(member, verb, all, classes, cached),
            _ => self.ask_by_node(member, verb, all, &feasible.nodes(all)),
        }
    }

    fn ask_by_class<A: CachedAnswer>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        all: &View,
        classes: &FeasibleClasses,
        cached: CachedByClass<A>,
    ) -> Result<PolicyAnswers<A>, Fault> {
        let (host_began, asked) = (self.now(), classes.node_count());
        if let Some(rejected) = classes.rejected(&cached) {
            self.report_cached(member, verb, (asked, rejected), host_began);
            return Ok(PolicyAnswers::ByClass(cached));
        }
        let CachedByClass { column, answers } = cached;
        let node_classes = classes.present().map(|(class, _)| classes.node_class(class, column));
        let evaluation = |source, rows| Evaluation::of_row_classes(answers, source, rows, node_classes);
        let view = all.of_some(classes.nodes(all).map(|(_, slot)| slot), asked);
        self.evaluate(member, verb, view, host_began, evaluation, Some((column, classes)))
    }

    fn ask_by_node<A: CachedAnswer>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        all: &View,
        nodes: &[u32],
    ) -> Result<PolicyAnswers<A>, Fault> {
        let (host_began, asked) = (self.now(), nodes.len());
        let source = ViewSource::of(all).with_blocking(self.blocking);
        let slots = || nodes.iter().map(|node| all.slots()[*node as usize]);
        let lookup = A::cache(&member.cache).lookup(&source, slots());
        if !lookup.is_cacheable() {
            let ask_guest = |question: &_, nodes: &[u32]| {
                NodeList::collect(nodes, |nodes| A::ask(member.policy.as_ref(), question, nodes))
            };
            let answers = self.call(member, verb, all.of_some(slots(), asked), ask_guest)?;
            return Ok(PolicyAnswers::ByNode(RowAnswers::plain(answers)));
        }
        if lookup.is_complete() {
            let answers = lookup.into_answers();
            self.report_cached(member, verb, (asked, answers.count(VerbAnswer::rejects)), host_began);
            return Ok(PolicyAnswers::ByNode(answers));
        }
        let evaluation = |source, rows| Evaluation::of_rows(lookup, source, rows);
        self.evaluate(member, verb, all.of_some(slots(), asked), host_began, evaluation, None)
    }

    /// Calls a policy about the misses of an evaluation.
    fn evaluate<A: CachedAnswer>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        view: View,
        host_began: Instant,
        evaluation: impl FnOnce(ViewSource, Arc<[u32]>) -> Evaluation<A>,
        classes: Option<(usize, &FeasibleClasses)>,
    ) -> Result<PolicyAnswers<A>, Fault> {
        let source = ViewSource::of(&view).with_blocking(self.blocking);
        let mut evaluation = evaluation(source, Arc::clone(view.slots()));
        let recording = Recording::of(evaluation.log());
        let view = Arc::new(member.view_of(view).recorded(recording));
        // The time that the host's lookup took until here is not charged to the guest.
        let guest_began = self.now();
        let result = self.ask_one_by_one(member, verb, guest_began, &view, &mut evaluation);
        let (asked, evaluated) = (view.node_count(), evaluation.evaluated());
        let (answers, update) = evaluation.finish();
        if let Some(update) = update {
            self.insert_later(member, verb, update);
        }
        let result = result.and_then(|()| PolicyAnswers::of(answers, classes));
        let outcome = result.as_ref().map(|(_, rejected)| (asked, *rejected, evaluated));
        self.report(view.pod(), member, verb, (host_began, guest_began), outcome);
        let (answers, _) = result?;
        Ok(answers)
    }

    fn ask_one_by_one<A: CachedAnswer>(
        &self,
        member: &Member,
        verb: Verb,
        guest_began: Instant,
        view: &Arc<View>,
        evaluation: &mut Evaluation<A>,
    ) -> Result<(), Fault> {
        let mut nodes = CheckedSource { evaluation, reasons: DistinctReasons::default(), breach: None };
        let ask_guest = |question: &_| A::ask(member.policy.as_ref(), question, &mut nodes);
        self.bounded(member, verb, Arc::clone(view), guest_began, ask_guest)?;
        let CheckedSource { evaluation, breach, .. } = nodes;
        match breach {
            Some(detail) => Err(Fault::new(FaultKind::Output, detail)),
            None if evaluation.is_complete() => Ok(()),
            None => Err(Fault::new(FaultKind::Output, "it did not answer about every node")),
        }
    }

    fn insert_later<A: CachedAnswer>(&self, member: &Arc<Member>, verb: Verb, update: Update<A>) {
        let (member, caller) = (Arc::clone(member), self.after_reply());
        self.defer(move || {
            if let Err(why) = A::cache(&member.cache).insert(&update) {
                caller().observer().cache_disabled(&member, verb, why);
            }
        });
    }
}
