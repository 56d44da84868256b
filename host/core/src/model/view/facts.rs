//! Reads of facts from outside: which the policy may read, and what their absence means.

use std::hash::Hash as _;

use plimsoll_decision_cache::Fingerprint;

use super::View;
use crate::model::{AbsentFacts, FactValue, Facts, Read, ReadError, Value};

// === impl View ===

impl View {
    /// The facts from outside.
    fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref().or_else(|| self.cluster.facts()).map(AsRef::as_ref)
    }

    pub(super) fn fact(&self, source: &str, key: &str) -> Option<&FactValue> {
        self.facts()?.by_key(source, key)
    }

    pub(super) fn fact_of_node(&self, node: u32, source: &str) -> Result<Option<&FactValue>, ReadError> {
        let slot = self.slot(node)?;
        Ok(self.facts().and_then(|facts| facts.of_node(source, &slot.node)))
    }

    /// The fingerprint of all facts about a node, whatever their sources.
    pub(crate) fn facts_fingerprint(&self, node: u32) -> Fingerprint {
        let (Ok(slot), Some(facts)) = (self.slot(node), self.facts()) else { return Fingerprint::ABSENT };
        let about_node = facts.sources().filter_map(|(name, source)| Some((name, source.of_node(&slot.node)?.text())));
        let hashed = Fingerprint::hashed(|state| about_node.for_each(|fact| fact.hash(state)));
        // As a number, as the stamps of other records are. Of 62 bits: one that needs 64 would be hashed again.
        Fingerprint::of_number((hashed.bits() >> 2) as i64)
    }

    /// The read with the name that its source has among all facts: two policies may call two sources by one name.
    pub(super) fn named_globally<'r>(&'r self, mut read: Read<'r>) -> Result<Read<'r>, ReadError> {
        if let (Some(access), Some(source)) = (&self.fact_access, read.fact_source()) {
            *source = access.global_name(source).ok_or_else(|| ReadError::UndeclaredSource((*source).into()))?;
        }
        Ok(read)
    }

    /// The answer to a read; an error if it is an absent fact, and the policy's sidecar says so.
    pub(super) fn check_absence<'v>(&self, mut read: Read<'_>, answer: Value<'v>) -> Result<Value<'v>, ReadError> {
        let (Value::Absent, Some(access), Some(source)) = (&answer, &self.fact_access, read.fact_source()) else {
            return Ok(answer);
        };
        match access.absent() {
            AbsentFacts::Default => Ok(answer),
            AbsentFacts::Ignore | AbsentFacts::Fail => Err(ReadError::AbsentFact((*source).into())),
        }
    }
}
