//! Reads the facts file again when it changes.

use std::{mem, sync::Arc, time::Duration};

use anyhow::{Result, anyhow};
use tokio::{
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};
use tracing::{error, info, warn};

use super::{FactSources, check_api_server, users};
use crate::reload::NO_FACTS;

/// The interval at which the facts file is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// The text of the file, or why it cannot be read.
type FileState = Result<Vec<u8>, String>;

/// The results of reading the facts file again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reloads {
    pub(crate) loaded: u64,
    pub(crate) refused: u64,
    /// Why the file as it is now is not in force.
    pub(crate) error: Option<String>,
}

/// Two reads in a row must give the same text, so that a file that is being written is not judged; each text is judged
/// once.
struct Debouncer {
    last: FileState,
    judged: FileState,
}

// === impl FactSources ===

impl FactSources {
    /// Puts each later version of the facts file in force as a whole, or keeps the one before; it never returns.
    pub(crate) async fn follow(self: Arc<Self>) {
        let mut debouncer = Debouncer::new(self.file.text.clone());
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let own = Arc::clone(&self);
            // The file may be on a slow volume.
            let read = spawn_blocking(move || own.file.text_now().map_err(|error| format!("{error:#}")));
            let Ok(state) = read.await else { continue };
            if let Some(state) = debouncer.add(state) {
                let own = Arc::clone(&self);
                // Its only error is a panic, which the panic hook has logged.
                let _ = spawn_blocking(move || own.judge(state)).await;
            }
        }
    }

    /// The results of reading the facts file again.
    pub(crate) fn reloads(&self) -> Reloads {
        self.reloads.lock().clone()
    }

    fn judge(&self, state: FileState) {
        let replaced = state.map_err(|error| anyhow!(error)).and_then(|text| self.replace(&text));
        let refusal = replaced.err().map(|error| format!("{error:#}"));
        match &refusal {
            None => info!(file = %self.file.path.display(), "the facts file has changed: its sources are in force"),
            Some(error) => {
                error!(error, "the facts file has changed and cannot be used: the sources before stay in force");
            }
        }
        let mut reloads = self.reloads.lock();
        let count = if refusal.is_none() { &mut reloads.loaded } else { &mut reloads.refused };
        *count += 1;
        reloads.error = refusal;
    }

    fn replace(&self, text: &[u8]) -> Result<()> {
        let config = self.file.config_of(text)?;
        check_api_server(&config, self.has_api_server)?;
        let before: Vec<Arc<str>> = self.statuses().into_iter().map(|status| status.name).collect();
        self.watch.replace(config);
        let mut users = users(&self.gateway.roster());
        for source in before.iter().filter(|source| !self.has(source)) {
            for policy in users.remove(&**source).unwrap_or_default() {
                warn!(policy, source = &**source, "{NO_FACTS}");
            }
        }
        Ok(())
    }
}

// === impl Debouncer ===

impl Debouncer {
    fn new(text: Vec<u8>) -> Self {
        Self { last: Ok(text.clone()), judged: Ok(text) }
    }

    /// Adds a state, and returns it if it has to be judged.
    fn add(&mut self, state: FileState) -> Option<FileState> {
        let before = mem::replace(&mut self.last, state);
        if before != self.last || self.last == self.judged {
            return None;
        }
        self.judged.clone_from(&self.last);
        Some(self.last.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_judged_once_when_it_stays() {
        let mut debouncer = Debouncer::new(b"a".to_vec());
        let (text, gone) = (|text: &str| Ok(text.as_bytes().to_vec()), || Err("gone".to_owned()));
        let story = [
            (text("a"), false),
            (text("b"), false),
            (text("c"), false),
            (text("c"), true),
            (text("c"), false),
            (gone(), false),
            (text("c"), false),
            (text("c"), false),
            (gone(), false),
            (gone(), true),
            (text("c"), false),
            (text("c"), true),
        ];
        for (at, (state, is_judged)) in story.into_iter().enumerate() {
            assert_eq!(debouncer.add(state).is_some(), is_judged, "{at}");
        }
    }
}
