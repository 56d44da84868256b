//! The values that one call has read about one node, compared later with those of a newer snapshot.

use plimsoll_decision_cache::{Attribute as _, Fingerprint, Parts, Scope};

use crate::model::View;
use crate::model::{Attribute, Recording};

/// The node in question: the only one of its view.
const NODE: u32 = 0;

/// The attributes that a call has read, each once with its value. [`ReadLog`](plimsoll_decision_cache::ReadLog) bounds
/// their number.
#[derive(Debug)]
pub(crate) struct SeenValues {
    values: Vec<(Attribute, Fingerprint)>,
    completeness: Completeness,
}

/// Whether every read has an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completeness {
    All,
    /// Others were of the node or the pods on it: the records must be the same.
    OfNode,
    /// Some are not listed: all of the cluster must be the same.
    Unknown,
}

// === impl SeenValues ===

impl SeenValues {
    /// The reads of a view of one node.
    pub(crate) fn of(recording: &Recording, view: &View) -> Self {
        let log = recording.log();
        let value = |attribute: &Attribute| (attribute.clone(), attribute.fingerprint(view, NODE));
        let completeness = match (log.has_lost_reads(), log.is_uncacheable()) {
            (true, _) => Completeness::Unknown,
            (false, true) => Completeness::OfNode,
            (false, false) => Completeness::All,
        };
        Self { values: log.attributes_read().map(value).collect(), completeness }
    }

    /// Whether any of them may change when a pod is bound.
    pub(crate) fn has_read_pods(&self) -> bool {
        self.completeness == Completeness::Unknown || self.values.iter().any(|(attribute, _)| attribute.counts_pods())
    }

    /// Whether a value is not the same in the later of two views of the node. Reads of a record that both share are not
    /// made again.
    pub(crate) fn is_changed(&self, earlier: &View, later: &View) -> bool {
        let differing = earlier.differing_parts(later);
        if self.completeness != Completeness::All && differing != Parts::NONE {
            return true;
        }
        if self.completeness == Completeness::Unknown && !earlier.has_population_of(later) {
            return true;
        }
        let is_shared =
            |attribute: &Attribute| attribute.scope() == Scope::Row && !attribute.depends_on().intersects(differing);
        self.values
            .iter()
            .any(|(attribute, value)| !is_shared(attribute) && attribute.fingerprint(later, NODE) != *value)
    }
}
