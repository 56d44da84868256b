//! Decisions, with the work that they defer until the reply has been sent.

use std::{sync::Arc, time::Instant};

use super::{Gateway, PostReplyWork, post_reply::Work};
use crate::{
    decide::{self, Caller, DecideError, Group, RequestContext},
    model::{Mode, RequestId, Verb},
};

// === impl Gateway ===

impl Gateway {
    /// Decides. New answers are inserted into the cache after the reply; if the decision failed, before it.
    pub(super) fn decide<T>(
        &self,
        received: Instant,
        decide: impl FnOnce(&Caller) -> Result<T, DecideError>,
    ) -> Result<(T, PostReplyWork), DecideError> {
        let caller = self.caller(received);
        let outcome = decide(&caller);
        let mut after = PostReplyWork { cache_inserts: caller.take_deferred(), ..PostReplyWork::default() };
        if !after.is_empty() {
            let (roster, limit) = (self.roster(), self.cache_limit);
            after.cache_inserts.push(Box::new(move || limit.keep_within(&roster)));
        }
        match outcome {
            Ok(outcome) => Ok((outcome, after)),
            Err(error) => {
                // The reply waits for this, so no guest is called.
                after.split().0.run();
                Err(error)
            }
        }
    }

    /// Defers the calls of shadow policies until after the reply.
    pub(super) fn defer_shadow(
        &self,
        after: &mut PostReplyWork,
        group: Group,
        context: RequestContext,
        verbs: &'static [Verb],
    ) {
        let pod = context.pod();
        let in_shadow = |verb: &Verb| group.answering(Mode::Shadow, *verb, pod).next().is_some();
        if verbs.iter().any(in_shadow) {
            after.guest_calls.push(self.shadow(move |caller| decide::shadow(caller, &group, &context, verbs)));
        }
    }

    /// Work that asks policies in shadow mode.
    pub(super) fn shadow(&self, ask: impl FnOnce(&Caller) + Send + 'static) -> Work {
        let (clock, observer, timeout) = (Arc::clone(&self.clock), Arc::clone(&self.observer), self.request_timeout);
        let request = RequestId::current();
        Box::new(move || {
            // Their time starts now: the work may have waited for its turn.
            let started = clock.now();
            let caller = request.scope(|| Caller::new(clock, observer, started, timeout)).in_background();
            ask(&caller);
            // Nobody waits for a reply any more: the new answers are cached at once.
            caller.take_deferred().into_iter().for_each(|insert| insert());
        })
    }
}
