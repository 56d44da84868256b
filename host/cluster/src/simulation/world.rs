//! What happens when: the order of events, the network between the processes, and the scheduler.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    fmt::Write,
    time::Duration,
};

use bytes::Bytes;
use http::Method;
use tokio::sync::{mpsc, oneshot};

use super::{
    api::{ApiReply, SimulatedApi, refusal},
    chance::Chance,
    process::{Back, BindOrder, BindResult, Process, Sent, stream, whole},
    sabotage::Defect,
};

/// The Lease of these worlds; all other times follow from it.
pub(super) const LEASE: Duration = Duration::from_secs(2);

/// A world is in trouble for so long, and then has so long to get well. Microseconds, as all times here.
const TROUBLE: u64 = 20_000_000;
const RECOVERY: u64 = 240_000_000;

/// The longest that the scheduler waits for an answer to a bind; then it tries again.
const SCHEDULER_TIMEOUT: u64 = 3_000_000;

const MILLISECOND: u64 = 1_000;

pub(super) fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// What happened in worlds, to see that they are not idle.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) binds: u64,
    pub(super) unknown: u64,
    pub(super) terms: u64,
    pub(super) requests: u64,
    pub(super) freezes: u64,
    pub(super) crashes: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.binds += other.binds;
        self.unknown += other.unknown;
        self.terms += other.terms;
        self.requests += other.requests;
        self.freezes += other.freezes;
        self.crashes += other.crashes;
    }
}

enum SimulationEvent {
    /// A request comes to the API server.
    Arrive {
        identity: String,
        sent: Request,
    },
    /// A reply comes back.
    Return(oneshot::Sender<Back>, Back),
    /// A watch shows the next events.
    Show(u64),
    /// A watch ends.
    Cut(u64),
    /// The scheduler looks at a pod.
    Schedule(String),
    /// A bind comes to a process.
    Ask(usize, BindOrder),
    /// The scheduler hears what became of a bind.
    Hear(BindOrder, BindResult),
    Thaw(usize),
    Freeze(usize),
    Crash(usize),
    DeletePod(String),
    CreatePod(String),
    DeleteLease,
    /// For so long the API server answers hardly anybody, and watches show nothing.
    Hiccup(u64),
    /// The trouble is over.
    Calm,
    /// Is all well?
    Look,
}

/// A request under way; of one that is repeated, the last one's answer comes back.
struct Request {
    method: Method,
    target: String,
    body: Bytes,
    is_fenced: bool,
    reply: Option<oneshot::Sender<Back>>,
}

struct ScheduledEvent(u64, u64, SimulationEvent);

/// A watch that is open.
struct Watch {
    lines: mpsc::UnboundedSender<Bytes>,
    /// The version of the last event that was shown.
    shown: u64,
    /// How late it shows events; none: it shows nothing.
    lag: Option<u64>,
}

/// What the scheduler knows of a pod.
#[derive(Default)]
struct Pending {
    attempt: u64,
    node: Option<String>,
    heard: bool,
}

pub(super) struct World {
    chance: Chance,
    now: u64,
    order: u64,
    events: BinaryHeap<Reverse<ScheduledEvent>>,
    api: SimulatedApi,
    processes: Vec<Process>,
    watches: BTreeMap<u64, Watch>,
    next_watch: u64,
    /// Replies that were lost: whoever waits for one waits for ever.
    lost: Vec<oneshot::Sender<Back>>,
    pending: BTreeMap<String, Pending>,
    attempts: u64,
    uids: u64,
    devices: u64,
    /// How bad the world is, in percent; and how bad its watches are.
    trouble: u64,
    lagging: u64,
    hiccup_until: u64,
    fault: Option<Defect>,
    tally: Tally,
    /// Whether it tells what happens.
    tells: bool,
}

// === impl World ===

impl World {
    pub(super) fn new(seed: u64, fault: Option<Defect>) -> Self {
        let mut chance = Chance::new(seed);
        let (nodes, pods) = (2 + chance.pick(2), 2 + chance.pick(4));
        let (trouble, lagging) = (chance.pick(40), chance.pick(60));
        let mut world = Self {
            chance,
            now: 0,
            order: 0,
            events: BinaryHeap::new(),
            api: SimulatedApi::new(nodes),
            processes: Vec::new(),
            watches: BTreeMap::new(),
            next_watch: 0,
            lost: Vec::new(),
            pending: BTreeMap::new(),
            attempts: 0,
            uids: 0,
            // As few as will do, so that pods meet.
            devices: pods.div_ceil(nodes) + 1,
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
            let at = world.chance.pick(TROUBLE / 2);
            world.at(at, SimulationEvent::CreatePod(format!("p{pod}")));
        }
        world.plan_mishaps(pods);
        world.at(TROUBLE, SimulationEvent::Calm);
        world
    }

