//! The world of one run: its processes, and the events in order of their time.

mod event;
mod network;
mod scheduler;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    fmt::Write,
    time::Duration,
};

use plimsoll_random::Random;
use tokio::sync::oneshot;

use self::event::{Pending, ScheduledEvent, SimulationEvent, Watch};
use super::{
    api::SimulatedApi,
    process::{Back, Limits, Process, Sent},
    sabotage::Defect,
};

/// The Lease of these worlds; all other times follow from it.
pub(super) const LEASE: Duration = Duration::from_secs(2);

/// The time for which a world is in trouble, and then that in which it gets well. Microseconds, as all times here.
const TROUBLE: u64 = 20_000_000;
const RECOVERY: u64 = 240_000_000;

/// The longest that the scheduler waits for an answer to a bind; then it tries again.
const SCHEDULER_TIMEOUT: u64 = 3_000_000;

const MILLISECOND: u64 = 1_000;

pub(super) fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// Counts of events in worlds, to check that they are not idle.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) binds: u64,
    pub(super) unknown: u64,
    pub(super) terms: u64,
    pub(super) requests: u64,
    pub(super) freezes: u64,
    pub(super) crashes: u64,
    pub(super) stops: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.binds += other.binds;
        self.unknown += other.unknown;
        self.terms += other.terms;
        self.requests += other.requests;
        self.freezes += other.freezes;
        self.crashes += other.crashes;
        self.stops += other.stops;
    }
}

pub(super) struct World {
    chance: Random,
    now: u64,
    order: u64,
    events: BinaryHeap<Reverse<ScheduledEvent>>,
    api: SimulatedApi,
    processes: Vec<Process>,
    watches: BTreeMap<u64, Watch>,
    next_watch: u64,
    /// Lost replies: their receivers wait for ever.
    lost: Vec<oneshot::Sender<Back>>,
    pending: BTreeMap<String, Pending>,
    attempts: u64,
    uids: u64,
    limits: Limits,
    /// The shares of failures in percent: in this world, and in its watches.
    trouble: u64,
    lagging: u64,
    hiccup_until: u64,
    fault: Option<Defect>,
    tally: Tally,
    /// Whether it prints its events.
    tells: bool,
}

// === impl World ===

impl World {
    pub(super) fn new(seed: u64, fault: Option<Defect>) -> Self {
        let mut chance = Random::new(seed);
        let (nodes, pods) = (2 + chance.below(2), 2 + chance.below(4));
        let (trouble, lagging) = (chance.below(40), chance.below(60));
        // In every other world one pod is left over at the end.
        let seats = (pods - chance.below(2)) as usize;
        let mut world = Self {
            chance,
            now: 0,
            order: 0,
            events: BinaryHeap::new(),
            api: SimulatedApi::new(nodes, seats),
            processes: Vec::new(),
            watches: BTreeMap::new(),
            next_watch: 0,
            lost: Vec::new(),
            pending: BTreeMap::new(),
            attempts: 0,
            uids: 0,
            // As few as will do, so that pods meet.
            limits: Limits { devices: pods.div_ceil(nodes) + 1, seats },
            trouble,
            lagging,
            hiccup_until: 0,
            fault,
            tally: Tally::default(),
            tells: false,
        };
        for index in 0..2 {
            let process = Process::start(0, index, &mut world.chance, trouble, fault);
            world.processes.push(process);
        }
        for pod in 0..pods {
            let at = world.chance.below(TROUBLE / 2);
            world.at(at, SimulationEvent::CreatePod(format!("p{pod}")));
        }
        world.plan_mishaps(pods);
        world.at(TROUBLE, SimulationEvent::Calm);
        world
    }

    /// Prints its events.
    pub(super) fn telling(mut self) -> Self {
        self.tells = true;
        self
    }

    fn plan_mishaps(&mut self, pods: u64) {
        for _ in 0..self.chance.below(14) {
            let (at, process) = (self.chance.below(TROUBLE), self.chance.below(2) as usize);
            let event = match self.chance.below(14) {
                0..3 => SimulationEvent::Freeze(process),
                3 => SimulationEvent::Crash(process),
                12..14 => SimulationEvent::Stop(process),
                4 => SimulationEvent::DeleteLease,
                5 => SimulationEvent::DeletePod(format!("p{}", self.chance.below(pods))),
                _ => SimulationEvent::Hiccup(self.chance.below(4_000) * MILLISECOND),
            };
            self.at(at, event);
        }
    }

