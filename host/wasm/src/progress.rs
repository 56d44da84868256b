//! Reports that a large module is being compiled: this takes seconds, in which nothing else shows that something happens.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use tracing::info;

/// A report about one compile.
#[derive(Debug, Clone, Copy)]
pub struct CompileReport<'a> {
    /// The name that the module was loaded by.
    pub name: &'a str,
    /// Bytes of the module.
    pub bytes: u64,
    /// The time that it took; none as it begins. A module that was refused has a time, too.
    pub took: Option<Duration>,
}

/// Takes reports.
pub type CompileReporter = fn(CompileReport<'_>);

/// Reports the beginning of one compile, and its end when dropped.
pub(crate) struct Progress<'a> {
    reporter: CompileReporter,
    name: &'a str,
    bytes: u64,
    begun: Cell<Option<Instant>>,
}

/// Writes reports to the log.
pub(crate) fn log(CompileReport { name, bytes, took }: CompileReport<'_>) {
    match took {
        None => info!(policy = name, bytes, "compiling a large module"),
        Some(took) => {
            info!(policy = name, bytes, took = format_args!("{:.1} s", took.as_secs_f64()), "compiled a large module");
        }
    }
}

// === impl Progress ===

impl<'a> Progress<'a> {
    pub(crate) fn new(reporter: CompileReporter, name: &'a str, module: &[u8]) -> Self {
        Self { reporter, name, bytes: module.len() as u64, begun: Cell::new(None) }
    }

    /// The compile begins, after it has waited for others.
    pub(crate) fn begin(&self) {
        self.begun.set(Some(Instant::now()));
        self.report(None);
    }

    fn report(&self, took: Option<Duration>) {
        (self.reporter)(CompileReport { name: self.name, bytes: self.bytes, took });
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(begun) = self.begun.get() {
            self.report(Some(begun.elapsed()));
        }
    }
}
