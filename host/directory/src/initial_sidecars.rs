//! Reads the sidecars at the start: which pods a policy concerns is known before it is loaded.

use std::{
    collections::BTreeMap,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    DirectoryConfig,
    scan::{PolicyId, Scan},
    source::SidecarSummary,
};

/// The time that the start waits for sidecars: a hanging file system must not keep the listeners closed.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// The summary of every sidecar that can be read in time.
pub(crate) fn read_sidecars(config: &DirectoryConfig, scan: &Scan) -> BTreeMap<PolicyId, Option<SidecarSummary>> {
    let (sender, summaries) = mpsc::channel();
    let (root, bounds, policies) = (config.path.clone(), config.bounds(), scan.policies());
    let read = move || {
        for (id, sources) in policies {
            let summary = SidecarSummary::read(&root, &sources, &bounds).ok();
            if sender.send((id, summary)).is_err() {
                return;
            }
        }
    };
    let mut sidecars = BTreeMap::new();
    if let Err(error) = thread::Builder::new().name("sidecars".to_owned()).spawn(read) {
        // An unknown sidecar counts as "every pod".
        tracing::warn!(%error, "the sidecars cannot be read ahead: until it is loaded, each policy concerns every pod");
        return sidecars;
    }
    let deadline = Instant::now() + START_TIMEOUT;
    while let Ok((id, summary)) = summaries.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        sidecars.insert(id, summary);
    }
    sidecars
}
