//! The rules of the house, checked over its own sources.

pub mod imports;
