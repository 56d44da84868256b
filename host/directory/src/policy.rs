//! One policy of the directory: applies what is seen of its files, and what loads make of them, to its two states.
//!
//! All reports (the roster, `/api/policies`, `/readyz`, the log) are derived from these two states.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use plimsoll_core::{Fault, FaultKind, Member, Mode, Policy, PolicyConfig, PolicyState, Verb, Verbs};
use plimsoll_system::FileStamp;

use crate::{
    ChangeKind, DirectoryConfig, PolicyChange,
    content::{ContentDigests, FileRefusal, SidecarFile, Stamps, lost_sidecar},
    last_good::LastGood,
    load::{LoadJob, LoadOutcome, LoadResult, Version},
    scan::{File, PolicyId, Scan, Settling, Sources},
    states::{Event, Files, FilesEvent, InForce},
};

/// One policy.
pub(crate) struct PolicyEntry {
    in_force: InForce<Version>,
    files: Files,
    /// The files as they were read last.
    sources: Sources,
    stamps: Stamps,
    /// Whether a write right after the stamps were taken may have left the same stamps.
    is_doubtful: bool,
    /// The sidecar as it is now, and its file when it was read; `None`: it is to be read.
    sidecar: Option<(SidecarKey, Result<Arc<SidecarFile>, FileRefusal>)>,
    /// The last sidecar that was not refused.
    last_sidecar: Option<Arc<SidecarFile>>,
    /// The problem of the files, as it was reported.
    problem: Option<FileRefusal>,
    /// The content that was refused for good or rolled back last, and why.
    refused: Option<(ContentDigests, FileRefusal)>,
    /// The number of the version that was loaded last.
    last_version: u64,
    /// Whether its module is one that sidecars of others name, and it has no sidecar: then it is no policy.
    is_library: bool,
}

/// Tells a sidecar from any other: its file, and the problem with the names of the files.
type SidecarKey = (Option<(File, FileStamp)>, Option<String>);

/// What a pass over the directory knows.
pub(crate) struct Pass<'a> {
    pub(crate) config: &'a Arc<DirectoryConfig>,
    pub(crate) settling: &'a Settling,
    pub(crate) now: Instant,
}

// === impl PolicyEntry ===

impl PolicyEntry {
    pub(crate) fn new(in_force: InForce<Version>) -> Self {
        Self {
            in_force,
            files: Files::Unread,
            sources: Sources::default(),
            stamps: Stamps::default(),
            is_doubtful: false,
            sidecar: None,
            last_sidecar: None,
            problem: None,
            refused: None,
            last_version: 0,
            is_library: false,
        }
    }

    pub(crate) fn in_force(&self) -> &InForce<Version> {
        &self.in_force
    }

    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    pub(crate) fn problem(&self) -> Option<&FileRefusal> {
        self.problem.as_ref()
    }

    /// The files that were read last.
    pub(crate) fn files_read(&self) -> impl Iterator<Item = &File> {
        self.sources.files().chain(self.stamps.keys())
    }

    /// The module that its sidecar names.
    pub(crate) fn named_module(&self) -> Option<&File> {
        self.last_sidecar.as_ref().and_then(|sidecar| sidecar.named_module.as_ref())
    }

    /// Whether the files are yet to be loaded or refused.
    pub(crate) fn is_being_tried(&self) -> bool {
        matches!(self.files, Files::Unread | Files::Loading { .. }) && !self.is_library
    }

    /// Whether the files that are there are those that were read last, and nothing is wrong with them.
    pub(crate) fn is_as_read(&self, sources: &Sources, scan: &Scan) -> bool {
        self.files == Files::AsRead && !self.has_moved(sources, scan)
    }

    /// What a roster shows of it.
    pub(crate) fn shown(&self) -> (PolicyState, Option<*const Member>, Option<PolicyConfig>) {
        let version = self.in_force.version().map(|version| Arc::as_ptr(&version.member));
        let stand_in = self.last_sidecar.as_ref().filter(|_| version.is_none());
        (self.state(), version, stand_in.map(|sidecar| sidecar.sidecar.config.clone()))
    }

