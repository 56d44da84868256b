//! Answers from memory: a policy is asked about what is new, and now and then about what is not.

use std::{fmt::Debug, sync::Arc, time::Instant};

use crate::{
    Fault, FaultKind, Member, Verb, View,
    answer::Answer,
    trace::{Answers, Lesson, Remember, Session, Walked},
};

use super::{Caller, DecideError, again, call::or_skip};

impl Caller {
    /// As [`Caller::call`] for the verbs whose answers are remembered: the policy is asked about what is new.
    ///
    /// Of the nodes of a view some are in question; `view` makes the view that shows a guest these alone.
    pub(super) fn recall<A: Answer + Remember + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        all: &View,
        nodes: &[u32],
        view: impl FnOnce() -> View,
    ) -> Result<Answers<A>, Fault> {
        let started = self.now();
        let walked = Walked::of(A::of(&member.traces), all, nodes);
        if !walked.is_remembered() {
            return self
                .call(member, verb, view(), |ask, nodes| A::ask_all(member.policy.as_ref(), ask, nodes))
                .map(Answers::plain);
        }
        if walked.is_complete() {
            let answers = walked.into_answers();
            self.recheck_later(member, verb, all, (nodes.len(), nodes.len()), |at| {
                Some((nodes[at], answers.of(at)?.clone()))
            });
            let elapsed = self.tell(
                all.pod(),
                member,
                verb,
                (started, started),
                Ok((nodes.len(), answers.count(Answer::rejects), 0)),
            );
            member.traces.pace.set(verb, elapsed);
            return Ok(answers);
        }
        let (answers, evaluated, begun, result) = self.ask_the_rest(member, verb, walked, view());
        let told = result.as_ref().map(|()| (nodes.len(), answers.count(Answer::rejects), evaluated));
        let elapsed = self.tell(all.pod(), member, verb, (started, begun), told);
        member.traces.pace.set(verb, elapsed);
        result.map(|()| answers)
    }

    fn ask_the_rest<A: Answer + Remember + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        walked: Walked<A>,
        view: View,
    ) -> (Answers<A>, usize, Instant, Result<(), Fault>) {
        let mut session = Session::new(walked, view.with_settings(Arc::clone(&member.settings)));
        // What the host has looked up until here is not charged to the guest.
        let begun = self.now();
        let result = self.put_in_turn(member, verb, begun, &mut session);
        let (evaluated, view) = (session.evaluated(), Arc::clone(session.view()));
        let (answers, lesson) = session.finish();
        if result.is_ok() {
            // The guest has seen this view: what it read of the whole of it, it would not find in another.
            let asked = view.node_count();
            let pick = |at| Some((at as u32, answers.of(at)?.clone()));
            self.recheck_later(member, verb, &view, (asked - evaluated, asked), pick);
        }
        if let Some(lesson) = lesson {
            self.learn_later(member, verb, lesson);
        }
        (answers, evaluated, begun, result)
    }

    fn put_in_turn<A: Answer + Remember + Debug>(
        &self,
        member: &Member,
        verb: Verb,
        begun: Instant,
        session: &mut Session<A>,
    ) -> Result<(), Fault> {
        let view = Arc::clone(session.view());
        let asked = view.node_count();
        self.bounded(member, verb, view, begun, |ask| A::ask(member.policy.as_ref(), ask, session))?;
        let answered = session.answered();
        match session.breach() {
            Some(detail) => Err(Fault::new(FaultKind::Output, detail)),
            None if answered == asked => Ok(()),
            None => Err(Fault::new(FaultKind::Output, format!("{answered} answers for {asked} nodes"))),
        }
    }

    /// As [`Caller::recall`]; none where the policy's faults leave it out of the decision.
    pub(super) fn recall_or_skip<A: Answer + Remember + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        all: &View,
        nodes: &[u32],
        view: impl FnOnce() -> View,
    ) -> Result<Option<Answers<A>>, DecideError> {
        or_skip(member, verb, self.recall(member, verb, all, nodes, view))
    }

    fn learn_later<A: Remember>(&self, member: &Arc<Member>, verb: Verb, lesson: Lesson<A>) {
        let (member, caller) = (Arc::clone(member), self.behind_the_reply());
        self.leave(move || {
            if let Err(why) = A::of(&member.traces).learn(&lesson) {
                caller().observer().stopped_remembering(&member, verb, why);
            }
        });
    }

    /// Counts answers that were remembered, of so many; if one is due it is picked, with its node, and asked for again.
    pub(super) fn recheck_later<A: Remember + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        view: &View,
        (remembered, asked): (usize, usize),
        pick: impl FnOnce(usize) -> Option<(u32, A)>,
    ) {
        let Some(again) = self.again() else { return };
        again.count(remembered, self.now(), |number| {
            let (node, answer) = pick(number as usize % asked.max(1))?;
            let (member, view, caller) = (Arc::clone(member), view.clone(), self.behind_the_reply());
            Some(move || again::recheck(&caller(), &member, verb, &view, node, &answer))
        });
    }
}
