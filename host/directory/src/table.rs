//! What is known of each policy: the version in force, the files as last read, what is wrong with them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::{Instant, SystemTime},
};

use plimsoll_core::{Failure, Group, Loader, Member, Roster};

use crate::{
    Change, DirectoryConfig, DirectoryError, Update,
    config::Bounds,
    load::build,
    scan::{File, Id, Scan, Sources},
    source::{Content, Reading, Refusal, Stamps},
};

/// Every policy of the directory.
pub(crate) struct Table {
    root: PathBuf,
    bounds: Bounds,
    loader: Arc<dyn Loader>,
    groups: BTreeSet<Arc<str>>,
    entries: BTreeMap<Id, Entry>,
    /// What is wrong with directories.
    problems: BTreeMap<Id, String>,
    /// The last version of each policy that is gone, so that a number never names two versions.
    past: BTreeMap<Id, u64>,
}

/// Says which files may be read now, and which failures may be told.
pub(crate) trait Timing {
    /// Whether these files have been left alone for long enough to be read.
    fn may_read(&self, files: &mut dyn Iterator<Item = &File>) -> bool;
    /// Whether they have been left alone for so long that what is wrong with them is no half-written file.
    fn may_report(&self, files: &mut dyn Iterator<Item = &File>) -> bool;
    /// Whether refusals that may pass by themselves are tried again.
    fn retries(&self) -> bool;
    /// Whether to end now.
    fn is_stopped(&self) -> bool;
}

/// Reads and reports at once.
pub(crate) struct AtOnce;

/// One policy.
#[derive(Default)]
struct Entry {
    sources: Sources,
    stamps: Stamps,
    /// The files changed while, or just before, they were read.
    stale: bool,
    member: Option<Arc<Member>>,
    /// Of the sidecar of `member`.
    sidecar_digest: Option<String>,
    /// What is wrong with the files, not yet told.
    held: Option<Refusal>,
    /// What is wrong with the files, as the roster says.
    reported: Option<Refusal>,
}

// === impl Table ===

impl Table {
    /// A table that knows no policy.
    pub(crate) fn new(config: &DirectoryConfig, loader: Arc<dyn Loader>) -> Self {
        Self {
            root: config.path.clone(),
            bounds: config.bounds(),
            loader,
            groups: BTreeSet::new(),
            entries: BTreeMap::new(),
            problems: BTreeMap::new(),
            past: BTreeMap::new(),
        }
    }

    /// Brings the table to what a scan found, as far as the timing allows; none if nothing is different then.
    pub(crate) fn refresh(&mut self, scan: &Scan, timing: &dyn Timing) -> Option<Update> {
        let mut changes = Vec::new();
        let wanted = scan.policies();
        self.remove_missing(&wanted, scan, timing, &mut changes);
        for (id, sources) in &wanted {
            if timing.is_stopped() {
                break;
            }
            self.refresh_policy(id, sources, scan, timing, &mut changes);
        }
        self.set_problems(scan.problems.clone(), &mut changes);
        let groups: BTreeSet<_> = scan.groups.iter().chain(self.entries.keys().map(|id| &id.group)).cloned().collect();
        let is_different = groups != self.groups || !changes.is_empty();
        self.groups = groups;
        is_different.then(|| Update { roster: Arc::new(self.roster()), changes })
    }

    /// Notes that the directory cannot be listed; what is in force stays.
    pub(crate) fn refuse(&mut self, error: &DirectoryError) -> Option<Update> {
        let mut changes = Vec::new();
        let mut problems = self.problems.clone();
        problems.insert(Id::whole(&Arc::from("")), error.to_string());
        self.set_problems(problems, &mut changes);
        (!changes.is_empty()).then(|| Update { roster: Arc::new(self.roster()), changes })
    }

    /// Whether some files changed while they were read.
    pub(crate) fn has_unread(&self) -> bool {
        self.entries.values().any(Entry::is_unread)
    }

    /// Makes failures of the policies whose files could not be read once.
    pub(crate) fn refuse_unread(&mut self) -> Vec<Change> {
        let unread = self.entries.iter_mut().filter(|(_, entry)| entry.is_unread());
        let refuse = |(id, entry): (&Id, &mut Entry)| {
            entry.held = Some(Refusal::passing("its files change while they are read"));
            entry.report(id, &AtOnce)
        };
        unread.filter_map(refuse).collect()
    }

    /// What is in force now.
    pub(crate) fn roster(&self) -> Roster {
        let mut members: BTreeMap<Arc<str>, Vec<Arc<Member>>> = BTreeMap::new();
        for group in &self.groups {
            members.entry(Arc::clone(group)).or_default();
        }
        let mut failures = Vec::new();
        for (id, entry) in &self.entries {
            if let Some(member) = &entry.member {
                members.entry(Arc::clone(&id.group)).or_default().push(Arc::clone(member));
            }
            if let Some(refusal) = &entry.reported {
                failures.push(mk_failure(id, &refusal.text, entry.member.is_some()));
            }
        }
        failures.extend(self.problems.iter().map(|(id, text)| mk_failure(id, text, self.keeps(id))));
        Roster::new(members.into_iter().map(|(name, members)| (name, Group::new(members))).collect(), failures)
    }

