//! `mode: off`: the sidecar is read by itself, so that it counts whatever becomes of the module.

use std::sync::Arc;

use plimsoll_core::{Mode, PolicyConfig};

use super::{PolicyEntry, sidecar_mode::SidecarState};
use crate::{
    PolicyChange,
    refusal::FileRefusal,
    scan::{PolicyId, Scan, Sources},
    source::SidecarSummary,
    stand_in::stand_in,
    table::Timing,
};

// === impl PolicyEntry ===

impl PolicyEntry {
    /// Notes that it was there at the start, and its sidecar's text, if that could be read.
    ///
    /// With `stand_in`, something answers in its place until a version is loaded.
    pub(crate) fn begin(
        &mut self,
        id: &PolicyId,
        sources: &Sources,
        scan: &Scan,
        summary: Option<SidecarSummary>,
        stand_in: bool,
    ) {
        self.existed_at_start = true;
        self.is_awaited = stand_in;
        if let Some(summary) = &summary {
            self.sidecar_mode.set(summary, SidecarState::of(sources, scan));
        }
        self.set_summary(summary);
        self.renew_stand_in(id);
    }

    /// Reads the sidecar by itself if it is another one: switching a policy off must not wait for its module.
    ///
    /// True if something else answers from now on. A sidecar that is refused changes nothing; one that could not be
    /// read for a transient reason is read again at the next scan.
    pub(crate) fn follow_sidecar_mode(
        &mut self,
        id: &PolicyId,
        sources: &Sources,
        scan: &Scan,
        timing: &dyn Timing,
        read: impl FnOnce() -> Result<SidecarSummary, FileRefusal>,
    ) -> bool {
        let now = SidecarState::of(sources, scan);
        if self.is_library || self.sidecar_mode.read == now || !timing.may_read(&mut sources.sidecar.iter()) {
            return false;
        }
        let before = self.member().cloned();
        match read() {
            Ok(summary) => self.sidecar_mode.set(&summary, now),
            Err(refusal) if refusal.transient => return false,
            Err(_) => {
                self.sidecar_mode.read = now;
                return false;
            }
        }
        self.renew_stand_in(id);
        before.as_ref().map(Arc::as_ptr) != self.member().map(Arc::as_ptr)
    }

    /// Tells that it is switched off, where a load does not tell it at once.
    pub(crate) fn switched_off(&self, id: &PolicyId) -> Option<PolicyChange> {
        let waits =
            self.job.is_some() || self.pending_refusal.is_some() || self.reported.is_some() || self.has_vanished();
        (waits && self.is_switched_off()).then(|| PolicyChange::SwitchedOff { id: id.to_string() })
    }

    /// Whether the sidecar switches off a policy that is not loaded, or was loaded from other files.
    pub(crate) fn is_switched_off(&self) -> bool {
        self.sidecar_mode.is_off() && !self.is_in_force()
    }

    /// The stand-in follows the sidecar. If the sidecar cannot be read, the stand-in matches every pod.
    pub(super) fn renew_stand_in(&mut self, id: &PolicyId) {
        let is_off = self.is_switched_off();
        self.was_off_since_report |= is_off;
        if self.is_library || !(self.is_awaited || is_off) {
            self.stand_in = None;
            return;
        }
        let summary = self.summary.as_ref().map(|summary| summary.config.clone()).unwrap_or_default();
        let config = if is_off { PolicyConfig { mode: Mode::Off, ..summary } } else { summary };
        if self.stand_in.as_ref().is_none_or(|member| member.config != config) {
            self.stand_in = Some(Arc::new(stand_in(id, config)));
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_system::{FileIdentity, FileStamp};

    use super::*;
    use crate::{
        load::{LoadOutcome, LoadResult, LoadTime},
        scan::File,
        source::Stamps,
        table::Immediately,
    };

    fn summary(mode: Mode) -> SidecarSummary {
        SidecarSummary { config: PolicyConfig { mode, ..PolicyConfig::default() }, module: None }
    }

    /// A policy `x` with one sidecar of this length.
    fn files(length: u64) -> (PolicyId, Sources, Arc<Scan>) {
        let sidecar = File { group: "".into(), name: "x.yaml".into() };
        let stamp = FileStamp::File { length, modified: None, identity: FileIdentity::default() };
        let scan = Scan { files: [(sidecar.clone(), stamp)].into(), ..Scan::default() };
        let sources = Sources { sidecar: Some(sidecar), ..Sources::default() };
        (PolicyId { group: "".into(), name: "x".into() }, sources, Arc::new(scan))
    }

    #[test]
    fn a_read_that_may_succeed_later_is_repeated_and_a_refused_sidecar_is_not() {
        let (id, sources, scan) = files(1);
        let mut entry = PolicyEntry::default();
        let mut follow = |read: Result<SidecarSummary, FileRefusal>| {
            let mut was_read = false;
            let is_news = entry.follow_sidecar_mode(&id, &sources, &scan, &Immediately, || {
                was_read = true;
                read
            });
            (was_read, is_news)
        };
        assert_eq!(follow(Err(FileRefusal::transient("too many open files"))), (true, false));
        assert_eq!(follow(Ok(summary(Mode::Off))), (true, true));
        assert_eq!(follow(Ok(summary(Mode::Enforce))), (false, false), "the same sidecar is not read again");
        let (_, sources, scan) = files(2);
        let refused = |entry: &mut PolicyEntry, is_read: &mut bool| {
            entry.follow_sidecar_mode(&id, &sources, &scan, &Immediately, || {
                *is_read = true;
                Err(FileRefusal::new("expected one of"))
            })
        };
        let (mut first, mut second) = (false, false);
        assert!(!refused(&mut entry, &mut first) && !refused(&mut entry, &mut second));
        assert_eq!((first, second, entry.is_switched_off()), (true, false, true));
    }

    #[test]
    fn what_a_load_reads_counts_unless_the_sidecar_was_read_again_meanwhile() {
        for (is_read_again, is_off) in [(false, true), (true, false)] {
            let (id, sources, scan) = files(1);
            let mut entry = PolicyEntry::default();
            let failed = || Err(FileRefusal::transient("input/output error"));
            assert!(!entry.follow_sidecar_mode(&id, &sources, &scan, &Immediately, failed));
            let job = entry.job(&id, &sources, &scan, 7, &Immediately).unwrap();
            if is_read_again {
                let (_, sources, scan) = files(2);
                assert!(!entry.follow_sidecar_mode(&id, &sources, &scan, &Immediately, || Ok(summary(Mode::Shadow))));
            }
            let outcome = LoadOutcome {
                id: id.clone(),
                number: job.number,
                stamps: Stamps::default(),
                summary: Some(summary(Mode::Off)),
                time: LoadTime::default(),
                result: LoadResult::Refused(FileRefusal::new("no module"), None),
                staged: None,
            };
            entry.finish(outcome, &Immediately);
            assert_eq!(entry.is_switched_off(), is_off, "read again: {is_read_again}");
        }
    }
}
