//! The sources of `--facts`: from the file to the gateway, and their state for operators.

mod describe;
mod file;
mod follow;
mod policies_by_source;
mod reloads;
mod values;

pub(crate) use self::{
    describe::describe, file::FactsFile, follow::FactsFileFollower, policies_by_source::UNDECLARED_SOURCE,
    reloads::Reloads, values::values,
};