    fn remove_missing(
        &mut self,
        wanted: &BTreeMap<Id, Sources>,
        scan: &Scan,
        timing: &dyn Timing,
        changes: &mut Vec<Change>,
    ) {
        let is_gone = |id: &Id, entry: &Entry| {
            !wanted.contains_key(id)
                && !scan.unreadable.contains(&id.group)
                && timing.may_read(&mut entry.stamps.keys())
        };
        let gone: Vec<Id> =
            self.entries.iter().filter(|(id, entry)| is_gone(id, entry)).map(|(id, _)| id.clone()).collect();
        for id in gone {
            let Some(entry) = self.entries.remove(&id) else { continue };
            if entry.member.is_some() || entry.reported.is_some() {
                changes.push(Change::Removed { id: id.to_string() });
            }
            if let Some(member) = entry.member {
                self.past.insert(id, member.version);
            }
        }
    }

    fn refresh_policy(
        &mut self,
        id: &Id,
        sources: &Sources,
        scan: &Scan,
        timing: &dyn Timing,
        changes: &mut Vec<Change>,
    ) {
        let mut entry = self.entries.remove(id).unwrap_or_default();
        if entry.is_due(sources, scan, timing) {
            let started = Instant::now();
            let reading = Reading::take(&self.root, scan, sources, &self.bounds);
            entry.note_reading(sources, &reading);
            match reading.content {
                None => {}
                Some(Err(refusal)) => entry.held = Some(refusal),
                Some(Ok(content)) => changes.extend(self.load(id, &mut entry, content, started)),
            }
        }
        changes.extend(entry.report(id, timing));
        self.entries.insert(id.clone(), entry);
    }

    fn load(&self, id: &Id, entry: &mut Entry, content: Content, started: Instant) -> Option<Change> {
        if entry.is_in_force(&content) {
            entry.held = None;
            return entry.reported.take().map(|_| Change::Unchanged { id: id.to_string() });
        }
        let sidecar_digest = content.sidecar_digest.clone();
        let mut member = match build(id, content, entry.member.as_deref(), self.loader.as_ref()) {
            Ok(member) => member,
            Err(refusal) => {
                entry.held = Some(refusal);
                return None;
            }
        };
        if entry.member.is_none() {
            member.version += self.past.get(id).copied().unwrap_or_default();
        }
        let (digest, version) = (member.digest.to_string(), member.version);
        entry.sidecar_digest = sidecar_digest;
        entry.member = Some(Arc::new(member));
        (entry.held, entry.reported) = (None, None);
        Some(Change::Loaded { id: id.to_string(), digest, version, took: started.elapsed() })
    }

    fn set_problems(&mut self, problems: BTreeMap<Id, String>, changes: &mut Vec<Change>) {
        for (id, text) in &problems {
            if self.problems.get(id) != Some(text) {
                changes.push(Change::Refused { id: id.to_string(), error: text.clone(), kept: self.keeps(id) });
            }
        }
        for id in self.problems.keys().filter(|id| !problems.contains_key(id)) {
            changes.push(Change::Unchanged { id: id.to_string() });
        }
        self.problems = problems;
    }

    /// Whether a directory's problem leaves policies in force; the root's are the ones of all groups.
    fn keeps(&self, problem: &Id) -> bool {
        let concerns = |id: &Id| *problem == Id::whole(&Arc::from("")) || *problem == Id::whole(&id.group);
        self.entries.iter().any(|(id, entry)| concerns(id) && entry.member.is_some())
    }
}

// === impl Entry ===

impl Entry {
    /// Whether the files are to be read now.
    fn is_due(&self, sources: &Sources, scan: &Scan, timing: &dyn Timing) -> bool {
        let has_moved = |(file, stamp): (&File, &Option<_>)| scan.files.get(file) != stamp.as_ref();
        let passes = |refusal: &Option<Refusal>| refusal.as_ref().is_some_and(|refusal| refusal.passing);
        let retries = timing.retries() && (passes(&self.held) || passes(&self.reported));
        let is_changed = self.sources != *sources || self.stamps.iter().any(has_moved);
        (is_changed || self.stale || retries) && timing.may_read(&mut sources.files().chain(self.stamps.keys()))
    }

    fn is_unread(&self) -> bool {
        self.member.is_none() && self.held.is_none() && self.reported.is_none()
    }

    fn note_reading(&mut self, sources: &Sources, reading: &Reading) {
        let now = SystemTime::now();
        let may_repeat = reading.stamps.values().flatten().any(|stamp| stamp.may_repeat(now));
        self.sources = sources.clone();
        self.stamps = reading.stamps.clone();
        self.stale = reading.content.is_none() || may_repeat;
    }

    /// Whether the content is what the version in force was loaded from.
    fn is_in_force(&self, content: &Content) -> bool {
        let has_digest = |member: &Arc<Member>| *member.digest == *content.digest;
        self.member.as_ref().is_some_and(has_digest) && self.sidecar_digest == content.sidecar_digest
    }

    /// Tells what is wrong with the files, once it is certain that nobody is still writing them.
    fn report(&mut self, id: &Id, timing: &dyn Timing) -> Option<Change> {
        if self.held.is_none() || !timing.may_report(&mut self.stamps.keys()) {
            return None;
        }
        let refusal = self.held.take()?;
        let is_news = self.reported.as_ref().is_none_or(|reported| reported.text != refusal.text);
        let (error, kept) = (refusal.text.clone(), self.member.is_some());
        self.reported = Some(refusal);
        is_news.then(|| Change::Refused { id: id.to_string(), error, kept })
    }
}

// === impl AtOnce ===

impl Timing for AtOnce {
    fn may_read(&self, _: &mut dyn Iterator<Item = &File>) -> bool {
        true
    }

    fn may_report(&self, _: &mut dyn Iterator<Item = &File>) -> bool {
        true
    }

    fn retries(&self) -> bool {
        false
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

fn mk_failure(id: &Id, text: &str, kept: bool) -> Failure {
    Failure { group: Arc::clone(&id.group), name: Arc::clone(&id.name), error: text.to_owned(), kept }
}
