//! What is known of one policy: the version in force, its files as last read, what is wrong with them.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use plimsoll_core::{Member, PolicyState};

use crate::{
    Change,
    load::{Attempt, Order, Outcome, Version},
    retry::Retry,
    scan::{File, Id, Scan, Sources},
    source::{Marks, Refusal, Stamps, Told},
    stand_in::stand_in,
    table::Timing,
};

/// How often files that change while they are read are read again before that is called a failure.
const READINGS: u32 = 50;

/// How long a version may take to answer the call that a newer one failed.
const REPEAT_FOR: Duration = Duration::from_secs(1);

/// One policy.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Entry {
    sources: Sources,
    stamps: Stamps,
    /// The files changed while, or just before, they were read.
    stale: bool,
    /// How often in a row they changed while they were read.
    readings: u32,
    version: Option<Version>,
    /// The version before, as long as the one in force has not answered a call.
    before: Option<Version>,
    /// The number of the version that was loaded last.
    last: u64,
    /// Whether the policy was there at the start and was never loaded: then its faults are those of a policy.
    is_awaited: bool,
    stand_in: Option<Arc<Member>>,
    /// What the sidecar said when it could be read last.
    told: Option<Told>,
    /// What is wrong with the files, not yet told.
    held: Option<Refusal>,
    /// What is wrong with the files, as the roster says.
    reported: Option<Refusal>,
    /// The content that was refused last, and why.
    refused: Option<(Marks, Refusal)>,
    retry: Retry,
    /// The order under way.
    order: Option<u64>,
    is_library: bool,
    /// Whether it was there at the start.
    is_first: bool,
    /// Its files went together with all others of the directory.
    pub(crate) has_vanished: bool,
}

/// What the first calls of a version show.
pub(crate) enum Judgement {
    /// Nothing yet.
    Open,
    /// It answers; what it was made of.
    Good(Marks),
    /// It was taken back.
    Bad {
        /// What it was made of.
        marks: Marks,
        /// What is said of its files from now on.
        why: String,
        /// What happened.
        change: Change,
    },
}

// === impl Entry ===

impl Entry {
    /// An entry whose versions are counted on from this one.
    pub(crate) fn after(last: u64) -> Self {
        Self { last, ..Self::default() }
    }

    /// The number of the version that was loaded last; 0: none was.
    pub(crate) fn last_version(&self) -> u64 {
        self.last
    }

    pub(crate) fn stamps(&self) -> impl Iterator<Item = &File> {
        self.stamps.keys()
    }

    /// What answers: a version, or what stands in for one.
    pub(crate) fn member(&self) -> Option<&Arc<Member>> {
        self.version.as_ref().map(|version| &version.member).or(self.stand_in.as_ref())
    }

    /// Whether a version that was loaded is in force.
    pub(crate) fn is_loaded(&self) -> bool {
        self.version.is_some()
    }

    pub(crate) fn reported(&self) -> Option<&Refusal> {
        self.reported.as_ref()
    }

    /// Whether neither a version nor a refusal came of it so far.
    pub(crate) fn is_unread(&self) -> bool {
        self.version.is_none() && self.held.is_none() && self.reported.is_none() && !self.is_library
    }

    /// The module that its sidecar names.
    pub(crate) fn named_module(&self) -> Option<&File> {
        self.told.as_ref().and_then(|told| told.module.as_ref())
    }

    pub(crate) fn state(&self) -> PolicyState {
        match (&self.version, &self.reported) {
            _ if self.is_library => PolicyState::Library,
            (Some(_), _) if self.has_vanished => PolicyState::Vanished,
            (Some(_), Some(refusal)) if refusal.taken_back => PolicyState::RolledBack,
            (Some(_), Some(_)) => PolicyState::Kept,
            (Some(_), None) => PolicyState::Active,
            (None, Some(_)) => PolicyState::Failed,
            (None, None) => PolicyState::Loading,
        }
    }

