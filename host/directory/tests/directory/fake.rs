//! A loader whose modules say in plain text what they are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use plimsoll_core::{
    Ask, Fault, FaultKind, LoadError, Loader, NodeSource, PodRead, Policy, Read, Value, Verb, Verbs, Verdict,
};
use plimsoll_system::digest::digest;

/// Loads `good <tag> end`; anything else is refused. Remembers what it was asked.
#[derive(Default)]
pub(crate) struct FakeLoader {
    pub(crate) loaded: Mutex<Vec<String>>,
    /// Tags whose loads wait until they are let go.
    held: (Mutex<BTreeSet<String>>, Condvar),
    /// How often the load of a tag fails for a reason that passes.
    pub(crate) busy: Mutex<BTreeMap<String, u32>>,
    pub(crate) validated: Arc<Mutex<Vec<(String, String)>>>,
    /// Digests of refused modules.
    refused: Mutex<BTreeMap<String, LoadError>>,
    /// How often a module was handed over that is refused for good.
    pub(crate) refusals: AtomicUsize,
}

/// Its tag is the reason with which it rejects every node.
struct FakePolicy {
    tag: String,
    validated: Arc<Mutex<Vec<(String, String)>>>,
}

/// The bytes of a module that loads.
pub(crate) fn good(tag: &str) -> String {
    format!("good {tag} end")
}

// === impl FakeLoader ===

impl FakeLoader {
    /// Has loads of this tag wait.
    pub(crate) fn hold(&self, tag: &str) {
        self.held.0.lock().unwrap().insert(tag.to_owned());
    }

    /// Lets them go.
    pub(crate) fn let_go(&self, tag: &str) {
        self.held.0.lock().unwrap().remove(tag);
        self.held.1.notify_all();
    }

    pub(crate) fn loads_of(&self, tag: &str) -> usize {
        self.loaded.lock().unwrap().iter().filter(|loaded| *loaded == tag).count()
    }
}

impl Loader for FakeLoader {
    fn load(&self, module: &[u8]) -> Result<Arc<dyn Policy>, LoadError> {
        let text = String::from_utf8_lossy(module);
        let tag = text.strip_prefix("good ").and_then(|rest| rest.strip_suffix(" end"));
        let Some(tag) = tag.map(str::to_owned) else {
            let error = LoadError::permanent("no module: expected 'good TAG end'");
            self.refusals.fetch_add(1, SeqCst);
            self.refused.lock().unwrap().insert(digest(module), error.clone());
            return Err(error);
        };
        self.loaded.lock().unwrap().push(tag.clone());
        let held = self.held.0.lock().unwrap();
        drop(self.held.1.wait_while(held, |held| held.contains(&tag)).unwrap());
        if let Some(left) = self.busy.lock().unwrap().get_mut(&tag).filter(|left| **left > 0) {
            *left -= 1;
            return Err(LoadError::transient("the compiler was killed"));
        }
        Ok(Arc::new(FakePolicy { tag, validated: Arc::clone(&self.validated) }))
    }

    fn refusal(&self, digest: &str) -> Option<LoadError> {
        self.refused.lock().unwrap().get(digest).cloned()
    }
}

// === impl FakePolicy ===

impl Policy for FakePolicy {
    fn verbs(&self) -> Verbs {
        [Verb::Filter, Verb::Validate].into_iter().collect()
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

    /// One whose tag begins with `fails` fails for every pod but that of the trial, from which nobody can tell.
    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        if self.tag.starts_with("fails") && ask.view.read(Read::Pod(PodRead::Name)).unwrap() != Value::text("trial") {
            return Err(Fault::new(FaultKind::Trap, "unreachable"));
        }
        if self.tag.starts_with("never") {
            return Err(Fault::new(FaultKind::Trap, "unreachable"));
        }
        while nodes.next().is_some() {
            nodes.answer(Verdict::Unschedulable(self.tag.as_str().into()));
        }
        Ok(())
    }
}
