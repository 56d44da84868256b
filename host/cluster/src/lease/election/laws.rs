//! Whatever the network, the clocks and the scheduler of the machine do, there are never two leaders.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::Arc,
    time::{Duration, Instant},
};

use proptest::prelude::*;

use super::*;

const LEASE: Duration = Duration::from_secs(10);

/// What happens, in an order of its own; times are milliseconds of the real world.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A candidate does its next step.
    Run(usize),
    /// A request comes to the API server.
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

struct Candidate {
    election: Election,
    /// Of a thousand ticks of the real clock; clocks run within 5 % of each other.
    ticks: u64,
    frozen_until: u64,
    request: u64,
    step: Option<(Step, Instant)>,
    reply: Option<Result<Option<Record>, NotWritten>>,
}

struct World {
    random: u64,
    now: u64,
    start: Instant,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    candidates: Vec<Candidate>,
    /// Dead processes: what they wrote last may be under way as long as they would have held the Lease.
    ghosts: Vec<Candidate>,
    lease: Option<Record>,
    version: u64,
    started: u64,
    /// How bad the world is, in percent.
    trouble: u64,
    terms: u64,
}

// === impl World ===

impl World {
    fn new(seed: u64, candidates: usize, trouble: u64) -> Self {
        let mut world = Self {
            random: seed | 1,
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
            let candidate = world.candidate();
            world.candidates.push(candidate);
            world.at(0, Event::Run(index));
        }
        world
    }

