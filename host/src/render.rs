//! Renders answers and explanations: as JSON for programs, on the command line and the admin listener alike, and as text
//! for people.

pub(crate) mod answer;
pub(crate) mod explanation;
pub(crate) mod pending;
