//! The actors: each does one kind of work on the gateway, on a thread of its own.

mod cluster;
mod guests;
mod reloads;
mod requests;
mod scheduler;
mod steps;
mod unchanging;

use std::time::Duration;

use anyhow::{Result, ensure};

use self::steps::repeat;
use crate::{stage::Stage, tally::Outcome::Done};

/// One kind of work, by its name in `--only`.
pub(crate) type Actor = (&'static str, fn(&Stage));

/// All actors.
const ALL: [Actor; 14] = [
    ("names", unchanging::names),
    ("names", unchanging::names),
    ("objects", unchanging::whole_nodes),
    ("unseen", unchanging::unseen),
    ("preempt", unchanging::preempt),
    ("bind", |stage| scheduler::run(stage, "first", 1)),
    ("bind", |stage| scheduler::run(stage, "second", 2)),
    ("changes", cluster::changes),
    ("outages", cluster::outages),
    ("reloads", reloads::swaps),
    ("guests", guests::hostile_ones),
    ("guests", guests::fill_stacks),
    ("guests", guests::fill_slots),
    ("pages", pages),
];

/// The actors of these names; without names, all.
pub(crate) fn chosen(only: &[String]) -> Result<Vec<Actor>> {
    let unknown = only.iter().find(|name| !ALL.iter().any(|(actor, _)| actor == name));
    ensure!(unknown.is_none(), "--only {}: expected some of {:?}", only.join(","), ALL.map(|(name, _)| name));
    let is_chosen = |(name, _): &Actor| only.is_empty() || only.iter().any(|only| only == name);
    Ok(ALL.into_iter().filter(is_chosen).collect())
}

/// Reads the admin listener as Prometheus, kubelet and a person would.
fn pages(stage: &Stage) {
    let pages = ["/healthz", "/readyz", "/metrics", "/api/policies", "/api/leader", "/api/table?policy=tenant-pool"];
    repeat(
        stage,
        "admin page",
        |_| Duration::from_secs(1),
        |_, number| {
            let page = pages[number as usize % pages.len()];
            // On a connection of its own, which is closed before descriptors are compared.
            let (status, text) = plimsoll_harness::get(stage.gateway.admin, page)?;
            ensure!(status == 200, "{page}: {status}: {text}");
            Ok(Done)
        },
    );
}
