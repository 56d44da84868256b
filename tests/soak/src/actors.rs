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
mod static_load;

use std::thread::Scope;

use crate::stage::Stage;

/// One kind of work, by its name in `--only`.
pub(crate) type Actor = (&'static str, fn(&Stage));

/// All actors.
pub(crate) const ALL: [Actor; 17] = [
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

/// Random numbers that are the same for the same seed.
pub(crate) struct Dice(u64);

// === impl Dice ===

impl Dice {
    /// Of one actor, by the soak's seed and the actor's name.
    pub(crate) fn new(stage: &Stage, actor: &str) -> Self {
        let name = actor
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        // Never zero, where xorshift stays.
        Self((stage.seed ^ name) | 1)
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % sides.max(1)
    }
}
