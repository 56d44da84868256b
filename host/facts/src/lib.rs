//! Facts from outside, fetched from the sources that the operator declares (`serve --facts FILE`).
//!
//! ```text
//!  facts file ──> FactsConfig ──> one task for each source: fetch ──> parse ──> SourceTable ──> publish (Gateway::set_facts)
//!                                   │                                             │
//!                                   └── Prometheus, HTTP, ConfigMap, file         └── SourceStatus: metrics, /api/facts
//! ```
//!
//! Nothing here runs on the path of a request. The last good values of a source stay until they are older than its
//! `maxAge`; then it has none. Time and size of an answer and the number of facts are bounded.

mod config;
mod fetch;
mod parse;
mod sources;

pub use config::FactsConfig;
pub use fetch::{ConfigMapRead, ReadConfigMap};
pub use sources::{FactWatch, LOG_TARGET, SourceStatus};
