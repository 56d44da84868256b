//! There are never two leaders, whatever the network, the clocks and the scheduler of the machine do.

use std::{cmp::Reverse, collections::BinaryHeap};

use plimsoll_random::Random;
use proptest::prelude::*;

use super::{
    tests::{LEASE, config},
    *,
};

/// An event; times are milliseconds of the real world.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ElectionEvent {
    /// A candidate does its next step.
    Run(usize),
    /// A request arrives at the API server.
    Arrive(usize, u64),
    /// A reply comes back, or the candidate stops waiting for it.
    Return(usize, u64),
    /// The process dies and another is started in its place.
    Crash(usize),
    /// The process shuts down and another is started in its place.
    Release(usize),
    /// Somebody deletes the Lease.
    Delete,
}

struct Contender {
    election: Election,
    /// Of a thousand ticks of the real clock; clocks run within 5 % of each other.
    ticks: u64,
    frozen_until: u64,
    request: u64,
    step: Option<(ElectionStep, Instant)>,
    reply: Option<Result<Option<Lease>, ()>>,
}

struct ElectionWorld {
    random: Random,
    now: u64,
    start: Instant,
    events: BinaryHeap<Reverse<(u64, u64, ElectionEvent)>>,
    order: u64,
    candidates: Vec<Contender>,
    /// Dead processes: their last writes may still arrive for as long as they would have held the Lease.
    ghosts: Vec<Contender>,
    lease: Option<Lease>,
    version: u64,
    started: u64,
    /// The share of failures in this world, in percent.
    trouble: u64,
    terms: u64,
}

// === impl ElectionWorld ===

impl ElectionWorld {
    fn new(seed: u64, candidates: usize, trouble: u64) -> Self {
        let mut world = Self {
            random: Random::new(seed),
            now: 0,
            start: Instant::now(),
            events: BinaryHeap::new(),
            order: 0,
            candidates: Vec::new(),
            ghosts: Vec::new(),
            lease: None,
            version: 0,
            started: 0,
            trouble,
            terms: 0,
        };
        for index in 0..candidates {
            let contender = world.contender();
            world.candidates.push(contender);
            world.at(0, ElectionEvent::Run(index));
        }
        world
    }

    fn contender(&mut self) -> Contender {
        self.started += 1;
        let ticks = 950 + self.pick(101);
        let now = self.start + Duration::from_micros(self.now * ticks);
        let election = Election::new(config(&format!("candidate-{}", self.started)), now);
        Contender { election, ticks, frozen_until: 0, request: 0, step: None, reply: None }
    }

