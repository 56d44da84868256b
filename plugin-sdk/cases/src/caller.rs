//! Calls a policy about a world.

use std::{
    cell::OnceCell,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, BindAnswer, Fault, Limits, Origin, Policy, ReadLine, Verb, VerbAnswer, View, check_answers, read_for,
};

use crate::{
    Difference, Expectations, ExpectedBinding, World, WorldError, call_error::CallError, compare::Comparison,
    expect::preemption,
};

/// The time of all calls of one case together, however long each may take.
const CASE_TIMEOUT: Duration = Duration::from_secs(10);

/// The least time of a call that is made again, since a busy machine may have delayed the first one.
const SECOND_CHANCE: Duration = Duration::from_secs(1);

/// The name of the policy in the texts of the host.
const POLICY: &str = "test";

/// The time and memory that each call of a policy may use.
#[derive(Debug, Clone, Copy)]
pub struct CallLimits {
    /// Its time.
    pub timeout: Duration,
    /// Bytes of linear memory.
    pub memory: usize,
}

/// Calls one policy about one world.
pub(crate) struct Caller<'a> {
    world: &'a World,
    settings: &'a Arc<str>,
    policy: &'a dyn Policy,
    limits: CallLimits,
    /// From the first call on.
    deadline: OnceCell<Instant>,
    /// The view of all verbs but `preempt`, once it is made: a world may be a whole cluster.
    view: OnceCell<Arc<View>>,
    preempt_view: OnceCell<Arc<View>>,
}

// === impl CallLimits ===

impl Default for CallLimits {
    /// Ample, for a policy that runs natively.
    fn default() -> Self {
        Self { timeout: CASE_TIMEOUT, memory: 64 << 20 }
    }
}

// === impl Caller ===

impl<'a> Caller<'a> {
    pub(crate) fn new(world: &'a World, settings: &'a Arc<str>, policy: &'a dyn Policy, limits: CallLimits) -> Self {
        let (view, preempt_view) = (OnceCell::new(), OnceCell::new());
        Self { world, settings, policy, limits, deadline: OnceCell::new(), view, preempt_view }
    }

    /// All differences from the expectations.
    pub(crate) fn differences(
        &self,
        expect: &Expectations,
        mut found: Comparison<'_>,
    ) -> Result<Vec<Difference>, CallError> {
        let refused = self.refusal()?;
        if refused != expect.refused {
            let text = |refused: &Option<String>| match refused {
                Some(why) => format!("refused with `{why}`"),
                None => "accepted".to_owned(),
            };
            found.take_settings(&text(&expect.refused), &text(&refused))?;
            return Ok(found.into_differences());
        }
        let view = self.view()?;
        if let Some(expected) = &expect.filter {
            let answers = self.answers(Verb::Filter, view, |ask, nodes| self.policy.filter(ask, nodes))?;
            found.take(Verb::Filter, view, expected, answers.into_iter().map(|answer| Ok(answer.into())))?;
        }
        if let Some(expected) = &expect.score {
            let answers = self.answers(Verb::Score, view, |ask, nodes| self.policy.score(ask, nodes))?;
            found.take(Verb::Score, view, expected, answers.into_iter().map(Ok))?;
        }
        if let Some(expected) = &expect.rank {
            let answers = self.answers(Verb::Rank, view, |ask, _| self.policy.rank(ask))?;
            found.take(Verb::Rank, view, expected, answers.into_iter().map(Ok))?;
        }
        if let Some(expected) = &expect.preempt {
            let view = self.preempt_view()?;
            let answers = self.answers(Verb::Preempt, view, |ask, candidates| self.policy.preempt(ask, candidates))?;
            let answers = answers.into_iter().enumerate();
            let answers = answers.map(|(candidate, answer)| Ok(preemption(view, candidate as u32, answer)));
            found.take(Verb::Preempt, view, expected, answers)?;
        }
        if let Some(expected) = &expect.bind {
            let nodes = 0..view.node_count() as u32;
            found.take(Verb::Bind, view, expected, nodes.map(|node| self.bind(view, node)))?;
        }
        Ok(found.into_differences())
    }

