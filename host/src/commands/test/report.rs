//! The report of `plimsoll test`, which is written as text, as JSON, or as JUnit's XML.

mod json;
mod junit;
mod text;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use plimsoll_cases::{CaseError, Explained};
use plimsoll_core::{FaultKind, Verb};
use plimsoll_directory::PolicyFiles;

pub(super) use self::text::MAX_SHOWN;

/// All policies that were tested, and the files that were not.
pub(super) struct TestReport {
    pub(super) policies: Vec<PolicyReport>,
    pub(super) skipped: Vec<Skipped>,
}

/// A policy without cases, cases without a policy, or a file that only looks like a case.
#[derive(Debug, Clone)]
pub(super) struct Skipped {
    pub(super) file: PathBuf,
    pub(super) why: String,
}

/// The report on one policy.
pub(super) struct PolicyReport {
    file: PathBuf,
    module: Option<PathBuf>,
    sidecar: Option<PathBuf>,
    /// Why it is refused.
    refusal: Option<String>,
    cases: Vec<CaseReport>,
}

/// The report on one case.
pub(super) struct CaseReport {
    pub(super) file: PathBuf,
    pub(super) description: String,
    pub(super) outcome: CaseOutcome,
    pub(super) took: Duration,
}

pub(super) enum CaseOutcome {
    Passed,
    Differs(Vec<Explained>),
    /// The policy failed.
    Fault {
        verb: Verb,
        kind: FaultKind,
        detail: String,
    },
    /// It is no case, or was not run.
    Error {
        line: Option<u64>,
        error: String,
    },
}

// === impl TestReport ===

impl TestReport {
    /// Whether nothing was tested.
    pub(super) fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    pub(super) fn is_passed(&self, strict: bool) -> bool {
        (!strict || self.skipped.is_empty()) && self.policies.iter().all(PolicyReport::is_passed)
    }

    fn cases(&self) -> impl Iterator<Item = &CaseReport> {
        self.policies.iter().flat_map(|policy| &policy.cases)
    }
}

// === impl PolicyReport ===

impl PolicyReport {
    /// The report on a policy that has the name of this file.
    pub(super) fn new(file: &Path, files: Option<&PolicyFiles>, cases: Vec<CaseReport>) -> Self {
        let (module, sidecar) = files.map(|files| (files.module.clone(), files.sidecar.clone())).unzip();
        Self { file: file.to_owned(), module, sidecar: sidecar.flatten(), refusal: None, cases }
    }

    pub(super) fn refused(file: &Path, files: Option<&PolicyFiles>, why: String) -> Self {
        Self { refusal: Some(why), ..Self::new(file, files, vec![]) }
    }

    fn is_passed(&self) -> bool {
        self.refusal.is_none() && self.cases.iter().all(|case| case.outcome.is_passed())
    }
}

// === impl CaseOutcome ===

impl CaseOutcome {
    /// The outcome of a case that is invalid, or whose policy failed.
    pub(super) fn of_error(error: CaseError) -> Self {
        match error {
            CaseError::Fault { verb, fault, .. } => Self::Fault { verb, kind: fault.kind, detail: fault.detail },
            CaseError::Unusable { line, error, .. } => Self::Error { line, error },
            other => Self::Error { line: None, error: other.to_string() },
        }
    }

    pub(super) fn is_timeout(&self) -> bool {
        matches!(self, Self::Fault { kind: FaultKind::Timeout, .. })
    }

    fn is_passed(&self) -> bool {
        matches!(self, Self::Passed)
    }
}
