//! A load that is under way while the version in force is rolled back, in every order of the two.

use std::{fs, sync::Arc, time::Duration};

use bytes::Bytes;
use plimsoll_core::{
    Ask, Fault, FaultKind, Gateway, LoadError, LoadRequest, Loader, NoObserver, NodeObject, NodeSource, Nodes, Pod,
    PodRead, Policy, PolicyState, Query, Read, Sender, SystemClock, Value, Verb, Verbs, Verdict,
};
use tempfile::TempDir;

use super::*;
use crate::{
    DirectoryConfig,
    fact_pool::FactPool,
    known_modules::KnownModules,
    last_good::LastGood,
    load::{LoadContext, LoadOutcome},
    scan::Scan,
    table::Immediately,
};

/// Loads any text but `bad`.
struct TextLoader;

/// Fails for every pod but that of the trial, if it is told to.
struct TextPolicy {
    fails: bool,
}

/// A table without threads, and the policy `x`.
struct World {
    directory: TempDir,
    context: LoadContext,
    table: PolicyTable,
}

/// A change of the files while version 2 is checked, and the end of the policy.
struct Change {
    text: &'static str,
    /// The state and the version once all is done.
    end: (PolicyState, u64),
}

/// Another version, the same content, and one that is refused.
const CHANGES: [Change; 3] = [
    Change { text: "answers, too", end: (PolicyState::Active, 3) },
    Change { text: "fails", end: (PolicyState::RolledBack, 1) },
    Change { text: "bad", end: (PolicyState::Kept, 1) },
];

// === impl TextLoader, TextPolicy ===

impl Loader for TextLoader {
    fn load_for(&self, LoadRequest { module, .. }: LoadRequest<'_>) -> Result<Arc<dyn Policy>, LoadError> {
        if module.bytes() == b"bad" {
            return Err(LoadError::permanent("it is bad"));
        }
        Ok(Arc::new(TextPolicy { fails: module.bytes() == b"fails" }))
    }
}

impl Policy for TextPolicy {
    fn verbs(&self) -> Verbs {
        [Verb::Filter].into_iter().collect()
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        if self.fails && ask.view.read(Read::Pod(PodRead::Name)).unwrap() != Value::text("trial") {
            return Err(Fault::new(FaultKind::Trap, "unreachable"));
        }
        while nodes.next().is_some() {
            nodes.answer(Verdict::Fits);
        }
        Ok(())
    }
}

// === impl World ===

