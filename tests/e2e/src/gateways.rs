//! Running gateways, as they see themselves.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use plimsoll_harness::Plimsoll;
use serde_json::Value;

/// The pause between two looks at how far the pods are: more would take the machine away from those who work.
const LOOK: Duration = Duration::from_millis(50);

/// Pods that are not bound by then never will be.
const PATIENCE: Duration = Duration::from_mins(5);

/// Whether a gateway says that it may bind; one that is frozen says nothing.
pub fn may_write(gateway: &Plimsoll) -> bool {
    let page = gateway.get_quickly("/api/leader").ok();
    let page = page.and_then(|page| serde_json::from_str::<Value>(&page.body).ok());
    page.is_some_and(|page| page["mayWrite"] == true)
}

/// Waits until a gateway sees this many pods on nodes.
pub fn wait_for_bound(gateways: &[Plimsoll], pods: usize) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let metrics = gateways.iter().find_map(|gateway| gateway.get_quickly("/metrics").ok());
        let value = |name: &str| {
            let line = metrics.as_ref()?.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line?.trim().parse::<usize>().ok()
        };
        if value("plimsoll_cluster_pods").is_some_and(|bound| bound >= pods) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "waited {PATIENCE:?} in vain for {pods} pods to be bound");
        #[expect(
            clippy::disallowed_methods,
            reason = "a question each 2 ms takes the machine away from those who work"
        )]
        thread::sleep(LOOK);
    }
}
