//! Answers from memory: a policy is asked about what is new, and now and then about what is not.

use std::{fmt::Debug, sync::Arc, time::Instant};

use crate::{
    Fault, FaultKind, Member, Verb, View,
    answer::Answer,
    trace::{Answers, Lesson, Remember, Session},
};

use super::{Caller, DecideError, again, call::or_skip};

impl Caller {
    /// As [`Caller::call`] for the verbs whose answers are remembered: the policy is asked about what is new.
    pub(super) fn recall<A: Answer + Remember + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        view: View,
    ) -> Result<Answers<A>, Fault> {
        let started = self.now();
        let asked = view.node_count();
        let mut session = Session::walk(A::of(&member.traces), view.with_settings(Arc::clone(&member.settings)));
        let result = if session.is_complete() { Ok(()) } else { self.ask_the_rest(member, started, &mut session) };
        let (evaluated, view) = (session.evaluated(), Arc::clone(session.view()));
        let (answers, lesson) = session.finish();
        if let Some(lesson) = lesson {
            self.learn_later(member, verb, lesson);
        }
        if result.is_ok() {
            self.recheck_later(member, verb, &view, &answers, asked - evaluated);
        }
        let told = result.as_ref().map(|()| (asked, answers.count(Answer::rejects), evaluated));
        self.tell(member, verb, started, told);
        result.map(|()| answers)
    }

    fn ask_the_rest<A: Answer + Remember + Debug>(
        &self,
        member: &Member,
        started: Instant,
        session: &mut Session<A>,
    ) -> Result<(), Fault> {
        let view = Arc::clone(session.view());
        let asked = view.node_count();
        self.bounded(member, view, started, |ask| A::ask(member.policy.as_ref(), ask, session))?;
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
        view: View,
    ) -> Result<Option<Answers<A>>, DecideError> {
        or_skip(member, verb, self.recall(member, verb, view))
    }

    fn learn_later<A: Remember>(&self, member: &Arc<Member>, verb: Verb, lesson: Lesson<A>) {
        let (member, caller) = (Arc::clone(member), self.behind_the_reply());
        self.leave(move || {
            if let Err(why) = A::of(&member.traces).learn(&lesson) {
                caller().observer().stopped_remembering(&member, verb, why);
            }
        });
    }

    fn recheck_later<A: Remember + Debug>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        view: &Arc<View>,
        answers: &Answers<A>,
        remembered: usize,
    ) {
        let Some(recheck) = self.recheck() else { return };
        let due = recheck.due(remembered, view.node_count(), self.now());
        let Some((node, answer)) = due.and_then(|node| Some((node as u32, answers.of(node)?.clone()))) else { return };
        let (recheck, member, view) = (Arc::clone(recheck), Arc::clone(member), Arc::clone(view));
        let caller = self.behind_the_reply();
        self.leave(move || {
            let caller = caller();
            let started = caller.now();
            again::recheck(&caller, &member, verb, &view, node, &answer);
            let now = caller.now();
            recheck.rest(now, now.saturating_duration_since(started));
        });
    }
}
