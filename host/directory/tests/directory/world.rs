//! A directory of one test, and the updates that are published about it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    time::{Duration, Instant},
};

use plimsoll_core::{Loader, Member, Roster};
use plimsoll_directory::{
    Directory, DirectoryConfig, DirectoryWatch, PolicyChange, RosterUpdate, load_one, policy_files,
};
use tempfile::TempDir;

use crate::fake::FakeLoader;

/// The longest wait of a test.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) const SETTLE: Duration = Duration::from_millis(25);

const POLL: Duration = Duration::from_millis(5);

pub(crate) struct World {
    directory: TempDir,
    pub(crate) loader: Arc<FakeLoader>,
}

/// A watched world.
pub(crate) struct Watched {
    _watching: DirectoryWatch,
    published: Receiver<RosterUpdate>,
    pub(crate) roster: Arc<Roster>,
    /// Since the start, the first load included.
    pub(crate) changes: Vec<PolicyChange>,
    pub(crate) updates: usize,
}

// === impl World ===

impl World {
    /// An empty directory.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("policies")).unwrap();
        Self { directory, loader: Arc::default() }
    }

    /// The directory of the policies; files beside it are not watched.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = self.directory.path().join("policies");
        if name.is_empty() { root } else { root.join(name) }
    }

    /// Writes a file in place.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Puts a file in place by renaming.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let beside = self.directory.path().join("beside");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, self.path(name)).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    pub(crate) fn config(&self) -> DirectoryConfig {
        // The meaning of an empty directory has tests of its own.
        DirectoryConfig { settle: SETTLE, poll: Some(POLL), allow_empty: true, ..DirectoryConfig::new(self.path("")) }
    }

    /// Loads the directory once.
    pub(crate) fn open(&self) -> RosterUpdate {
        let loader = Arc::clone(&self.loader);
        Directory::open(self.config(), loader).unwrap().1
    }

    pub(crate) fn watch(&self) -> Watched {
        Self::follow(Directory::open(self.config(), self.loader()).unwrap())
    }

    /// As a gateway does it: nothing is loaded yet when this returns.
    pub(crate) fn start(&self, config: DirectoryConfig) -> Watched {
        Self::follow(Directory::start(config, self.loader()).unwrap())
    }

    fn loader(&self) -> Arc<dyn Loader> {
        Arc::<FakeLoader>::clone(&self.loader)
    }

    fn follow((directory, first): (Directory, RosterUpdate)) -> Watched {
        let (publish, published) = mpsc::channel();
        let watching = directory.watch(move |update| drop(publish.send(update))).unwrap();
        Watched { _watching: watching, published, roster: first.roster, changes: first.changes, updates: 0 }
    }

    /// The only failure's text, without the test's own directory.
    pub(crate) fn failure(&self, roster: &Roster) -> String {
        let [failure] = roster.failures() else { panic!("expected one failure: {:?}", roster.failures()) };
        failure.error.replace(&format!("{}/", self.path("").display()), "")
    }
}

// === impl Watched ===

impl Watched {
    /// Takes updates until the roster is as wanted.
    pub(crate) fn wait_for(&mut self, what: &str, mut is_so: impl FnMut(&Roster) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !is_so(&self.roster) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(update) = self.published.recv_timeout(left) else {
                panic!("waiting for: {what}; the roster is {:?}, after {:?}", self.roster, self.changes);
            };
            self.take(update);
        }
    }

    /// Takes updates until one of the changes is as wanted.
    pub(crate) fn wait_for_change(&mut self, what: &str, is_wanted: impl Fn(&PolicyChange) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.changes.iter().any(&is_wanted) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(update) = self.published.recv_timeout(left) else {
                panic!("waiting for: {what}: {:?}", self.changes)
            };
            self.take(update);
        }
    }

    /// Waits for the version of a policy that has this tag.
    pub(crate) fn wait_for_tag(&mut self, id: &str, wanted: &str) {
        self.wait_for(&format!("{id} is {wanted}"), |roster| tag(roster, id) == Some(wanted.to_owned()));
    }

    fn take(&mut self, update: RosterUpdate) {
        self.roster = update.roster;
        self.changes.extend(update.changes);
        self.updates += 1;
    }
}

/// Waits until something is so.
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::yield_now();
    }
}

/// The member with this id.
pub(crate) fn member(roster: &Roster, id: &str) -> Option<Arc<Member>> {
    roster.members().find(|member| member.id() == id).cloned()
}

/// The tag of a member's module, by its digest.
pub(crate) fn tag(roster: &Roster, id: &str) -> Option<String> {
    let member = member(roster, id)?;
    let tags = ["v1", "v2", "v3", "a", "b"];
    tags.into_iter().find(|tag| *digest_of(tag) == *member.digest).map(str::to_owned)
}

/// The digest of a good module with this tag.
pub(crate) fn digest_of(tag: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.wasm");
    fs::write(&path, crate::fake::good(tag)).unwrap();
    load_one(&policy_files(&path).unwrap(), &FakeLoader::default()).unwrap().digest.into()
}

/// Everything that tells one roster from another: digest, settings and mode by id, and the ids that failed.
pub(crate) fn summary(roster: &Roster) -> (BTreeMap<String, String>, Vec<String>) {
    let describe = |member: &Arc<Member>| {
        (member.id().to_owned(), format!("{} {} {}", member.digest, member.settings, member.config.mode.as_str()))
    };
    let failed = roster.failures().iter().map(|failure| format!("{}/{}", failure.group, failure.name)).collect();
    (roster.members().map(describe).collect(), failed)
}

/// Points a link at something else in one step, as kubelets do.
#[cfg(unix)]
pub(crate) fn link(target: &Path, link: &Path) {
    let beside = link.with_file_name("..beside");
    std::os::unix::fs::symlink(target, &beside).unwrap();
    fs::rename(beside, link).unwrap();
}
