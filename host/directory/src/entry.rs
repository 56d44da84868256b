//! The state of one policy: the version in force, its files as last read, and their problems.

mod outcome;
mod probation;
mod sidecar_mode;
mod switch_off;

use std::{sync::Arc, time::Instant};

use plimsoll_core::{Member, PolicyState};

pub(crate) use self::probation::Rollback;
use self::sidecar_mode::SidecarMode;
use crate::{
    load::{LoadJob, ModuleFile, PolicyVersion},
    refusal::FileRefusal,
    retry::Retry,
    scan::{File, PolicyId, Scan, Sources},
    source::{ContentDigests, SidecarSummary, Stamps},
    table::Timing,
};

/// One policy.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is another fact")]
pub(crate) struct PolicyEntry {
    sources: Sources,
    stamps: Stamps,
    /// The files changed while, or just before, they were read.
    stale: bool,
    /// The number of times in a row that the files changed while they were read.
    changing_reads: u32,
    /// The last version that was in force and was not off: it answers again when its sidecar is no longer off.
    version: Option<PolicyVersion>,
    /// The version to go back to, while `version` is on probation: the last one that has answered a call, or the first
    /// one. `None` once `version` has proved itself, and so is the last good version.
    last_good: Option<PolicyVersion>,
    /// The version on probation that a rollback check is in progress for.
    in_check: Option<Arc<Member>>,
    /// The version that the files make, if their sidecar switches it off: nobody asks it, so it is never one to go
    /// back to.
    off: Option<PolicyVersion>,
    /// The number of the version that was loaded last.
    last_version: u64,
    /// Whether the policy was there at the start and was never in force: then its faults are those of a policy.
    is_awaited: bool,
    stand_in: Option<Arc<Member>>,
    /// The sidecar's summary, as last read.
    summary: Option<SidecarSummary>,
    /// The problem of the files, not yet reported.
    pending_refusal: Option<FileRefusal>,
    /// The problem of the files, as the roster shows it.
    reported: Option<FileRefusal>,
    /// Whether the policy was switched off when it was reported last, or since.
    was_off_since_report: bool,
    /// The content that was refused last, and why.
    refused: Option<(ContentDigests, FileRefusal)>,
    retry: Retry,
    /// The number of the job in progress.
    job: Option<u64>,
    is_library: bool,
    /// Whether its files were there at the start, so that a version from before a restart may be its last good one.
    existed_at_start: bool,
    sidecar_mode: SidecarMode,
    vanished: VanishState,
}

/// Whether a policy's files vanished together with all others of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum VanishState {
    #[default]
    No,
    /// They are gone.
    Gone,
    /// There are files again, and nothing was loaded from them yet.
    Back,
}

// === impl PolicyEntry ===

impl PolicyEntry {
    /// An entry whose version numbers continue after this one.
    pub(crate) fn after(last: u64) -> Self {
        Self { last_version: last, ..Self::default() }
    }

    /// The number of the version that was loaded last; 0: none was.
    pub(crate) fn last_version(&self) -> u64 {
        self.last_version
    }

    pub(crate) fn stamps(&self) -> impl Iterator<Item = &File> {
        self.stamps.keys()
    }

    /// The member that answers: a version or a stand-in.
    pub(crate) fn member(&self) -> Option<&Arc<Member>> {
        self.current().map(|version| &version.member).or(self.stand_in.as_ref())
    }

    /// The version in force, if there is one. One that is off counts until something is wrong with its files.
    fn current(&self) -> Option<&PolicyVersion> {
        let off = self.off.as_ref().filter(|_| self.reported.is_none());
        if self.sidecar_mode.is_off() { off } else { self.version.as_ref().or(off) }
    }

    /// Whether a version goes on answering whatever is wrong with the files.
    pub(crate) fn is_in_force(&self) -> bool {
        self.current().is_some()
    }

    /// Whether a version was loaded, and is in force unless the sidecar switches it off.
    pub(crate) fn is_loaded(&self) -> bool {
        self.version.is_some() || self.off.is_some()
    }

    /// Whether its files vanished together with all others, and no version was loaded since.
    pub(crate) fn has_vanished(&self) -> bool {
        self.vanished != VanishState::No
    }

    /// Whether the version in force was loaded from the files that are there.
    pub(crate) fn is_left(&self, sources: &Sources, scan: &Scan) -> bool {
        self.is_loaded() && !self.has_vanished() && self.is_as_read(sources, scan)
    }

    /// Whether the files are those that were read last, and nothing is wrong with them.
    fn is_as_read(&self, sources: &Sources, scan: &Scan) -> bool {
        !self.has_moved(sources, scan) && self.pending_refusal.is_none() && self.reported.is_none()
    }

    /// Whether a load is pending or in progress.
    pub(crate) fn is_being_tried(&self) -> bool {
        self.job.is_some() || self.is_unread()
    }