    /// When to try again what failed.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        self.retry.next().filter(|_| self.order.is_none() && !self.is_library)
    }

    /// From now on something answers in its place until a version is loaded.
    pub(crate) fn await_version(&mut self, id: &Id, told: Option<Told>) {
        self.is_awaited = true;
        self.told = told.or(self.told.take());
        self.renew_stand_in(id);
    }

    /// Notes that it was there at the start.
    pub(crate) fn set_first(&mut self) {
        self.is_first = true;
    }

    /// Notes what the sidecar says.
    pub(crate) fn set_told(&mut self, told: Option<Told>) {
        self.told = told.or(self.told.take());
    }

    /// Makes it a module that others name, or a policy again; true if that is news.
    pub(crate) fn set_library(&mut self, id: &Id, is_library: bool) -> bool {
        let is_news = self.is_library != is_library;
        self.is_library = is_library;
        if is_news && is_library {
            (self.version, self.held, self.reported, self.order) = (None, None, None, None);
            self.before = None;
            self.retry.settle();
        }
        if is_news {
            // Whatever was read of it is read again before it counts.
            self.sources = Sources::default();
            self.renew_stand_in(id);
        }
        is_news
    }

    /// The order that its files call for now.
    pub(crate) fn order(
        &mut self,
        id: &Id,
        sources: &Sources,
        scan: &Arc<Scan>,
        number: u64,
        timing: &dyn Timing,
    ) -> Option<Order> {
        if !self.is_due(sources, scan, timing) {
            return None;
        }
        let retries = self.retry.is_due(timing.now());
        self.order = Some(number);
        self.sources = sources.clone();
        Some(Order {
            id: id.clone(),
            number,
            version: self.last + 1,
            sources: sources.clone(),
            scan: Arc::clone(scan),
            current: self.version.clone(),
            refused: self.refused.iter().filter(|_| !retries).map(|(marks, _)| marks.clone()).collect(),
            may_restore: self.is_first && self.version.is_none(),
            is_patient: self.version.is_none() || self.retry.next().is_some(),
        })
    }

    /// Whether the files are to be read now.
    fn is_due(&self, sources: &Sources, scan: &Scan, timing: &dyn Timing) -> bool {
        if self.order.is_some() || self.is_library {
            return false;
        }
        let has_moved = |(file, stamp): (&File, &Option<_>)| scan.files.get(file) != stamp.as_ref();
        let is_changed = self.sources != *sources || self.stamps.iter().any(has_moved);
        (is_changed || self.stale || self.retry.is_due(timing.now()))
            && timing.may_read(&mut sources.files().chain(self.stamps.keys()))
    }

    /// Takes up what came of an order; none if that is of no interest any more.
    pub(crate) fn finish(&mut self, outcome: Outcome, timing: &dyn Timing) -> Option<Change> {
        if self.order != Some(outcome.number) {
            return None;
        }
        self.order = None;
        let Outcome { id, stamps, told, took, result, .. } = outcome;
        let may_repeat = stamps.values().flatten().any(|stamp| stamp.may_repeat(SystemTime::now()));
        self.stale = may_repeat || matches!(result, Attempt::Changing);
        self.stamps = stamps;
        self.set_told(told);
        let change = self.take_up(&id, result, took, timing.now());
        self.renew_stand_in(&id);
        change
    }

    fn take_up(&mut self, id: &Id, result: Attempt, took: Duration, now: Instant) -> Option<Change> {
        self.readings = if matches!(result, Attempt::Changing) { self.readings + 1 } else { 0 };
        match result {
            Attempt::Changing if self.readings >= READINGS => {
                self.readings = 0;
                self.refuse_unread();
                None
            }
            Attempt::Changing => None,
            Attempt::InForce => {
                self.held = None;
                self.retry.settle();
                self.reported.take().map(|_| Change::Unchanged { id: id.to_string() })
            }
            Attempt::RefusedBefore(marks) => {
                let before = self.refused.iter().find(|(refused, _)| *refused == marks);
                self.held = before.map(|(_, refusal)| refusal.clone());
                None
            }
            Attempt::Refused(refusal, marks) => {
                if refusal.passing {
                    self.retry.failed(marks.clone(), now);
                } else {
                    self.retry.settle();
                }
                self.refused = marks.map(|marks| (marks, refusal.clone()));
                self.held = Some(refusal);
                None
            }
            Attempt::Loaded(version, before) => {
                // Numbers go on where the files' own versions stand.
                self.before = self.before.take().or(before);
                Some(self.put_in_force(id, version, took))
            }
            Attempt::Restored(version, refusal, marks) => {
                let change = self.put_in_force(id, version, took);
                if refusal.passing {
                    self.retry.failed(marks.clone(), now);
                }
                self.refused = marks.map(|marks| (marks, refusal.clone()));
                self.held = Some(refusal);
                Some(change)
            }
        }
    }

    fn put_in_force(&mut self, id: &Id, version: Version, took: Duration) -> Change {
        let only_settings = self.version.as_ref().is_some_and(|before| before.marks.module == version.marks.module);
        let change = Change::Loaded {
            id: id.to_string(),
            digest: version.marks.module.clone(),
            sidecar: version.marks.sidecar.clone(),
            only_settings,
            version: version.member.version,
            took,
        };
        self.last = version.member.version;
        // One that has not answered yet is no version to go back to, if there is another.
        self.before = self.before.take().or(self.version.take());
        if self.before.is_some() {
            version.member.circuit.begin_probation();
        }
        self.version = Some(version);
        (self.held, self.reported, self.refused) = (None, None, None);
        self.retry.settle();
        self.is_awaited = false;
        change
    }

    /// Whether there is a version to go back to.
    pub(crate) fn is_on_probation(&self) -> bool {
        self.before.is_some()
    }

    /// Ends the probation once the version in force has answered; goes back if it fails from its first calls on,
    /// and the version before answers the same call.
    pub(crate) fn judge(&mut self, id: &Id) -> Judgement {
        let (Some(version), Some(before)) = (&self.version, &self.before) else { return Judgement::Open };
        let circuit = &version.member.circuit;
        if circuit.has_answered() {
            circuit.end_probation();
            let marks = version.marks.clone();
            self.before = None;
            return Judgement::Good(marks);
        }
        let Some(call) = circuit.take_failed() else { return Judgement::Open };
        if call.put_to(&before.member, REPEAT_FOR).is_err() {
            return Judgement::Open;
        }
        let (number, back, marks) = (version.member.version, before.member.version, version.marks.clone());
        let error = format!("it failed to {} from its first calls on ({})", call.verb(), call.fault());
        let refusal = Refusal::taken_back(format!("{error}; the version before answers the same call"));
        circuit.end_probation();
        self.version = self.before.take();
        self.refused = Some((marks.clone(), refusal.clone()));
        self.held = None;
        let why = refusal.text.clone();
        self.reported = Some(refusal);
        let change = Change::TakenBack { id: id.to_string(), version: number, back, error };
        Judgement::Bad { marks, why, change }
    }

    /// Notes that the files cannot be read as one set.
    pub(crate) fn refuse_unread(&mut self) {
        self.held = Some(Refusal::passing("its files change while they are read"));
    }

    /// Tells what is wrong with the files, once it is certain that nobody is still writing them.
    pub(crate) fn report(&mut self, id: &Id, timing: &dyn Timing) -> Option<Change> {
        if self.held.is_none() || !timing.may_report(&mut self.stamps.keys()) {
            return None;
        }
        let refusal = self.held.take()?;
        let is_news = self.reported.as_ref().is_none_or(|reported| reported.text != refusal.text);
        let (error, kept) = (refusal.text.clone(), self.version.is_some());
        self.reported = Some(refusal);
        is_news.then(|| Change::Refused { id: id.to_string(), error, kept })
    }

    /// What stands in follows the sidecar; one that cannot be read leaves the rule to every pod.
    fn renew_stand_in(&mut self, id: &Id) {
        if !self.is_awaited || self.is_library {
            self.stand_in = None;
            return;
        }
        let config = self.told.as_ref().map(|told| told.config.clone()).unwrap_or_default();
        if self.stand_in.as_ref().is_none_or(|member| member.config != config) {
            self.stand_in = Some(Arc::new(stand_in(id, config)));
        }
    }
}
