//! The rules of the house, checked over its own sources.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

pub mod imports;