    /// The state that is reported.
    pub(crate) fn state(&self) -> PolicyState {
        match (&self.in_force, &self.problem) {
            _ if self.is_library => PolicyState::Library,
            (InForce::Off { .. }, _) => PolicyState::Off,
            (InForce::Vanished(_), _) => PolicyState::Vanished,
            (InForce::Good(_) | InForce::OnTrial { .. }, None) => PolicyState::Active,
            (InForce::Good(_) | InForce::OnTrial { .. }, Some(problem)) if problem.is_rollback => {
                PolicyState::RolledBack
            }
            (InForce::Good(_) | InForce::OnTrial { .. }, Some(_)) => PolicyState::Kept,
            (InForce::Absent | InForce::Awaited, Some(_)) => PolicyState::Failed,
            (InForce::Absent | InForce::Awaited, None) => PolicyState::Loading,
        }
    }

    /// The member that answers: a version, or a stand-in that fails or is off. `stands_in`: whether awaited policies fail.
    pub(crate) fn member(&self, id: &PolicyId, stands_in: bool) -> Option<Arc<Member>> {
        if self.is_library {
            return None;
        }
        let config = || self.last_sidecar.as_ref().map(|sidecar| sidecar.sidecar.config.clone()).unwrap_or_default();
        let config = match &self.in_force {
            InForce::Awaited if stands_in => config(),
            InForce::Off { .. } => PolicyConfig { mode: Mode::Off, ..config() },
            in_force => return in_force.version().map(|version| Arc::clone(&version.member)),
        };
        let member = Member::new(Arc::clone(&id.group), Arc::clone(&id.name), config, Arc::new(NotLoaded));
        Some(Arc::new(Member { version: 0, ..member }))
    }

    /// Reads the sidecar if it is another one: whether it says `mode: off` counts before anything is known of the module.
    /// A sidecar that is refused switches nothing on or off.
    pub(crate) fn follow_sidecar(&mut self, id: &PolicyId, sources: &Sources, pass: &Pass<'_>) -> Option<PolicyChange> {
        let stamped = |file: &File| Some((file.clone(), *pass.settling.scan().files.get(file)?));
        let key = (sources.sidecar.as_ref().and_then(stamped), sources.problem.clone());
        let is_known = self.sidecar.as_ref().is_some_and(|(known, _)| *known == key);
        // A sidecar that is gone may be about to come back.
        let files = sources.sidecar.iter().chain(&self.sources.sidecar);
        if is_known || !pass.settling.may_read(files, pass.now) {
            return None;
        }
        let read = match SidecarFile::read(pass.config, sources) {
            Ok(_) if self.has_lost_sidecar(sources) => Err(lost_sidecar(pass.config, sources)),
            read => read.map(Arc::new),
        };
        let read = read.inspect(|sidecar| self.last_sidecar = Some(Arc::clone(sidecar)));
        let was_off = matches!(self.in_force, InForce::Off { .. });
        let is_off = read.as_ref().map_or(was_off, |sidecar| sidecar.is_off());
        let is_ok = read.is_ok();
        self.sidecar = Some((key, read));
        let mut had_problem = false;
        if is_off && is_ok {
            (self.sources, self.stamps) = (sources.clone(), Stamps::default());
            had_problem = self.problem.take().is_some();
            self.files = Files::AsRead;
        } else {
            self.apply_to_files(FilesEvent::Moved);
        }
        if is_off == was_off {
            return had_problem.then(|| PolicyChange::new(id, ChangeKind::SwitchedOff));
        }
        self.apply(if is_off { Event::SwitchedOff } else { Event::SwitchedOn });
        let kind = if is_off { ChangeKind::SwitchedOff } else { ChangeKind::Unchanged };
        (is_off || self.in_force.version().is_some()).then(|| PolicyChange::new(id, kind))
    }

