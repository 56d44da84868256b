//! The sources of `--facts`: from the file to the gateway, and their state for operators.

mod describe;
mod file;
mod policies_by_source;
mod reloads;
mod sources;
mod values;

pub(crate) use self::{
    describe::describe, file::FactsFile, policies_by_source::UNDECLARED_SOURCE, reloads::Reloads, sources::FactSources,
    values::values,
};
