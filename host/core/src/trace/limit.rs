//! How much may be remembered in all.

use crate::Roster;

/// What is remembered, and how far it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLimit {
    /// Bytes of all remembered answers and columns together.
    pub bytes: usize,
    /// One in so many remembered answers is asked again behind the reply; 0: none is.
    pub recheck_every: u64,
}

// === impl TraceLimit ===

impl TraceLimit {
    /// What the columns of one cluster may take: of the one in force, or of that of the nodes that requests bring.
    pub(crate) const fn columns(self) -> usize {
        self.bytes / 4
    }

    /// Forgets the classes that were not used for the longest, where there is more than may be.
    pub(crate) fn keep_within(self, roster: &Roster) {
        let most = self.bytes - 2 * self.columns();
        if roster.remembered_bytes() <= most {
            return;
        }
        roster.groups().for_each(|(_, group)| group.forget_joints());
        let mut ages: Vec<(u64, usize)> = roster.members().flat_map(|member| member.traces.ages()).collect();
        ages.sort_unstable_by(|one, other| other.cmp(one));
        // A quarter more than needed, so that this is rare.
        let (mut kept, goal) = (0, most / 4 * 3);
        let first_to_go = ages.iter().find(|(_, bytes)| {
            kept += bytes;
            kept > goal
        });
        if let Some((used, _)) = first_to_go {
            roster.members().for_each(|member| member.traces.forget_before(used + 1));
        }
    }
}

impl Default for TraceLimit {
    fn default() -> Self {
        Self { bytes: 256 << 20, recheck_every: 1_000 }
    }
}