    /// The load job that its files need now, if any.
    pub(crate) fn job(&mut self, id: &PolicyId, sources: &Sources, number: u64, pass: &Pass<'_>) -> Option<LoadJob> {
        let (_, sidecar) = self.sidecar.as_ref()?;
        if self.is_library || matches!(self.files, Files::Loading { .. }) {
            return None;
        }
        if sidecar.as_ref().is_ok_and(|sidecar| sidecar.is_off()) {
            return None;
        }
        let sidecar = sidecar.clone();
        let scan = pass.settling.scan();
        if self.is_doubtful || self.has_moved(sources, scan) {
            self.apply_to_files(FilesEvent::Moved);
        }
        let is_retry = self.next_retry().is_some_and(|retry| retry <= pass.now);
        let files = sources.files().chain(self.stamps.keys());
        if !(is_retry || self.files == Files::Unread) || !pass.settling.may_read(files, pass.now) {
            return None;
        }
        (self.sources, self.is_doubtful) = (sources.clone(), false);
        self.apply_to_files(FilesEvent::Ordered(number));
        if sidecar.as_ref().is_err_and(|refusal| refusal.is_transient) {
            self.sidecar = None;
        }
        Some(LoadJob {
            id: id.clone(),
            number,
            version: self.last_version + 1,
            sources: sources.clone(),
            scan: Arc::clone(scan),
            sidecar,
            current: self.in_force.version().cloned(),
            refused: self.refused.clone(),
            may_restore: matches!(self.in_force, InForce::Awaited),
        })
    }

    /// Applies the outcome of a job, unless it is obsolete.
    pub(crate) fn finish(&mut self, outcome: LoadOutcome, now: Instant) -> Vec<PolicyChange> {
        let LoadOutcome { id, number, stamps, took, result, restored } = outcome;
        if !matches!(self.files, Files::Loading { job, .. } if job == number) {
            return Vec::new();
        }
        let mut changes = Vec::new();
        self.stamps = stamps;
        changes.extend(restored.map(|good| self.put_in_force(&id, Event::Restored, good, took)));
        match result {
            LoadResult::Changing => self.apply_to_files(FilesEvent::Changing),
            LoadResult::Refused(refusal, digests) => {
                let is_for_good = |_: &ContentDigests| !refusal.is_transient;
                self.refused = digests.filter(is_for_good).map(|digests| (digests, refusal.clone()));
                self.apply_to_files(FilesEvent::Refused(refusal, now));
            }
            LoadResult::Same => {
                self.apply_to_files(FilesEvent::Read);
                self.apply(Event::FilesBack);
                changes.extend(self.problem.take().map(|_| PolicyChange::new(&id, ChangeKind::Unchanged)));
            }
            LoadResult::Loaded(version) => {
                (self.problem, self.refused) = (None, None);
                self.apply_to_files(FilesEvent::Read);
                changes.push(self.put_in_force(&id, Event::Loaded, version, took));
            }
        }
        self.is_doubtful = self.stamps.values().flatten().any(|stamp| stamp.may_repeat(SystemTime::now()));
        if self.is_doubtful {
            self.sidecar = None;
        }
        changes
    }

    fn put_in_force(
        &mut self,
        id: &PolicyId,
        event: fn(Version) -> Event<Version>,
        version: Version,
        took: Duration,
    ) -> PolicyChange {
        let former = self.in_force.version().map(|former| &former.digests.module);
        let kind = ChangeKind::Loaded {
            mode: version.member.config.mode,
            digest: version.digests.module.clone(),
            sidecar: version.digests.sidecar.clone(),
            only_settings: former == Some(&version.digests.module),
            version: version.member.version,
            took,
        };
        self.last_version = version.member.version;
        self.apply(event(version));
        PolicyChange::new(id, kind)
    }

    /// Reports the problem of the files, once nobody can still be writing them.
    pub(crate) fn report(&mut self, id: &PolicyId, pass: &Pass<'_>) -> Option<PolicyChange> {
        let Files::Refused { refusal, is_final: false, .. } = &self.files else { return None };
        if !pass.settling.is_final(self.stamps.keys(), pass.now) {
            return None;
        }
        let refusal = refusal.clone();
        self.apply_to_files(FilesEvent::Final);
        let (error, kept) = (refusal.text.clone(), self.in_force.version().is_some());
        let is_other = self.problem.replace(refusal).is_none_or(|known| known.text != error);
        is_other.then(|| PolicyChange::new(id, ChangeKind::Refused { error, kept }))
    }

