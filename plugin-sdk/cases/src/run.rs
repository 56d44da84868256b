//! Puts a case to a policy.

use std::{
    cell::OnceCell,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, BindAnswer, Fault, Limits, Policy, ReadLine, Verb, View, check_answers, read_for};

use crate::{
    Case, CaseError, Difference, Expectations, ExpectedBinding, Explained, World, WorldError,
    call_error::CallError,
    compare::{Comparison, MAX_BYTES},
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

// === impl Case ===

impl Case {
    /// Asks a policy, native or compiled, and compares.
    ///
    /// # Errors
    /// With all that differs.
    pub fn check(&self, policy: &dyn Policy) -> Result<(), CaseError> {
        self.check_within(policy, CallLimits::default())
    }

    /// As [`Case::check`], with these limits for each call.
    ///
    /// # Errors
    /// With all that differs.
    pub fn check_within(&self, policy: &dyn Policy, limits: CallLimits) -> Result<(), CaseError> {
        let explained = self.explain_within(policy, limits, 0)?;
        if explained.is_empty() {
            return Ok(());
        }
        let differences = explained.into_iter().map(|explained| explained.difference).collect();
        Err(CaseError::Differs { path: self.path.clone(), description: self.description.clone(), differences })
    }

    /// Asks a policy and returns all that differs, the first `most` differences with their reads. The reads have the time
    /// that the case has left: a case may have thousands of differences, and a policy may be slow.
    ///
    /// # Errors
    /// If the case is invalid, or the policy fails.
    pub fn explain_within(
        &self,
        policy: &dyn Policy,
        limits: CallLimits,
        most: usize,
    ) -> Result<Vec<Explained>, CaseError> {
        self.check_expectations(policy)?;
        let caller = Caller::new(&self.world, &self.settings, policy, limits);
        let comparison = Comparison::of_excerpts(&self.lines);
        let differences = caller.differences(&self.expect, comparison).map_err(|error| self.error(error))?;
        let explained = |(at, difference): (usize, Difference)| {
            let node = difference.node.as_deref();
            let reads = || caller.reads(difference.verb, node).unwrap_or_default();
            let reads = if at < most { reads() } else { vec![] };
            Explained { difference, reads }
        };
        Ok(differences.into_iter().enumerate().map(explained).collect())
    }

    fn error(&self, error: CallError) -> CaseError {
        let (path, description) = (self.path.clone(), self.description.clone());
        match error {
            CallError::World(error) => self.world_error(&error),
            CallError::Fault(verb, fault) => CaseError::Fault { path, description, verb, fault },
            CallError::TooLarge => {
                let limit = MAX_BYTES >> 20;
                let error = format!("answers that differ have more than {limit} MiB: ask about fewer nodes");
                CaseError::unusable(&path, error)
            }
        }
    }

    /// A case that can only pass, or only fail, is a mistake of its author.
    fn check_expectations(&self, policy: &dyn Policy) -> Result<(), CaseError> {
        let verbs = self.expect.verbs();
        if verbs.is_empty() && self.expect.refused.is_none() && !self.world.nodes.is_empty() {
            let error = "it has nodes, and expects nothing of them: expected a verb such as `filter` under `expect`";
            return Err(CaseError::unusable(&self.path, error));
        }
        if let Some(absent) = verbs.iter().find(|verb| !policy.verbs().has(**verb)) {
            let own: Vec<&str> = policy.verbs().iter().map(Verb::as_str).collect();
            let error = format!("expect.{absent}: the policy has no verb {absent}, only {}", own.join(", "));
            return Err(CaseError::unusable(&self.path, error));
        }
        let asks_nothing = |verb: &Verb| match verb {
            Verb::Preempt => self.world.candidates.is_empty(),
            _ => self.world.request.as_ref().map_or(self.world.nodes.is_empty(), Vec::is_empty),
        };
        // Settings that are refused are all that such a case is about.
        let Some(verb) = verbs.into_iter().find(asks_nothing).filter(|_| self.expect.refused.is_none()) else {
            return Ok(());
        };
        let key = match (verb, &self.world.request) {
            (Verb::Preempt, _) => "candidates",
            (_, Some(_)) => "request",
            (_, None) => "nodes",
        };
        let error = format!("expect.{verb}: it asks about no node: expected at least one under `{key}`");
        Err(CaseError::unusable(&self.path, error))
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
        let nodes: Vec<u32> = (0..view.node_count() as u32).collect();
        if let Some(expected) = &expect.filter {
            let answers = self.call(Verb::Filter, view, |ask| {
                let answers = self.policy.filter(ask, &nodes)?;
                check_answers(&answers, nodes.len()).map(|()| answers)
            })?;
            found.take(Verb::Filter, view, expected, answers.into_iter().map(|answer| Ok(answer.into())))?;
        }
        if let Some(expected) = &expect.score {
            let answers = self.call(Verb::Score, view, |ask| {
                let answers = self.policy.score(ask, &nodes)?;
                check_answers(&answers, nodes.len()).map(|()| answers)
            })?;
            found.take(Verb::Score, view, expected, answers.into_iter().map(Ok))?;
        }
        if let Some(expected) = &expect.rank {
            let answers = self.call(Verb::Rank, view, |ask| {
                let answers = self.policy.rank(ask)?;
                check_answers(&answers, nodes.len()).map(|()| answers)
            })?;
            found.take(Verb::Rank, view, expected, answers.into_iter().map(Ok))?;
        }
        if let Some(expected) = &expect.preempt {
            let view = self.preempt_view()?;
            let candidates: Vec<u32> = (0..view.node_count() as u32).collect();
            let answers = self.call(Verb::Preempt, view, |ask| {
                let answers = self.policy.preempt(ask, &candidates)?;
                check_answers(&answers, candidates.len()).map(|()| answers)
            })?;
            let answers = candidates.iter().zip(answers).map(|(at, answer)| Ok(preemption(view, *at, answer)));
            found.take(Verb::Preempt, view, expected, answers)?;
        }
        if let Some(expected) = &expect.bind {
            found.take(Verb::Bind, view, expected, nodes.iter().map(|node| self.bind(view, *node)))?;
        }
        Ok(found.into_differences())
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
            call(&Ask::new(Arc::from(POLICY), Arc::clone(view), limits))
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
