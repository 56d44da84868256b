//! A loader whose modules are plain text.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, Fault, FaultKind, LoadError, Loader, Module, NodeSource, PodRead, Policy, Read, Value, Verb, Verbs, Verdict,
};

use crate::fake_interpreter::FakeInterpreter;

/// Loads `good <tag> end`, and the interpreter of rules; anything else is refused. Remembers its calls.
#[derive(Default)]
pub(crate) struct FakeLoader {
    pub(crate) loaded: Mutex<Vec<String>>,
    /// Tags whose loads wait.
    loads_held: Gate,
    /// The number of times that the load of a tag fails for a transient reason.
    pub(crate) busy: Mutex<BTreeMap<String, u32>>,
    pub(crate) validated: Arc<Mutex<Vec<(String, String)>>>,
    /// The time that each call had of a policy whose tag is `loops`.
    pub(crate) times: Arc<Mutex<Vec<Duration>>>,
    /// The number of times that a module was handed over which is refused for good.
    pub(crate) refusals: AtomicUsize,
}

/// Has those wait that come with one of its tags.
#[derive(Default)]
struct Gate {
    tags: Mutex<BTreeSet<String>>,
    changed: Condvar,
}

/// Its tag is the reason with which it rejects every node.
struct FakePolicy {
    tag: String,
    validated: Arc<Mutex<Vec<(String, String)>>>,
    times: Arc<Mutex<Vec<Duration>>>,
}

/// The bytes of a module that loads.
pub(crate) fn good(tag: &str) -> String {
    format!("good {tag} end")
}

// === impl FakeLoader ===

impl FakeLoader {
    /// Has loads of this tag wait.
    pub(crate) fn hold(&self, tag: &str) {
        self.loads_held.close(tag);
    }

    /// Lets them go.
    pub(crate) fn let_go(&self, tag: &str) {
        self.loads_held.open(tag);
    }

    pub(crate) fn loads_of(&self, tag: &str) -> usize {
        self.loaded.lock().unwrap().iter().filter(|loaded| *loaded == tag).count()
    }
}

impl Loader for FakeLoader {
    fn load(&self, _: &str, module: &Module) -> Result<Arc<dyn Policy>, LoadError> {
        if module.bytes().starts_with(b"\0asm") {
            self.loaded.lock().unwrap().push("interpreter".to_owned());
            return Ok(Arc::new(FakeInterpreter));
        }
        let text = String::from_utf8_lossy(module.bytes());
        let tag = text.strip_prefix("good ").and_then(|rest| rest.strip_suffix(" end"));
        let Some(tag) = tag.map(str::to_owned) else {
            self.refusals.fetch_add(1, SeqCst);
            return Err(LoadError::permanent("no module: expected 'good TAG end'"));
        };
        self.loaded.lock().unwrap().push(tag.clone());
        self.loads_held.pass(&tag);
        if let Some(left) = self.busy.lock().unwrap().get_mut(&tag).filter(|left| **left > 0) {
            *left -= 1;
            return Err(LoadError::transient("the compiler was killed"));
        }
        let (validated, times) = (Arc::clone(&self.validated), Arc::clone(&self.times));
        Ok(Arc::new(FakePolicy { tag, validated, times }))
    }
}

// === impl Gate ===

impl Gate {
    fn close(&self, tag: &str) {
        self.tags.lock().unwrap().insert(tag.to_owned());
    }

    fn open(&self, tag: &str) {
        self.tags.lock().unwrap().remove(tag);
        self.changed.notify_all();
    }

    fn pass(&self, tag: &str) {
        let tags = self.tags.lock().unwrap();
        drop(self.changed.wait_while(tags, |tags| tags.contains(tag)).unwrap());
    }
}

// === impl FakePolicy ===

impl Policy for FakePolicy {
    fn verbs(&self) -> Verbs {
        let scores = self.tag.starts_with("slow") || self.tag.ends_with("scores");
        let score = scores.then_some(Verb::Score);
        [Verb::Filter, Verb::Validate].into_iter().chain(score).collect()
    }

    /// Accepts settings that say nothing, or its own tag.
    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        let Ok(Value::Text(settings)) = ask.view.read(Read::HostSettings) else { panic!("settings are text") };
        self.validated.lock().unwrap().push((self.tag.clone(), settings.to_string()));
        match settings.as_ref() {
            "null" => Ok(Ok(())),
            r#""slow""# => Err(Fault::new(FaultKind::Timeout, "too slow")),
            r#""trap""# => Err(Fault::new(FaultKind::Trap, "unreachable")),
            other if other == format!("\"{}\"", self.tag) => Ok(Ok(())),
            other => Ok(Err(format!("{other} is not for {}", self.tag))),
        }
    }

    /// One whose tag begins with `reads` reads the source of facts `load`. One whose tag begins with `fails` fails for
    /// every pod but that of the trial, from which nobody can tell. `loops` exceeds its time, whatever that is, as
    /// does one whose tag begins with `slow`, which has a score, too. One whose tag begins with the name of a fault and `-`
    /// has that fault after it has read the pod's name.
    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        if self.tag.starts_with("fails") && ask.view.read(Read::Pod(PodRead::Name)).unwrap() != Value::text("trial") {
            return Err(Fault::new(FaultKind::Trap, "unreachable"));
        }
        if self.tag.starts_with("reads") {
            ask.view.read(Read::Pod(PodRead::Name)).unwrap();
            let load = Read::FactsNumber { source: "load", key: "all" };
            ask.view.read(load).map_err(|error| Fault::new(FaultKind::Read, error.to_string()))?;
        }
        if self.tag == "loops" || self.tag.starts_with("slow") {
            self.times.lock().unwrap().push(ask.limits.deadline.saturating_duration_since(Instant::now()));
            return Err(Fault::new(FaultKind::Timeout, "too slow"));
        }
        if self.tag.starts_with("never") {
            return Err(Fault::new(FaultKind::Trap, "unreachable"));
        }
        if let Some(kind) = self.tag.split_once('-').and_then(|(kind, _)| FaultKind::from_name(kind)) {
            ask.view.read(Read::Pod(PodRead::Name)).unwrap();
            return Err(Fault::new(kind, "as its tag says"));
        }
        while nodes.next().is_some() {
            nodes.answer(Verdict::Unschedulable(self.tag.as_str().into()));
        }
        Ok(())
    }

    /// That of `slow-and-bad` always fails.
    fn score_each(&self, _: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        if self.tag == "slow-and-bad" {
            return Err(Fault::new(FaultKind::Trap, "unreachable"));
        }
        while nodes.next().is_some() {
            nodes.answer(0);
        }
        Ok(())
    }
}
