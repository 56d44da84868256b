//! Rules and laws of decisions, with policies in plain Rust.

mod bind;
mod covered;
mod explain;
mod facts;
mod faults;
mod filter;
mod fixture;
mod laws;
mod model;
mod nodes;
mod nominated;
mod pending;
mod places;
mod preempt;
mod prioritize;
mod remember;
mod shadow;
mod waiting;
mod whole_answer;
mod whole_cluster;
