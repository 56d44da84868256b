//! Puts a case to a policy, and compares.

use plimsoll_core::{Policy, Verb};

use crate::{
    CallLimits, Case, CaseError, Difference, Explained,
    call_error::CallError,
    caller::Caller,
    compare::{Comparison, MAX_DIFFERENCES_BYTES},
};

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
                let limit = MAX_DIFFERENCES_BYTES >> 20;
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