    pub(crate) fn reported(&self) -> Option<&FileRefusal> {
        self.reported.as_ref()
    }

    /// Whether it was neither loaded nor refused so far.
    pub(crate) fn is_unread(&self) -> bool {
        !self.is_loaded() && self.pending_refusal.is_none() && self.reported.is_none() && !self.is_library
    }

    /// The module that its sidecar names.
    pub(crate) fn named_module(&self) -> Option<&File> {
        self.summary.as_ref().and_then(|summary| summary.module.as_ref())
    }

    pub(crate) fn state(&self) -> PolicyState {
        match (self.current(), &self.reported) {
            _ if self.is_library => PolicyState::Library,
            _ if self.is_switched_off() => PolicyState::Off,
            (Some(_), _) if self.vanished == VanishState::Gone => PolicyState::Vanished,
            (Some(_), Some(refusal)) if refusal.rolled_back => PolicyState::RolledBack,
            (Some(_), Some(_)) => PolicyState::Kept,
            (Some(_), None) if self.vanished == VanishState::Back => PolicyState::Vanished,
            (Some(version), None) if version.is_off() => PolicyState::Off,
            (Some(_), None) => PolicyState::Active,
            (None, Some(_)) => PolicyState::Failed,
            (None, None) => PolicyState::Loading,
        }
    }

    /// The time to try a failed load again.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        self.retry.next().filter(|_| self.job.is_none() && !self.is_library)
    }

    /// Records that its files vanished together with all others; true if that is new.
    pub(crate) fn set_vanished(&mut self) -> bool {
        std::mem::replace(&mut self.vanished, VanishState::Gone) != VanishState::Gone
    }

    /// Records that there are files; true if they had vanished.
    pub(crate) fn set_present(&mut self, sources: &Sources, scan: &Scan) -> bool {
        if self.vanished != VanishState::Gone {
            return false;
        }
        self.vanished = if self.is_as_read(sources, scan) { VanishState::No } else { VanishState::Back };
        true
    }

    /// Sets the sidecar's summary.
    fn set_summary(&mut self, summary: Option<SidecarSummary>) {
        self.summary = summary.or(self.summary.take());
    }

    /// Makes it a library module, or a policy again; true if that is new.
    pub(crate) fn set_library(&mut self, id: &PolicyId, is_library: bool) -> bool {
        let is_news = self.is_library != is_library;
        self.is_library = is_library;
        if is_news && is_library {
            (self.version, self.last_good, self.off) = (None, None, None);
            (self.pending_refusal, self.reported, self.job) = (None, None, None);
            self.retry.settle();
        }
        if is_news {
            // The files are read again before they count.
            self.sources = Sources::default();
            self.renew_stand_in(id);
        }
        is_news
    }

    /// The load job that its files need now, if any.
    pub(crate) fn job(
        &mut self,
        id: &PolicyId,
        sources: &Sources,
        scan: &Arc<Scan>,
        number: u64,
        timing: &dyn Timing,
    ) -> Option<LoadJob> {
        if !self.is_due(sources, scan, timing) {
            return None;
        }
        let retries = self.retry.is_due(timing.now());
        self.job = Some(number);
        self.sidecar_mode.begin_job();
        self.sources = sources.clone();
        Some(LoadJob {
            id: id.clone(),
            number,
            version: self.last_version + 1,
            sources: sources.clone(),
            scan: Arc::clone(scan),
            current: self.off.as_ref().or(self.version.as_ref()).cloned(),
            refused: self.refused.iter().filter(|_| !retries).map(|(digests, _)| digests.clone()).collect(),
            may_restore: self.existed_at_start && !self.is_loaded(),
            is_slow: !self.is_loaded() || self.retry.next().is_some(),
            is_retry: self.retry.next().is_some(),
            module: self.module_file(sources, scan),
        })
    }

    /// The file of its module, as far as the scan knows.
    fn module_file(&self, sources: &Sources, scan: &Scan) -> Option<ModuleFile> {
        let file = self.named_module().or(sources.module.as_ref())?;
        Some(ModuleFile { file: file.clone(), stamp: *scan.files.get(file)? })
    }

    /// Whether the files are to be read now.
    fn is_due(&self, sources: &Sources, scan: &Scan, timing: &dyn Timing) -> bool {
        if self.job.is_some() || self.is_library {
            return false;
        }
        (self.has_moved(sources, scan) || self.stale || self.retry.is_due(timing.now()))
            && timing.may_read(&mut sources.files().chain(self.stamps.keys()))
    }

    /// Whether the files differ from those that were read last.
    fn has_moved(&self, sources: &Sources, scan: &Scan) -> bool {
        let is_other = |(file, stamp): (&File, &Option<_>)| scan.files.get(file) != stamp.as_ref();
        self.sources != *sources || self.stamps.iter().any(is_other)
    }
}
