//! The actors: each does one kind of work on the gateway, on a thread of its own.

mod cluster;
mod hostile;
mod pages;
mod preempt;
mod reloads;
mod requests;
mod scheduler;
mod slots;
mod stacks;
mod static_load;

use std::thread::Scope;

use anyhow::{Result, ensure};

use crate::stage::Stage;

/// One kind of work, by its name in `--only`.
pub(crate) type Actor = (&'static str, fn(&Stage));

/// All actors.
const ALL: [Actor; 15] = [
    ("names", static_load::names),
    ("names", static_load::names),
    ("objects", static_load::whole_nodes),
    ("unseen", static_load::unseen),
    ("preempt", preempt::preempt),
    ("bind", scheduler::first),
    ("bind", scheduler::second),
    ("changes", cluster::changes),
    ("outages", cluster::outages),
    ("reloads", reloads::swaps),
    ("reloads", reloads::asks),
    ("guests", hostile::guests),
    ("guests", stacks::deep),
    ("guests", slots::fill),
    ("pages", pages::read),
];

/// The actors of these names; without names, all.
///
/// # Errors
/// If a name is unknown.
pub(crate) fn chosen(only: &[String]) -> Result<Vec<Actor>> {
    let unknown = only.iter().find(|name| !ALL.iter().any(|(actor, _)| actor == name));
    ensure!(unknown.is_none(), "--only {}: expected some of {:?}", only.join(","), ALL.map(|(name, _)| name));
    let is_chosen = |(name, _): &Actor| only.is_empty() || only.iter().any(|only| only == name);
    Ok(ALL.into_iter().filter(is_chosen).collect())
}

/// Starts actors, which wait at the gate.
pub(crate) fn start<'scope>(scope: &'scope Scope<'scope, '_>, actors: &[Actor], stage: &'scope Stage) {
    for (_, actor) in actors {
        let actor = *actor;
        scope.spawn(move || actor(stage));
    }
}