    /// Runs for so long; every event is followed by a look at who believes to lead.
    fn run(&mut self, until: u64) {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > until {
                self.at(at, event);
                break;
            }
            self.now = at;
            self.happen(event);
            self.check();
        }
        self.now = until;
    }

    fn happen(&mut self, event: ElectionEvent) {
        match event {
            ElectionEvent::Run(index) | ElectionEvent::Return(index, _)
                if self.candidates[index].frozen_until > self.now =>
            {
                self.at(self.candidates[index].frozen_until, event);
            }
            ElectionEvent::Run(index) => self.step(index),
            ElectionEvent::Arrive(index, request) => self.arrive(index, request),
            ElectionEvent::Return(index, request) => self.answer(index, request),
            ElectionEvent::Crash(index) => self.replace(index),
            ElectionEvent::Release(index) => {
                let now = self.local(index);
                if let Some(released) = self.candidates[index].election.release(now) {
                    // It arrives whenever it likes, or never.
                    if !self.is_trouble() {
                        let _ = self.write(released);
                    }
                }
                self.replace(index);
            }
            ElectionEvent::Delete => self.lease = None,
        }
    }

    fn step(&mut self, index: usize) {
        let now = self.local(index);
        if self.candidates[index].step.is_some() {
            return;
        }
        self.disturb(index);
        match self.candidates[index].election.step(now) {
            ElectionStep::Wait(until) => {
                let wait = until.saturating_duration_since(now).as_micros() as u64;
                let wait = wait.div_ceil(self.candidates[index].ticks).max(1);
                self.at(self.now + wait, ElectionEvent::Run(index));
            }
            step => self.send(index, step, now),
        }
    }

    fn send(&mut self, index: usize, step: ElectionStep, sent: Instant) {
        let contender = &mut self.candidates[index];
        contender.request += 1;
        contender.step = Some((step, sent));
        contender.reply = None;
        let request = contender.request;
        // Its own thread may be frozen before the request leaves, and the network may be slow, both ways.
        let leaves = contender.frozen_until.max(self.now);
        let (there, back) = (self.delay(), self.delay());
        if !self.is_trouble() {
            self.at(leaves + there, ElectionEvent::Arrive(index, request));
            if !self.is_trouble() {
                self.at(leaves + there + back, ElectionEvent::Return(index, request));
            }
        }
        let patience = LeaseTimings::new(LEASE).renew().as_micros() as u64;
        self.at(self.now + patience.div_ceil(self.candidates[index].ticks), ElectionEvent::Return(index, request));
    }

    /// A request that its sender no longer waits for is carried out all the same.
    fn arrive(&mut self, index: usize, request: u64) {
        let contender = &self.candidates[index];
        // A later request of the same connection, or another process, has taken its place.
        let Some((step, _)) = contender.step.clone().filter(|_| contender.request == request) else { return };
        let reply = match step {
            ElectionStep::Read => Ok(self.lease.clone()),
            ElectionStep::Write(lease) => self.write(*lease).map(Some),
            ElectionStep::Wait(_) => unreachable!("nothing is sent"),
        };
        self.candidates[index].reply = Some(reply);
    }

    fn write(&mut self, mut lease: Lease) -> Result<Lease, ()> {
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        if self.lease.as_ref().map(version) != version(&lease).map(Some) {
            return Err(());
        }
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        Ok(self.lease.insert(lease).clone())
    }

    fn answer(&mut self, index: usize, request: u64) {
        let now = self.local(index);
        let contender = &mut self.candidates[index];
        if contender.request != request {
            return;
        }
        let Some((step, sent)) = contender.step.take() else { return };
        let reply = contender.reply.take();
        let held = contender.election.hold(now).map(|term| term.number());
        match step {
            ElectionStep::Read => contender.election.read(now, reply.unwrap_or(Err(()))),
            ElectionStep::Write(_) => {
                let result = reply.unwrap_or(Err(()));
                contender.election.wrote(sent, now, result.map(|lease| lease.expect("a write leaves a Lease")));
            }
            ElectionStep::Wait(_) => unreachable!("nothing is sent"),
        }
        let holds = contender.election.hold(now).map(|term| term.number());
        self.terms += u64::from(holds.is_some() && holds != held);
        self.at(self.now, ElectionEvent::Run(index));
    }

    /// Freezes, crashes, shut-downs and deletions.
    fn disturb(&mut self, index: usize) {
        if !self.is_trouble() {
            return;
        }
        let soon = self.now + self.pick(3_000);
        match self.pick(12) {
            0..8 => self.candidates[index].frozen_until = self.now + self.pick(25_000),
            8 => self.at(soon, ElectionEvent::Crash(index)),
            9 => self.at(soon, ElectionEvent::Release(index)),
            10 => self.at(soon, ElectionEvent::Delete),
            _ => {}
        }
    }

    fn replace(&mut self, index: usize) {
        let next = self.contender();
        let request = self.candidates[index].request;
        let dead = std::mem::replace(&mut self.candidates[index], Contender { request: request + 1, ..next });
        self.ghosts.push(dead);
        self.at(self.now, ElectionEvent::Run(index));
    }

    /// At one real moment at most one of all that live and lived believes to hold the Lease.
    fn check(&self) {
        let leads = |contender: &&Contender| contender.election.hold(self.local_of(contender)).is_some();
        let leaders: Vec<_> = self.candidates.iter().chain(&self.ghosts).filter(leads).collect();
        let names: Vec<_> = leaders.iter().map(|leader| &leader.election.config.identity).collect();
        assert!(leaders.len() <= 1, "{names:?} lead at {} ms, the Lease is {:?}", self.now, self.lease);
    }

    fn local(&self, index: usize) -> Instant {
        self.local_of(&self.candidates[index])
    }

    fn local_of(&self, contender: &Contender) -> Instant {
        self.start + Duration::from_micros(self.now * contender.ticks)
    }

    fn at(&mut self, at: u64, event: ElectionEvent) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    fn delay(&mut self) -> u64 {
        if self.is_trouble() { self.pick(30_000) } else { self.pick(20) }
    }

    fn is_trouble(&mut self) -> bool {
        self.pick(100) < self.trouble
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.random.below(below)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn there_are_never_two_leaders(seed: u64, candidates in 2_usize..5, trouble in 0_u64..60) {
        ElectionWorld::new(seed, candidates, trouble).run(600_000);
    }

    #[test]
    fn once_the_world_is_calm_there_is_one_leader(seed: u64, candidates in 1_usize..5, trouble in 0_u64..60) {
        let mut world = ElectionWorld::new(seed, candidates, trouble);
        world.run(100_000);
        world.trouble = 0;
        // Frozen processes continue, requests under way arrive, and the last Lease expires.
        world.run(100_000 + 30_000 + 60_000 + 30_000);
        let leads = |contender: &&Contender| contender.election.hold(world.local_of(contender)).is_some();
        prop_assert_eq!(world.candidates.iter().filter(leads).count(), 1);
    }
}

#[test]
fn the_worlds_of_these_laws_are_not_idle() {
    let terms: u64 = (1..=20)
        .map(|seed| {
            let mut world = ElectionWorld::new(seed, 3, 30);
            world.run(600_000);
            world.terms
        })
        .sum();
    assert!(terms > 60, "{terms} terms in 20 worlds");
}