    fn candidate(&mut self) -> Candidate {
        self.started += 1;
        let ticks = 950 + self.pick(101);
        let (me, pace) = (Arc::from(format!("candidate-{}", self.started)), Pace::new(LEASE));
        let now = self.start + Duration::from_micros(self.now * ticks);
        let election = Election::new(me, pace, now);
        Candidate { election, ticks, frozen_until: 0, request: 0, step: None, reply: None }
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

    fn happen(&mut self, event: Event) {
        match event {
            Event::Run(index) | Event::Return(index, _) if self.candidates[index].frozen_until > self.now => {
                self.at(self.candidates[index].frozen_until, event);
            }
            Event::Run(index) => self.step(index),
            Event::Arrive(index, request) => self.arrive(index, request),
            Event::Return(index, request) => self.answer(index, request),
            Event::Crash(index) => self.replace(index),
            Event::Release(index) => {
                let now = self.local(index);
                if let Some(claim) = self.candidates[index].election.release(now) {
                    // It arrives whenever it likes, or never.
                    if !self.is_trouble() {
                        let _ = self.write(&claim);
                    }
                }
                self.replace(index);
            }
            Event::Delete => self.lease = None,
        }
    }

    fn step(&mut self, index: usize) {
        let now = self.local(index);
        if self.candidates[index].step.is_some() {
            return;
        }
        self.disturb(index);
        match self.candidates[index].election.step(now) {
            Step::Wait(until) => {
                let wait = until.saturating_duration_since(now).as_micros() as u64;
                let wait = wait.div_ceil(self.candidates[index].ticks).max(1);
                self.at(self.now + wait, Event::Run(index));
            }
            step => self.send(index, step, now),
        }
    }

    fn send(&mut self, index: usize, step: Step, sent: Instant) {
        let candidate = &mut self.candidates[index];
        candidate.request += 1;
        candidate.step = Some((step, sent));
        candidate.reply = None;
        let request = candidate.request;
        // Its own thread may be frozen before the request leaves, and the network may be slow, both ways.
        let leaves = candidate.frozen_until.max(self.now);
        let (there, back) = (self.delay(), self.delay());
        if !self.is_trouble() {
            self.at(leaves + there, Event::Arrive(index, request));
            if !self.is_trouble() {
                self.at(leaves + there + back, Event::Return(index, request));
            }
        }
        let patience = Pace::new(LEASE).patience().as_micros() as u64;
        self.at(self.now + patience.div_ceil(self.candidates[index].ticks), Event::Return(index, request));
    }

    /// A request that its sender no longer waits for is carried out all the same.
    fn arrive(&mut self, index: usize, request: u64) {
        let candidate = &self.candidates[index];
        // A later request of the same connection, or another process, has taken its place.
        let Some((step, _)) = candidate.step.clone().filter(|_| candidate.request == request) else { return };
        let reply = match step {
            Step::Read => Ok(self.lease.clone()),
            Step::Write(claim) => self.write(&claim).map(Some),
            Step::Wait(_) => unreachable!("nothing is sent"),
        };
        self.candidates[index].reply = Some(reply);
    }

    fn write(&mut self, claim: &Claim) -> Result<Record, NotWritten> {
        if self.lease.as_ref().map(|lease| &lease.version) != claim.version.as_ref() {
            return Err(NotWritten::Conflict);
        }
        self.version += 1;
        let version = self.version.to_string().into();
        let record = Record { holder: claim.holder.clone(), url: None, pace: Pace::new(LEASE), version };
        self.lease = Some(record.clone());
        Ok(record)
    }

    fn answer(&mut self, index: usize, request: u64) {
        let now = self.local(index);
        let candidate = &mut self.candidates[index];
        if candidate.request != request {
            return;
        }
        let Some((step, sent)) = candidate.step.take() else { return };
        let reply = candidate.reply.take();
        let held = candidate.election.hold(now).map(|hold| hold.term);
        match step {
            Step::Read => candidate.election.read(now, reply.unwrap_or(Err(NotWritten::Unknown)).map_err(drop)),
            Step::Write(claim) => {
                let result = reply.unwrap_or(Err(NotWritten::Unknown));
                let result = result.map(|record| record.expect("a write leaves a Lease"));
                candidate.election.wrote(sent, now, &claim, result);
            }
            Step::Wait(_) => unreachable!("nothing is sent"),
        }
        let holds = candidate.election.hold(now).map(|hold| hold.term);
        self.terms += u64::from(holds.is_some() && holds != held);
        self.at(self.now, Event::Run(index));
    }

    /// Freezes, crashes, shut-downs and deletions.
    fn disturb(&mut self, index: usize) {
        if !self.is_trouble() {
            return;
        }
        let soon = self.now + self.pick(3_000);
        match self.pick(12) {
            0..8 => self.candidates[index].frozen_until = self.now + self.pick(25_000),
            8 => self.at(soon, Event::Crash(index)),
            9 => self.at(soon, Event::Release(index)),
            10 => self.at(soon, Event::Delete),
            _ => {}
        }
    }

    fn replace(&mut self, index: usize) {
        let next = self.candidate();
        let request = self.candidates[index].request;
        let dead = std::mem::replace(&mut self.candidates[index], Candidate { request: request + 1, ..next });
        self.ghosts.push(dead);
        self.at(self.now, Event::Run(index));
    }

    /// At one real moment at most one of all that live and lived believes to hold the Lease.
    fn check(&self) {
        let leads = |candidate: &&Candidate| candidate.election.hold(self.local_of(candidate)).is_some();
        let leaders: Vec<_> = self.candidates.iter().chain(&self.ghosts).filter(leads).collect();
        let names: Vec<_> = leaders.iter().map(|leader| &leader.election.me).collect();
        assert!(leaders.len() <= 1, "{names:?} lead at {} ms, the Lease is {:?}", self.now, self.lease);
    }

    fn local(&self, index: usize) -> Instant {
        self.local_of(&self.candidates[index])
    }

    fn local_of(&self, candidate: &Candidate) -> Instant {
        self.start + Duration::from_micros(self.now * candidate.ticks)
    }

    fn at(&mut self, at: u64, event: Event) {
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
        // xorshift64: all that is needed is variety.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn there_are_never_two_leaders(seed: u64, candidates in 2_usize..5, trouble in 0_u64..60) {
        World::new(seed, candidates, trouble).run(600_000);
    }

    #[test]
    fn once_the_world_is_calm_there_is_one_leader(seed: u64, candidates in 1_usize..5, trouble in 0_u64..60) {
        let mut world = World::new(seed, candidates, trouble);
        world.run(100_000);
        world.trouble = 0;
        // What was frozen thaws, what was under way arrives, and the last Lease runs out.
        world.run(100_000 + 30_000 + 60_000 + 30_000);
        let leads = |candidate: &&Candidate| candidate.election.hold(world.local_of(candidate)).is_some();
        prop_assert_eq!(world.candidates.iter().filter(leads).count(), 1);
    }
}

#[test]
fn the_worlds_of_these_laws_are_not_idle() {
    let terms: u64 = (1..=20)
        .map(|seed| {
            let mut world = World::new(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed), 3, 30);
            world.run(600_000);
            world.terms
        })
        .sum();
    assert!(terms > 60, "{terms} terms in 20 worlds");
}
