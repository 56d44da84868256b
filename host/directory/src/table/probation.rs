//! Probation of new versions: which are confirmed, checked and rolled back.

use super::PolicyTable;
use crate::{
    entry::{PolicyEntry, Rollback},
    rollback_check::RollbackCheck,
};

impl PolicyTable {
    /// Confirms the versions on probation that have answered; returns the checks of those that fail.
    pub(crate) fn judge(&mut self) -> Vec<RollbackCheck> {
        let mut checks = Vec::new();
        for (id, entry) in self.entries.iter_mut().filter(|(_, entry)| entry.is_on_probation()) {
            match (entry.confirm(), &self.last_good) {
                (Some(digests), Some(last_good)) => last_good.promote(id, &digests),
                (Some(_), None) => {}
                (None, _) => checks.extend(entry.rollback_check(id)),
            }
        }
        checks
    }

    /// Applies the outcome of a check: rolls the version back, or lets it stay. True if a scan is due: after a rollback
    /// the files are read again.
    pub(crate) fn apply_check(&mut self, check: &RollbackCheck, error: Option<String>) -> bool {
        let rollback = self.entries.get_mut(&check.id).and_then(|entry| entry.apply_check(check, error));
        let Some(Rollback { digests, why, change }) = rollback else { return false };
        self.last_good.iter().for_each(|last_good| last_good.roll_back(&check.id, &digests, &why));
        self.changes.push(change);
        true
    }

    /// Whether any version is on probation.
    pub(crate) fn is_on_probation(&self) -> bool {
        self.entries.values().any(PolicyEntry::is_on_probation)
    }
}

#[cfg(test)]
mod tests;