    /// Runs to the end; panics if something is not as it must be.
    pub(super) fn run(mut self) -> Tally {
        loop {
            let Some(Reverse(ScheduledEvent(at, ..))) = self.events.peek() else { panic!("the world stands still") };
            let at = *at;
            if self.run_processes(at) {
                continue;
            }
            let Some(Reverse(ScheduledEvent(at, _, event))) = self.events.pop() else { continue };
            (self.now, self.api.now) = (at, at);
            if matches!(event, SimulationEvent::Look) {
                if self.is_well() {
                    self.tally.terms += self.processes.iter().map(|process| process.terms).sum::<u64>();
                    return self.tally.clone();
                }
                assert!(self.now < TROUBLE + RECOVERY, "something is lost: {}", self.not_well());
                self.at(self.now + 500 * MILLISECOND, SimulationEvent::Look);
            } else {
                self.happen(event);
            }
        }
    }

    /// Runs every process up to this moment, the one that is behind first; whether something left one.
    fn run_processes(&mut self, until: u64) -> bool {
        let mut order: Vec<usize> = (0..self.processes.len()).collect();
        order.sort_by_key(|index| self.processes[*index].at);
        for index in order {
            let process = &mut self.processes[index];
            if process.frozen_until > process.at || process.at >= until {
                continue;
            }
            let outbox = process.run(until);
            let (at, identity) = (process.at, process.identity().to_owned());
            let is_news = !outbox.sent.is_empty() || !outbox.outcomes.is_empty() || outbox.is_frozen;
            if outbox.is_frozen && self.trouble > 0 {
                self.freeze(index, at);
            }
            for sent in self.in_order(outbox.sent) {
                self.send(at, identity.clone(), sent);
            }
            for (order, outcome) in outbox.outcomes {
                self.tell(at, || format!("gateway-{index}: {} on {}: {outcome:?}", order.pod, order.node));
                self.decided(at, order, outcome);
            }
            if is_news {
                return true;
            }
        }
        false
    }

    /// Requests of one moment, in an order that only the seed decides: tokio's `watch` wakes its receivers in an order
    /// of its own, another one in each run.
    fn in_order(&mut self, mut sent: Vec<Sent>) -> Vec<Sent> {
        sent.sort_by(|a, b| (&a.target, a.method.as_str()).cmp(&(&b.target, b.method.as_str())));
        for last in (1..sent.len()).rev() {
            sent.swap(last, self.chance.below(last as u64 + 1) as usize);
        }
        sent
    }

    fn happen(&mut self, event: SimulationEvent) {
        match event {
            SimulationEvent::Arrive { identity, sent } => self.arrive(&identity, sent),
            SimulationEvent::Return(reply, back) => drop(reply.send(back)),
            SimulationEvent::Show(watch) => self.show(watch),
            SimulationEvent::Cut(watch) => drop(self.watches.remove(&watch)),
            SimulationEvent::Schedule(pod) => self.schedule(pod),
            SimulationEvent::Ask(index, order) => {
                let asking =
                    Duration::from_millis(if self.chance.percent(self.trouble) { self.chance.below(200) } else { 1 });
                self.processes[index].bind(order, self.limits, asking);
            }
            SimulationEvent::Hear(order, outcome) => self.hear(order, &outcome),
            SimulationEvent::Thaw(index) => {
                if self.processes[index].frozen_until <= self.now {
                    self.processes[index].thaw(self.now);
                }
            }
            SimulationEvent::Freeze(index) => self.freeze(index, self.now),
            SimulationEvent::Crash(index) => self.crash(index),
            SimulationEvent::Stop(index) => self.stop(index),
            SimulationEvent::DeletePod(name) => self.delete_pod(name),
            SimulationEvent::CreatePod(name) => self.create_pod(name),
            SimulationEvent::DeleteLease => self.api.delete_lease(),
            SimulationEvent::Hiccup(length) => self.hiccup(length),
            SimulationEvent::Calm => {
                self.hiccup_until = 0;
                (self.trouble, self.lagging) = (0, 0);
                self.at(self.now + 1, SimulationEvent::Look);
            }
            SimulationEvent::Look => unreachable!("the loop looks"),
        }
    }

