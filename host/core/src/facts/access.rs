//! Which facts one policy may read, and what their absence means.

use std::{collections::BTreeMap, sync::Arc};

use super::FactSource;

crate::words! {
    /// The effect of reading a fact that is not there.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum AbsentFacts {
        /// The policy gets none, and decides by a default of its own.
        #[default]
        Default = "default",
        /// The decision is made without the policy.
        Ignore = "ignore",
        /// The whole decision fails.
        Fail = "fail",
    }
}

/// The sources that one policy may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactAccess {
    /// By the policy's name for it: the source's name among all [`Facts`](super::Facts).
    names: BTreeMap<Box<str>, Box<str>>,
    absent: AbsentFacts,
}

/// The sources that come with a policy's own files, by their name among all [`Facts`](super::Facts).
pub type OwnFacts = Arc<[(Arc<str>, Arc<FactSource>)]>;

// === impl FactAccess ===

impl FactAccess {
    /// Access to these sources: the policy's name for each, and its name among all facts.
    pub fn new<'n>(names: impl IntoIterator<Item = (&'n str, &'n str)>, absent: AbsentFacts) -> Self {
        let names = names.into_iter().map(|(own, global)| (own.into(), global.into())).collect();
        Self { names, absent }
    }

    /// The same, in which an absent fact is none and nothing more.
    #[must_use]
    pub fn lenient(&self) -> Self {
        Self { absent: AbsentFacts::Default, ..self.clone() }
    }

    /// The effect of reading a fact that is not there.
    pub const fn absent(&self) -> AbsentFacts {
        self.absent
    }

    /// The policy's names of its sources, each with the name among all facts.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(own, global)| (own.as_ref(), global.as_ref()))
    }

    /// The name among all facts of a source that the policy names; none if it may not read it.
    pub(crate) fn global_name(&self, own: &str) -> Option<&str> {
        self.names.get(own).map(AsRef::as_ref)
    }
}
