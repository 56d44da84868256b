//! The actors: each does one kind of work on the gateway, on a thread of its own.

mod attacks;
mod bodies;
mod cluster;
mod connections;
mod h2;
mod hostile;
mod pages;
mod preempt;
mod reloads;
mod requests;
mod scheduler;
mod stacks;
mod static_load;

use std::thread::Scope;

use plimsoll_random::Random;

pub(crate) use self::stacks::module as deep_module;

use crate::stage::Stage;

/// One kind of work, by its name in `--only`.
pub(crate) type Actor = (&'static str, fn(&Stage));

/// All actors.
pub(crate) const ALL: [Actor; 18] = [
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
    ("bytes", bodies::bodies),
    ("slow", connections::slow),
    ("churn", connections::churn),
    ("h2", h2::streams),
    ("pages", pages::read),
];

/// Starts actors, which wait at the gate.
pub(crate) fn start<'scope>(scope: &'scope Scope<'scope, '_>, actors: &[Actor], stage: &'scope Stage) {
    for (_, actor) in actors {
        let actor = *actor;
        scope.spawn(move || actor(stage));
    }
}

/// The random numbers of one actor, by the soak's seed and the actor's name.
pub(crate) fn random(stage: &Stage, actor: &str) -> Random {
    // FNV-1a.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Random::new(stage.seed ^ actor.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
}
