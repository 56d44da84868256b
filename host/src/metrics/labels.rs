//! Labels that several metrics have.

/// One label with one of a few values.
pub(super) type OneLabel = [(&'static str, &'static str); 1];
