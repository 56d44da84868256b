//! Faults in the output of a program.

use plimsoll_core::{Fault, FaultKind, bounded, excerpt, one_line};

use crate::fault::MAX_DETAIL_BYTES;

/// Maximum bytes of a node's name that a message quotes.
const QUOTED_NAME: usize = 100;

/// The name of a node as a message quotes it.
pub(super) fn shown(name: &str) -> String {
    excerpt(name, QUOTED_NAME)
}

/// A fault with this detail, on one line and of bounded length.
pub(super) fn output_fault(detail: &str) -> Fault {
    Fault::new(FaultKind::Output, one_line(bounded(detail, MAX_DETAIL_BYTES)))
}
