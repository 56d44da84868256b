//! Whether the sidecar says `mode: off`, and which sidecar said so.

use plimsoll_core::Mode;

use crate::{
    scan::{Scan, Sources},
    source::{SidecarSummary, Stamps},
};

/// Whether the sidecar switches the policy off, and which sidecar said so.
#[derive(Debug, Default)]
pub(super) struct SidecarMode {
    /// The mode when the sidecar was last read.
    is_off: bool,
    /// The sidecar that was read last; the default is none at all.
    pub(super) read: SidecarState,
    /// The sidecar was read after the load under way was ordered, which therefore knows less.
    is_newer_than_job: bool,
}

/// Tells a sidecar from any other: its file, and the problem with the names of the files.
///
/// Of two sidecars the first counts as the file, so the names tell when one of them goes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SidecarState {
    stamps: Stamps,
    problem: Option<String>,
}

// === impl SidecarMode ===

impl SidecarMode {
    /// Whether the sidecar says `mode: off`.
    pub(super) fn is_off(&self) -> bool {
        self.is_off
    }

    /// Notes that a load is ordered: it will read the sidecar at this moment or later.
    pub(super) fn begin_job(&mut self) {
        self.is_newer_than_job = false;
    }

    /// Notes the sidecar that a load has read, unless the sidecar was read again since the load was ordered.
    pub(super) fn apply_load(&mut self, summary: &SidecarSummary) {
        if !self.is_newer_than_job {
            self.is_off = summary.config.mode == Mode::Off;
        }
    }

    pub(super) fn set(&mut self, summary: &SidecarSummary, read: SidecarState) {
        *self = Self { is_off: summary.config.mode == Mode::Off, read, is_newer_than_job: true };
    }
}

// === impl SidecarState ===

impl SidecarState {
    pub(super) fn of(sources: &Sources, scan: &Scan) -> Self {
        let stamps = sources.sidecar.iter().map(|file| (file.clone(), scan.files.get(file).copied())).collect();
        Self { stamps, problem: sources.problem.clone() }
    }
}
