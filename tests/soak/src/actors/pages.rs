//! Reads the admin listener as Prometheus, kubelet and a person would.

use std::time::Duration;

use crate::stage::Stage;

const EVERY: Duration = Duration::from_secs(1);

pub(crate) fn read(stage: &Stage) {
    let pages = ["/healthz", "/readyz", "/metrics", "/api/policies", "/api/leader", "/api/table?policy=tenant-pool"];
    let mut turn = 0;
    while stage.gate.enter() {
        while stage.gate.pause(EVERY) {
            let page = pages[turn % pages.len()];
            turn += 1;
            match stage.get(page) {
                Ok((200, _)) => stage.tally.ok("admin page", None),
                Ok((status, text)) => stage.tally.failure("admin page", format!("{page}: {status}: {text}")),
                Err(error) => stage.tally.failure("admin page", format!("{page}: {error:#}")),
            }
        }
    }
}