impl World {
    /// Version 1 has answered, and version 2 has failed all its calls.
    fn with_failing_version() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("policies");
        fs::create_dir(&root).unwrap();
        let config = DirectoryConfig::new(&root);
        let last_good = Some(Arc::new(LastGood::open(&directory.path().join("last-good"), &root).unwrap()));
        let table = PolicyTable::new(&config, last_good.clone());
        let context = LoadContext {
            root,
            bounds: config.bounds(),
            loader: Arc::new(TextLoader),
            known_modules: KnownModules::default(),
            fact_pool: FactPool::default(),
            last_good,
        };
        let mut world = Self { directory, context, table };
        world.put("answers");
        world.load();
        assert!(world.is_answered());
        world.put("fails");
        world.load();
        assert!(["p", "p", "p", "p", "q"].iter().all(|name| !world.is_answered_about(name)));
        world
    }

    /// Puts the module in place by renaming: each time it is another file.
    fn put(&self, module: &str) {
        let beside = self.directory.path().join("beside");
        fs::write(&beside, module).unwrap();
        fs::rename(beside, self.context.root.join("x.wasm")).unwrap();
    }

    /// Orders and carries out the load that is due; its outcome is still to be applied.
    fn begin_load(&mut self) -> LoadOutcome {
        let scan = Arc::new(Scan::take(&self.context.root).unwrap());
        let mut jobs = self.table.refresh(&scan, &Immediately);
        assert_eq!(jobs.len(), 1);
        self.context.carry_out(jobs.remove(0))
    }

    fn load(&mut self) {
        let outcome = self.begin_load();
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: LoadOutcome) {
        self.table.finish(outcome, &Immediately);
    }

    fn begin_check(&mut self) -> RollbackCheck {
        let mut checks = self.table.judge();
        assert_eq!(checks.len(), 1);
        checks.remove(0)
    }

    /// Carries the check out and applies its outcome; whether a scan is due.
    fn finish_check(&mut self, check: &RollbackCheck) -> bool {
        let error = check.carry_out();
        assert!(error.is_some(), "version 1 answers the call");
        self.table.apply_check(check, error)
    }

    /// Asks the policy in force once.
    fn is_answered(&self) -> bool {
        self.is_answered_about("p")
    }

    /// Asks it about a pod of this name.
    fn is_answered_about(&self, name: &str) -> bool {
        let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(10));
        gateway.set_roster(Arc::new(self.table.roster()));
        let pod = format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
        let pod = Arc::new(Pod::from_json(Bytes::from(pod)).unwrap());
        let nodes = [NodeObject::Json(Bytes::from_static(br#"{"metadata": {"name": "n"}}"#))];
        let (nodes, sender) = (Nodes::Objects(&nodes), Sender::default());
        let query = Query { pod, nodes, received: std::time::Instant::now(), sender, may_bind: true };
        gateway.filter("", &query).is_ok()
    }

    /// The state of the policy, and the number of the version in force.
    fn state(&self) -> (PolicyState, u64) {
        let roster = self.table.roster();
        (roster.state("x"), roster.members().next().unwrap().version)
    }

    /// The files on disk of versions that outlast a restart.
    fn stored(&self) -> usize {
        fs::read_dir(self.directory.path().join("last-good")).unwrap().count()
    }
}

#[test]
fn a_load_that_was_under_way_during_a_rollback_is_repeated_and_its_outcome_is_dropped() {
    for Change { text, end } in CHANGES {
        let mut world = World::with_failing_version();
        let check = world.begin_check();
        world.put(text);
        let outcome = world.begin_load();
        assert!(world.finish_check(&check), "{text}: the load is repeated at once");
        assert_eq!(world.state(), (PolicyState::RolledBack, 1), "{text}");
        world.table.take_update().unwrap();
        world.finish(outcome);
        assert!(world.table.take_update().is_none(), "{text}: the load knows nothing of the rollback");
        assert_eq!((world.state(), world.stored()), ((PolicyState::RolledBack, 1), 2), "{text}");
        world.load();
        assert_eq!(world.state(), end, "{text}");
        assert!(world.is_answered(), "{text}");
    }
}

#[test]
fn a_load_that_ends_before_the_check_decides_whether_its_outcome_counts() {
    for Change { text, end } in CHANGES {
        let mut world = World::with_failing_version();
        let check = world.begin_check();
        world.put(text);
        world.load();
        let is_replaced = end.1 == 3;
        assert_eq!(world.state().1, if is_replaced { 3 } else { 2 }, "{text}");
        assert_eq!(world.finish_check(&check), !is_replaced, "{text}: the files are read again after a rollback");
        if !is_replaced {
            assert_eq!(world.state(), (PolicyState::RolledBack, 1), "{text}");
            world.load();
        }
        assert_eq!(world.state(), end, "{text}");
        assert!(world.is_answered(), "{text}");
    }
}

#[test]
fn a_version_that_came_during_the_check_and_fails_is_rolled_back_to_the_one_that_answered() {
    let mut world = World::with_failing_version();
    let check = world.begin_check();
    // Another sidecar makes another version of the module that fails.
    fs::write(world.context.root.join("x.yaml"), "order: 2\n").unwrap();
    world.load();
    assert_eq!(world.state(), (PolicyState::Active, 3));
    assert!(["p", "p", "p", "p", "q"].iter().all(|name| !world.is_answered_about(name)));
    let second = world.begin_check();
    assert!(!world.finish_check(&check), "it is about a version that is gone");
    assert_eq!(world.state(), (PolicyState::Active, 3));
    assert!(world.finish_check(&second));
    assert_eq!(world.state(), (PolicyState::RolledBack, 1));
    assert!(world.is_answered());
}
