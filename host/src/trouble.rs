//! The failure of a task that writes to the API server, for as long as it lasts.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::{info, warn};

/// What such a task cannot do now: the log has it once, and `/readyz` as long as it lasts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trouble(Arc<Mutex<Option<String>>>);

// === impl Trouble ===

impl Trouble {
    /// Notes whether it has worked. `effect` says what does not happen while it fails; `object` is what was written.
    pub(crate) fn note(&self, effect: &str, object: &str, outcome: Result<(), &str>) {
        let mut note = self.0.lock();
        match outcome {
            Ok(()) => {
                if note.take().is_some() {
                    info!(object, "this works again: {effect}");
                }
            }
            Err(error) => {
                let text = format!("{effect}: {object}: {error}");
                if note.as_ref() != Some(&text) {
                    warn!(object, error, "{effect}");
                    *note = Some(text);
                }
            }
        }
    }

    /// What does not work now.
    pub(crate) fn text(&self) -> Option<String> {
        self.0.lock().clone()
    }
}