    /// Tells what happens.
    pub(super) fn telling(mut self) -> Self {
        self.tells = true;
        self
    }

    fn plan_mishaps(&mut self, pods: u64) {
        for _ in 0..self.chance.pick(12) {
            let (at, process) = (self.chance.pick(TROUBLE), self.chance.pick(2) as usize);
            let event = match self.chance.pick(12) {
                0..3 => SimulationEvent::Freeze(process),
                3 => SimulationEvent::Crash(process),
                4 => SimulationEvent::DeleteLease,
                5 => SimulationEvent::DeletePod(format!("p{}", self.chance.pick(pods))),
                _ => SimulationEvent::Hiccup(self.chance.pick(4_000) * MILLISECOND),
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
                    self.tally.terms += self.processes.iter().map(Process::terms).sum::<u64>();
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
            for sent in outbox.sent {
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

    fn happen(&mut self, event: SimulationEvent) {
        match event {
            SimulationEvent::Arrive { identity, sent } => self.arrive(&identity, sent),
            SimulationEvent::Return(reply, back) => drop(reply.send(back)),
            SimulationEvent::Show(watch) => self.show(watch),
            SimulationEvent::Cut(watch) => drop(self.watches.remove(&watch)),
            SimulationEvent::Schedule(pod) => self.schedule(pod),
            SimulationEvent::Ask(index, order) => {
                let asking =
                    Duration::from_millis(if self.chance.percent(self.trouble) { self.chance.pick(200) } else { 1 });
                self.processes[index].bind(order, self.devices, asking);
            }
            SimulationEvent::Hear(order, outcome) => self.hear(order, &outcome),
            SimulationEvent::Thaw(index) => {
                if self.processes[index].frozen_until <= self.now {
                    self.processes[index].thaw(self.now);
                }
            }
            SimulationEvent::Freeze(index) => self.freeze(index, self.now),
            SimulationEvent::Crash(index) => self.crash(index),
            SimulationEvent::DeletePod(name) => {
                self.tell(self.now, || format!("{name} is deleted"));
                self.api.delete(&name);
                self.happened();
                let again = self.now + self.chance.pick(2_000) * MILLISECOND;
                self.at(again, SimulationEvent::CreatePod(name));
            }
            SimulationEvent::CreatePod(name) => {
                if !self.api.pods.contains_key(&name) {
                    self.uids += 1;
                    self.api.create(&name, format!("u{}", self.uids));
                    self.pending.insert(name.clone(), Pending::default());
                    self.at(self.now + MILLISECOND, SimulationEvent::Schedule(name));
                }
            }
            SimulationEvent::DeleteLease => self.api.delete_lease(),
            SimulationEvent::Hiccup(length) => {
                self.tell(self.now, || format!("a hiccup of {length} us"));
                self.hiccup_until = self.now + length;
                // What was open shows nothing any more, until its reader gives it up.
                let is_silent = self.chance.percent(50);
                self.watches.values_mut().filter(|_| is_silent).for_each(|watch| watch.lag = None);
            }
            SimulationEvent::Calm => {
                self.hiccup_until = 0;
                (self.trouble, self.lagging) = (0, 0);
                self.at(self.now + 1, SimulationEvent::Look);
            }
            SimulationEvent::Look => unreachable!("the loop looks"),
        }
    }

    // --- the network ---

    /// A request leaves a process.
    fn send(&mut self, at: u64, identity: String, sent: Sent) {
        self.tally.requests += 1;
        let Sent { method, target, body, is_fenced, reply } = sent;
        let mut request = Request { method, target, body, is_fenced, reply: Some(reply) };
        if self.is_trouble(3) {
            self.lose(at, request.reply.take());
            // It never arrives, or only its answer is lost.
            if self.chance.percent(50) {
                return;
            }
        }
        let there = self.delay(is_fenced);
        if self.is_trouble(6) {
            let Request { method, target, body, .. } = &request;
            let twin =
                Request { method: method.clone(), target: target.clone(), body: body.clone(), is_fenced, reply: None };
            let before = self.chance.pick(there);
            self.at(at + before, SimulationEvent::Arrive { identity: identity.clone(), sent: twin });
        }
        self.at(at + there, SimulationEvent::Arrive { identity, sent: request });
    }

    /// A request is carried out, or refused.
    fn arrive(&mut self, identity: &str, request: Request) {
        let Request { method, target, body, is_fenced, reply } = request;
        if target.contains("watch=true") {
            return self.open(&target, reply);
        }
        let fails = self.is_trouble(4);
        let is_before = self.chance.percent(50);
        let answer = if fails && is_before {
            refusal(if self.chance.percent(50) { 500 } else { 504 }, "it is down")
        } else {
            let answer = self.api.answer(identity, &method, &target, &body);
            let status = answer.0;
            self.tell(self.now, || {
                format!("{identity}: {method} {target} {}: {status}", String::from_utf8_lossy(&body))
            });
            self.tally.binds += u64::from(is_fenced && answer.0 == 201);
            self.happened();
            if fails { refusal(500, "it gave up") } else { answer }
        };
        let Some(reply) = reply else { return };
        if self.is_trouble(4) {
            return self.lose(self.now, Some(reply));
        }
        self.reply(reply, &answer);
    }

    fn reply(&mut self, reply: oneshot::Sender<Back>, answer: &ApiReply) {
        let back = self.delay(false);
        self.at(self.now + back, SimulationEvent::Return(reply, Ok(whole(answer.0, &answer.1))));
    }

    /// A reply that does not come: the connection breaks, or nothing is ever heard.
    fn lose(&mut self, at: u64, reply: Option<oneshot::Sender<Back>>) {
        let Some(reply) = reply else { return };
        if self.chance.percent(50) {
            self.lost.push(reply);
        } else {
            let back = self.delay(false);
            self.at(at + back, SimulationEvent::Return(reply, Err("the connection broke")));
        }
    }

    /// How long a message takes. What is fenced is given up by the kernel after a ninth of the Lease, and by
    /// the API server after two more.
    fn delay(&mut self, is_fenced: bool) -> u64 {
        let quick = MILLISECOND + self.chance.pick(5 * MILLISECOND);
        if !self.is_trouble(3) {
            quick
        } else if is_fenced {
            self.chance.pick(micros(LEASE) / 3).max(1)
        } else {
            self.chance.pick(3 * micros(LEASE)).max(1)
        }
    }

    fn open(&mut self, target: &str, reply: Option<oneshot::Sender<Back>>) {
        let Some(reply) = reply else { return };
        if self.is_trouble(4) {
            let answer = refusal(410, "too old");
            return self.reply(reply, &answer);
        }
        let (lines, received) = mpsc::unbounded_channel();
        let from = target.split("resourceVersion=").nth(1).and_then(|rest| rest.split('&').next());
        let shown = from.and_then(|from| from.parse().ok()).unwrap_or_default();
        let back = self.delay(false);
        self.at(self.now + back, SimulationEvent::Return(reply, Ok(stream(received))));
        let lag = if !self.chance.percent(self.lagging) {
            Some(MILLISECOND)
        } else if self.chance.percent(70) {
            Some(self.chance.pick(20_000) * MILLISECOND)
        } else {
            None
        };
        self.next_watch += 1;
        let number = self.next_watch;
        if target.starts_with("/api/v1/pods") {
            self.watches.insert(number, Watch { lines, shown, lag });
            if let Some(lag) = lag {
                self.at(self.now + back + lag, SimulationEvent::Show(number));
            }
        } else {
            self.watches.insert(number, Watch { lines, shown: u64::MAX, lag: None });
        }
        if self.is_trouble(2) {
            let end = self.now + self.chance.pick(10_000) * MILLISECOND;
            self.at(end, SimulationEvent::Cut(number));
        }
    }

    /// Something changed: each watch shows it when it does.
    fn happened(&mut self) {
        let Some(last) = self.api.log.last().map(|happened| happened.version) else { return };
        let behind = self.watches.iter().filter(|(_, watch)| watch.shown < last);
        let behind: Vec<(u64, u64)> = behind.filter_map(|(number, watch)| Some((*number, watch.lag?))).collect();
        for (number, lag) in behind {
            self.at(self.now + lag, SimulationEvent::Show(number));
        }
    }

    fn show(&mut self, number: u64) {
        let Some(watch) = self.watches.get_mut(&number) else { return };
        let Some(lag) = watch.lag else { return };
        for happened in &self.api.log {
            if happened.version > watch.shown && happened.at + lag <= self.now {
                watch.shown = happened.version;
                let is_open = watch.lines.send(Bytes::from(happened.line.clone())).is_ok();
                if !is_open {
                    self.watches.remove(&number);
                    return;
                }
            }
        }
    }

    // --- the scheduler ---

    fn schedule(&mut self, name: String) {
        let Some(pod) = self.api.pods.get(&name).cloned() else { return };
        // Its own watch may be behind, too.
        if pod.node.is_some() && !self.is_trouble(2) {
            return;
        }
        let node = self.pending.get(&name).and_then(|pending| pending.node.clone());
        let stays = self.chance.percent(40);
        let any = self.api.nodes[self.chance.pick(self.api.nodes.len() as u64) as usize].clone();
        let node = node.filter(|_| stays).unwrap_or(any);
        self.attempts += 1;
        let order = BindOrder {
            attempt: self.attempts,
            pod: name.clone(),
            uid: pod.uid,
            node: node.clone(),
            is_forwarded: false,
        };
        self.pending.insert(name, Pending { attempt: self.attempts, node: Some(node), heard: false });
        let index = self.chance.pick(2) as usize;
        // In life it is 5 s; here it is anything, in relation to a shorter Lease.
        let patience = SCHEDULER_TIMEOUT / 10 + self.chance.pick(SCHEDULER_TIMEOUT * 9 / 10);
        let (there, late) = (self.now + self.delay(true), self.now + patience);
        if !self.is_trouble(4) {
            self.at(there, SimulationEvent::Ask(index, order.clone()));
        }
        self.at(late, SimulationEvent::Hear(order, BindResult::Unknown));
    }

    /// A process is done with a bind.
    fn decided(&mut self, at: u64, mut order: BindOrder, outcome: BindResult) {
        match &outcome {
            BindResult::Bound => {
                assert!(
                    self.api.was_bound(&order.uid, &order.node),
                    "{} was lost: it was told that it is bound",
                    order.pod
                );
            }
            BindResult::Unknown => self.tally.unknown += 1,
            BindResult::Forward(url) if !order.is_forwarded => {
                order.is_forwarded = true;
                let peer = self.processes.iter().position(|process| *process.url == **url);
                let there = at + self.delay(true);
                if let Some(peer) = peer.filter(|_| !self.is_trouble(4)) {
                    self.at(there, SimulationEvent::Ask(peer, order));
                }
                return;
            }
            BindResult::Forward(_) | BindResult::Failed(_) => {}
        }
        let back = at + self.delay(true);
        self.at(back, SimulationEvent::Hear(order, outcome));
    }

    fn hear(&mut self, order: BindOrder, outcome: &BindResult) {
        let Some(pending) = self.pending.get_mut(&order.pod) else { return };
        if pending.attempt != order.attempt || std::mem::replace(&mut pending.heard, true) {
            return;
        }
        if *outcome != BindResult::Bound && self.chance.percent(50) {
            // It writes why into the pod's status.
            self.api.touch(&order.pod);
            self.happened();
        }
        if *outcome == BindResult::Bound && self.now < TROUBLE {
            // It runs for a while, and another comes in its place.
            let end = self.now + self.chance.pick(6_000) * MILLISECOND;
            return self.at(end, SimulationEvent::DeletePod(order.pod));
        }
        let again = self.now + (20 + self.chance.pick(600)) * MILLISECOND;
        self.at(again, SimulationEvent::Schedule(order.pod));
    }

    // --- processes ---

    fn freeze(&mut self, index: usize, at: u64) {
        let longest = if self.chance.percent(50) { micros(LEASE) / 2 } else { 4 * micros(LEASE) };
        let until = at + self.chance.pick(longest).max(1);
        self.tally.freezes += 1;
        self.tell(at, || format!("gateway-{index} is frozen until {until}"));
        let process = &mut self.processes[index];
        process.frozen_until = process.frozen_until.max(until);
        let until = process.frozen_until;
        self.at(until, SimulationEvent::Thaw(index));
    }

    fn crash(&mut self, index: usize) {
        self.tally.crashes += 1;
        self.tell(self.now, || format!("gateway-{index} dies and is started again"));
        let next = Process::start(self.now, index, &mut self.chance, self.trouble, self.fault);
        let dead = std::mem::replace(&mut self.processes[index], next);
        self.tally.terms += dead.terms();
    }

    // --- the end ---

    fn is_well(&self) -> bool {
        let is_bound = self.api.pods.values().all(|pod| pod.node.is_some());
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

    /// True in so many of a hundred cases as the world is bad, divided.
    fn is_trouble(&mut self, part: u64) -> bool {
        let percent = if self.now < self.hiccup_until { 70 / part.min(2) } else { self.trouble / part };
        self.chance.percent(percent)
    }
}

// === impl ScheduledEvent ===

impl PartialEq for ScheduledEvent {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for ScheduledEvent {}

impl PartialOrd for ScheduledEvent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScheduledEvent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}