    fn delete_pod(&mut self, name: String) {
        self.tell(self.now, || format!("{name} is deleted"));
        self.api.delete(&name);
        self.happened();
        let again = self.now + self.chance.below(2_000) * MILLISECOND;
        self.at(again, SimulationEvent::CreatePod(name));
    }

    fn create_pod(&mut self, name: String) {
        if !self.api.pods.contains_key(&name) {
            self.uids += 1;
            self.api.create(&name, format!("u{}", self.uids));
            self.pending.insert(name.clone(), Pending::default());
            self.at(self.now + MILLISECOND, SimulationEvent::Schedule(name));
        }
    }

    fn hiccup(&mut self, length: u64) {
        self.tell(self.now, || format!("a hiccup of {length} us"));
        self.hiccup_until = self.now + length;
        // Open watches show nothing any more, until their reader drops them.
        let is_silent = self.chance.percent(50);
        self.watches.values_mut().filter(|_| is_silent).for_each(|watch| watch.lag = None);
    }

    // --- processes ---

    fn freeze(&mut self, index: usize, at: u64) {
        let longest = if self.chance.percent(50) { micros(LEASE) / 2 } else { 4 * micros(LEASE) };
        let until = at + self.chance.below(longest).max(1);
        self.tally.freezes += 1;
        self.tell(at, || format!("gateway-{index} is frozen until {until}"));
        let process = &mut self.processes[index];
        process.frozen_until = process.frozen_until.max(until);
        let until = process.frozen_until;
        self.at(until, SimulationEvent::Thaw(index));
    }

    /// As on SIGTERM; the process is gone a little later, whether it has released its Lease or not.
    fn stop(&mut self, index: usize) {
        self.tally.stops += 1;
        self.tell(self.now, || format!("gateway-{index} is told to stop"));
        self.processes[index].stop();
        let gone = self.now + self.chance.below(4_000) * MILLISECOND;
        self.at(gone, SimulationEvent::Crash(index));
    }

    fn crash(&mut self, index: usize) {
        self.tally.crashes += 1;
        self.tell(self.now, || format!("gateway-{index} dies and is started again"));
        let next = Process::start(self.now, index, &mut self.chance, self.trouble, self.fault);
        let dead = std::mem::replace(&mut self.processes[index], next);
        self.tally.terms += dead.terms;
    }

    // --- the end ---

    fn is_well(&self) -> bool {
        let bound = self.api.pods.values().filter(|pod| pod.node.is_some()).count();
        let is_bound = bound == self.api.pods.len().min(self.limits.seats);
        let mut leaders = self.processes.iter().filter(|process| process.leads());
        let Some(leader) = leaders.next() else { return false };
        let sees_all = self.api.nodes.iter().all(|node| leader.placed(node) == self.api.placed(node));
        is_bound && leaders.next().is_none() && sees_all && leader.reserved() == 0
    }

    fn not_well(&self) -> String {
        let mut text = String::new();
        for (name, pod) in &self.api.pods {
            let _ = write!(text, "{name} ({}) is on {:?} with {:?}; ", pod.uid, pod.node, pod.device);
        }
        for process in &self.processes {
            let _ = write!(text, "{} leads: {}, reserved: {}, ", process.url, process.leads(), process.reserved());
            for node in &self.api.nodes {
                let _ = write!(text, "{node}: {:?} ", process.placed(node));
            }
        }
        text
    }

    fn tell(&self, at: u64, text: impl FnOnce() -> String) {
        if self.tells {
            println!("{:>12.3} ms  {}", at as f64 / 1e3, text());
        }
    }

    fn at(&mut self, at: u64, event: SimulationEvent) {
        self.order += 1;
        self.events.push(Reverse(ScheduledEvent(at.max(self.now), self.order, event)));
    }

    /// True with a probability of the world's badness in percent, divided by `part`.
    fn is_trouble(&mut self, part: u64) -> bool {
        let percent = if self.now < self.hiccup_until { 70 / part.min(2) } else { self.trouble / part };
        self.chance.percent(percent)
    }
}
