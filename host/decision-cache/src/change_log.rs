//! Versions of a snapshot, and the rows that the last ones have changed.

use crate::{
    attribute::{Parts, Row},
    usage::tick,
};

/// One snapshot among those that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    /// The number of the first of them.
    lineage: u64,
    /// It grows from each to the next.
    number: u64,
}

/// The version of a snapshot, and the changes that led to it.
#[derive(Debug, Clone)]
pub(crate) struct ChangeLog {
    pub(crate) version: Version,
    /// Oldest first.
    changes: Vec<Change>,
    /// Every change after the version with this number is listed.
    complete_after: u64,
}

#[derive(Debug, Clone, Copy)]
struct Change {
    number: u64,
    row: Row,
    parts: Parts,
}

/// Maximum changes in the list. Values from before the list are read again for every row.
const MAX_CHANGES: usize = 2_048;

impl ChangeLog {
    /// The log of a snapshot that follows no other.
    pub(crate) fn first() -> Self {
        let number = tick();
        let version = Version { lineage: number, number };
        Self { version, changes: Vec::new(), complete_after: number }
    }

    /// The log of the next snapshot, in which these rows have changed.
    pub(crate) fn next(&self, changed: &[(Row, Parts)]) -> Self {
        let number = tick();
        let version = Version { number, ..self.version };
        let mut next = Self { version, ..self.clone() };
        next.changes.extend(changed.iter().map(|(row, parts)| Change { number, row: *row, parts: *parts }));
        let too_many = next.changes.len().saturating_sub(MAX_CHANGES);
        // A version that has lost some of its changes counts as not listed.
        next.complete_after =
            next.changes.drain(..too_many).next_back().map_or(next.complete_after, |last| last.number);
        next
    }

    /// The rows below `rows` whose values of these parts, read at this version, may be stale. Some may come twice.
    ///
    /// Values from a newer version are never used: a request keeps the snapshot that it began with.
    pub(crate) fn stale_rows(&self, version: Version, parts: Parts, rows: usize) -> Vec<Row> {
        let is_older = version.lineage == self.version.lineage && version.number <= self.version.number;
        if !is_older || version.number < self.complete_after {
            return (0..rows as Row).collect();
        }
        let is_stale = |change: &&Change| {
            change.number > version.number && change.parts.intersects(parts) && (change.row as usize) < rows
        };
        self.changes.iter().filter(is_stale).map(|change| change.row).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn every_row_that_changed_since_a_version_is_stale(
            versions in vec((vec((0..700u32, 0..2u8), 0..40), any::<bool>(), 690..700usize), 1..90),
        ) {
            // For each version, when each part of each row was last written.
            let mut history = vec![(ChangeLog::first(), vec![[0, 0]; 700])];
            for (at, (changes, all, rows)) in versions.into_iter().enumerate() {
                let (log, before) = history.last().unwrap();
                let mut after = before.clone();
                let changes: Vec<_> = changes.into_iter().filter(|(row, _)| (*row as usize) < before.len()).collect();
                let mut changed: Vec<(Row, Parts)> = changes.iter().map(|(row, part)| (*row, Parts::single(*part))).collect();
                if all && at % 10 == 0 {
                    changed.extend((0..before.len() as Row).map(|row| (row, Parts::single(1))));
                    for row in &mut after {
                        row[1] = at + 1;
                    }
                }
                for (row, part) in &changes {
                    after[*row as usize][*part as usize] = at + 1;
                }
                // Rows that are not there now are new when they come back.
                let grown = (before.len()..rows).map(|row| (row as Row, Parts::ALL));
                changed.extend(grown);
                after.resize(rows.max(1), [at + 1, at + 1]);
                changed.retain(|(row, _)| (*row as usize) < rows);
                history.push((log.next(&changed), after));
            }
            let (last, now) = history.last().unwrap();
            for (log, then) in &history {
                for (part, parts) in [(0, Parts::single(0)), (1, Parts::single(1))] {
                    let stale = last.stale_rows(log.version, parts, now.len());
                    for row in 0..now.len().min(then.len()) {
                        prop_assert!(then[row][part] == now[row][part] || stale.contains(&(row as Row)));
                    }
                }
                let backwards = log.stale_rows(last.version, Parts::ALL, then.len());
                prop_assert!(log.version == last.version || backwards.len() == then.len());
            }
        }
    }
}
