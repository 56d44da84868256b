//! The targets of log lines that are treated differently from others.

/// Lines that policies write.
pub(super) const GUEST: &str = "plimsoll::guest";

/// Reports on policies in shadow mode: each request may cause some.
pub(super) const SHADOW: &str = "plimsoll::shadow";
