//! The sources of `--facts`: from the file to the gateway, and their state for operators.

mod describe;
mod file;
mod reloads;
mod sources;
mod users;

pub(crate) use self::{describe::describe, file::FactsFile, reloads::Reloads, sources::FactSources, users::NO_FACTS};