    /// Ends the trial of a version that has answered, or of one whose first calls have all failed.
    pub(crate) fn judge(&mut self, id: &PolicyId, last_good: Option<&LastGood>) -> Option<PolicyChange> {
        let InForce::OnTrial { new, good } = &self.in_force else { return None };
        if has_proved_itself(&new.member, &good.member) {
            self.apply(Event::Proved);
            return None;
        }
        if new.member.config.mode == Mode::Enforce && good.member.config.mode != Mode::Enforce {
            // The rule would be off. `onError` says what its faults mean.
            return None;
        }
        let (verb, fault) = new.member.circuit.failed_from_start()?;
        let error = format!("its first calls of {verb} all failed ({fault})");
        let kind = ChangeKind::RolledBack {
            version: new.member.version,
            back: good.member.version,
            digest: good.digests.module.clone(),
            error: error.clone(),
        };
        let refusal =
            FileRefusal { is_rollback: true, ..FileRefusal::new(error + "; the last good version is in force") };
        last_good.inspect(|last_good| last_good.reject(id, &new.digests, &refusal.text));
        self.refused = Some((new.digests.clone(), refusal.clone()));
        self.problem = Some(refusal);
        self.apply(Event::Failed);
        // A job in progress compares its files with the version that is gone.
        self.files = Files::Unread;
        Some(PolicyChange::new(id, kind))
    }

    /// Saves the version in force if it is the last good one and is not saved.
    pub(crate) fn save(&mut self, id: &PolicyId, last_good: Option<&LastGood>) {
        if let (InForce::Good(version), Some(last_good)) = (&mut self.in_force, last_good)
            && let Some(content) = version.unsaved.take()
        {
            last_good.keep(id, &content);
        }
    }

    /// Makes it a library, or a policy again. `None` if it is so already, else whether a version was in force.
    pub(crate) fn set_library(&mut self, is_library: bool) -> Option<bool> {
        if self.is_library == is_library {
            return None;
        }
        let was_in_force = self.in_force.version().is_some();
        self.is_library = is_library;
        if is_library {
            (self.in_force, self.problem) = (InForce::Absent, None);
            (self.sidecar, self.last_sidecar) = (None, None);
        }
        self.files = Files::Unread;
        Some(was_in_force)
    }

    /// The time to try refused files again.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        match self.files {
            Files::Refused { retry, .. } if !self.is_library => retry,
            _ => None,
        }
    }

    pub(crate) fn apply(&mut self, event: Event<Version>) {
        self.in_force = std::mem::replace(&mut self.in_force, InForce::Absent).next(event);
    }

    fn apply_to_files(&mut self, event: FilesEvent) {
        self.files = std::mem::replace(&mut self.files, Files::Unread).next(event);
    }

    /// Whether the version in force, or what stands in its place, has a sidecar that is not there any more.
    fn has_lost_sidecar(&self, sources: &Sources) -> bool {
        let had_one = match self.in_force.version() {
            Some(version) => version.digests.sidecar.is_some(),
            None => self.last_sidecar.as_ref().is_some_and(|sidecar| sidecar.text.is_some()),
        };
        had_one && sources.sidecar.is_none()
    }

    fn has_moved(&self, sources: &Sources, scan: &Scan) -> bool {
        self.sources != *sources || self.is_outdated(scan)
    }

    /// Whether the files that were read last are others in this scan.
    pub(crate) fn is_outdated(&self, scan: &Scan) -> bool {
        self.stamps.iter().any(|(file, stamp)| scan.files.get(file) != stamp.as_ref())
    }
}

/// Whether a version has answered each verb that it has failed so far, and each that the last good one has answered: a
/// score that works says nothing about the filter. There may be no preemption for weeks, so that verb is left out.
fn has_proved_itself(new: &Member, good: &Member) -> bool {
    let (answered, exported) = (new.circuit.answered(), new.policy.verbs());
    let mut in_use = good.circuit.answered().iter().filter(|verb| *verb != Verb::Preempt && exported.has(*verb));
    !answered.is_empty() && new.circuit.only_failed().is_empty() && in_use.all(|verb| answered.has(verb))
}

/// Stands in for a policy without a version: answers every verb with a fault, and `onError` decides about its effect.
///
/// The module's verbs are unknown until it is compiled, so it has all verbs that a scheduler calls.
struct NotLoaded;

impl Policy for NotLoaded {
    fn verbs(&self) -> Verbs {
        Verb::ALL.into_iter().filter(|verb| *verb != Verb::Validate).collect()
    }

    fn lacks(&self, _: Verb) -> Fault {
        Fault::new(FaultKind::NotLoaded, "no version of it is in force; /api/policies says why")
    }
}
