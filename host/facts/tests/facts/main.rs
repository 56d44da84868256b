//! Sources as they should be, and servers that lie, stall, or go away.
#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod hostile;
mod refreshing;
mod tls;
mod tokens;

use std::{
    fs,
    sync::{Arc, Mutex},
};

use plimsoll_core::Facts;
use plimsoll_facts::{FactWatch, FactsConfig, SourceStatus};
use plimsoll_harness::{TempDir, tempdir, wait_until};
use tokio::runtime::Runtime;

/// Sources that are fetched, and the facts that they have published.
struct World {
    watch: FactWatch,
    published: Arc<Mutex<Vec<Facts>>>,
    directory: TempDir,
    // Dropped last: the tasks run on it.
    _runtime: Runtime,
}

// === impl World ===

impl World {
    /// Begins to fetch these sources; files that they name are in the world's directory.
    fn start(text: &str) -> Self {
        Self::start_with(text, &[])
    }

    /// As [`World::start`], with files by name.
    fn start_with(text: &str, files: &[(&str, &str)]) -> Self {
        let (directory, runtime) = (tempdir().unwrap(), Runtime::new().unwrap());
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let config = FactsConfig::from_text(&directory.path().join("facts.yaml"), text.as_bytes()).unwrap();
        let published = Arc::<Mutex<Vec<Facts>>>::default();
        let own = Arc::clone(&published);
        let watch = {
            let _entered = runtime.enter();
            FactWatch::start(&config, None, move |facts| own.lock().unwrap().push(facts.clone()))
        };
        Self { watch, published, directory, _runtime: runtime }
    }

    /// Replaces a file in one step, as a mounted Secret is.
    fn put(&self, name: &str, content: &str) {
        let unfinished = self.directory.path().join("unfinished");
        fs::write(&unfinished, content).unwrap();
        fs::rename(unfinished, self.directory.path().join(name)).unwrap();
    }

    /// The value of a fact in force.
    fn value(&self, source: &str, key: &str) -> Option<String> {
        let published = self.published.lock().unwrap();
        Some(published.last()?.source(source)?.by_key(key)?.text().to_owned())
    }

    /// The number of times that facts were published.
    fn publications(&self) -> usize {
        self.published.lock().unwrap().len()
    }

    fn status(&self, source: &str) -> SourceStatus {
        self.watch.statuses().into_iter().find(|status| *status.name == *source).unwrap()
    }

    /// Waits for a value.
    fn wait_for(&self, source: &str, key: &str, expected: Option<&str>) {
        let awaited = || (self.value(source, key).as_deref() == expected).then_some(());
        wait_until(&format!("{source} {key} = {expected:?}"), awaited).unwrap_or_else(|error| {
            panic!("{error}: {:?}", self.watch.statuses());
        });
    }

    /// Waits for the error of a source, which must contain a text.
    fn wait_for_error(&self, source: &str, expected: &str) -> SourceStatus {
        let status = || Some(self.status(source)).filter(|status| status.error.is_some());
        let status = wait_until(&format!("an error of {source}"), status).unwrap();
        assert!(status.error.as_ref().is_some_and(|error| error.contains(expected)), "{expected}: {status:?}");
        status
    }

    /// Waits until a source was read this many times more, well or not.
    fn wait_for_fetches(&self, source: &str, more: u64) {
        let fetches = || self.status(source).fetches;
        let wanted = fetches() + more;
        wait_until("more fetches", || (fetches() >= wanted).then_some(())).unwrap();
    }
}
