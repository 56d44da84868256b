//! The times when files may be read, and when problems with them may be reported.

use std::time::Instant;

use crate::scan::File;

/// Decides which files may be read now, and which failures may be reported.
pub(crate) trait Timing {
    /// The moment.
    fn now(&self) -> Instant;
    /// Whether these files have been unchanged for long enough to be read.
    fn may_read(&self, files: &mut dyn Iterator<Item = &File>) -> bool;
    /// Whether they have been unchanged for so long that they cannot be half-written.
    fn may_report(&self, files: &mut dyn Iterator<Item = &File>) -> bool;
    /// Whether nothing at all has changed for that long.
    fn is_calm(&self) -> bool;
}

/// Reads and reports at once.
pub(crate) struct Immediately;

// === impl Immediately ===

impl Timing for Immediately {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn may_read(&self, _: &mut dyn Iterator<Item = &File>) -> bool {
        true
    }

    fn may_report(&self, _: &mut dyn Iterator<Item = &File>) -> bool {
        true
    }

    fn is_calm(&self) -> bool {
        true
    }
}