    /// The answers about all nodes or candidates of a view, one for each.
    fn answers<A: VerbAnswer>(
        &self,
        verb: Verb,
        view: &Arc<View>,
        ask: impl Fn(&Ask, &[u32]) -> Result<Vec<A>, Fault>,
    ) -> Result<Vec<A>, CallError> {
        let all: Vec<u32> = (0..view.node_count() as u32).collect();
        self.call(verb, view, |call| {
            let answers = ask(call, &all)?;
            check_answers(&answers, all.len()).map(|()| answers)
        })
    }

    /// The answer of a bind as a gateway takes it: a pod that cannot carry the metadata is not bound.
    fn bind(&self, view: &Arc<View>, node: u32) -> Result<ExpectedBinding, CallError> {
        let answer: BindAnswer = self.call(Verb::Bind, view, |ask| {
            let answer = self.policy.bind(ask, node)?;
            check_answers(std::slice::from_ref(&answer), 1).map(|()| answer)
        })?;
        let refused = answer.as_ref().ok().and_then(|metadata| metadata.check_for_pod(POLICY, view.pod()).err());
        Ok(refused.map_or_else(|| answer.into(), |refused| ExpectedBinding::Refused(refused.to_string())))
    }

    /// The reads that lead to the answer of a verb about a node, or about the settings.
    pub(crate) fn reads(&self, verb: Verb, node: Option<&str>) -> Result<Vec<ReadLine>, CallError> {
        let empty = Arc::new(View::empty(Arc::clone(self.settings)));
        let view = match verb {
            Verb::Validate => &empty,
            Verb::Preempt => self.preempt_view()?,
            _ => self.view()?,
        };
        let is_named = |at: &u32| node.is_none_or(|node| view.node_name(*at).is_some_and(|name| **name == *node));
        let at = (0..view.node_count() as u32).find(is_named);
        // The policy was not asked about a node that is not there.
        let Some(at) = at.or_else(|| node.is_none().then_some(0)) else { return Ok(vec![]) };
        self.call(verb, view, |ask| read_for(self.policy, ask, verb, at))
    }

    /// The text with which the settings are refused; a policy without `validate` accepts any.
    fn refusal(&self) -> Result<Option<String>, CallError> {
        if !self.policy.verbs().has(Verb::Validate) {
            return Ok(None);
        }
        let view = Arc::new(View::empty(Arc::clone(self.settings)));
        Ok(self.call(Verb::Validate, &view, |ask| self.policy.validate(ask))?.err())
    }

    fn view(&self) -> Result<&Arc<View>, CallError> {
        self.seen(&self.view, World::view)
    }

    fn preempt_view(&self) -> Result<&Arc<View>, CallError> {
        self.seen(&self.preempt_view, World::preempt_view)
    }

    fn seen<'s>(
        &'s self,
        cell: &'s OnceCell<Arc<View>>,
        make: impl FnOnce(&World) -> Result<View, WorldError>,
    ) -> Result<&'s Arc<View>, CallError> {
        if let Some(view) = cell.get() {
            return Ok(view);
        }
        let view = make(self.world).map_err(CallError::World)?.with_settings(Arc::clone(self.settings));
        Ok(cell.get_or_init(|| Arc::new(view)))
    }

    /// A call that failed for want of time is made once more, with a second at least; a verb that the policy lacks fails the
    /// same way again.
    fn call<A>(&self, verb: Verb, view: &Arc<View>, call: impl Fn(&Ask) -> Result<A, Fault>) -> Result<A, CallError> {
        let within = |timeout| {
            // The time that the world takes to be read is not the policy's.
            let deadline = *self.deadline.get_or_init(|| Instant::now() + CASE_TIMEOUT);
            let limits = Limits { deadline, timeout, memory: self.limits.memory };
            let origin = Origin { verb: Some(verb), ..Origin::default() };
            call(&Ask { origin, ..Ask::new(Arc::from(POLICY), Arc::clone(view), limits) })
        };
        let answer = match within(self.limits.timeout) {
            Err(fault) if fault.kind.is_transient() && self.policy.verbs().has(verb) => {
                within(self.limits.timeout.max(SECOND_CHANCE))
            }
            answer => answer,
        };
        answer.map_err(|fault| CallError::Fault(verb, fault))
    }
}
