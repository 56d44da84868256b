//! Those who work on the gateway, each on a thread of its own.

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

/// Starts all actors, which wait at the gate; how many there are.
pub(crate) fn start<'scope>(scope: &'scope Scope<'scope, '_>, stage: &'scope Stage) -> usize {
    let actors: [fn(&Stage); 16] = [
        static_load::names,
        static_load::names,
        static_load::whole_nodes,
        static_load::unseen,
        preempt::preempt,
        scheduler::first,
        scheduler::second,
        cluster::changes,
        cluster::outages,
        reloads::swaps,
        reloads::asks,
        hostile::guests,
        bodies::bodies,
        connections::slow,
        connections::churn,
        h2::streams,
    ];
    for actor in actors {
        scope.spawn(move || actor(stage));
    }
    scope.spawn(move || pages::read(stage));
    actors.len() + 1
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
