//! Remembering changes no answer: policies that are random programs, over a world that changes at random.

mod program;
mod world;

use std::{sync::Arc, time::Duration};

use plimsoll_random::{Random, seed};
use proptest::{collection::vec, prelude::*};

use self::{
    program::{Program, score, verdict},
    world::{World, pod},
};
use super::fixture::*;
use crate::{
    decide::{Member, NodeObject, Nodes, Query, Roster, ScoreScale, TieBreak},
    gateway::{DEFAULT_CACHE_BYTES, Gateway},
    model::{Cluster, Pod, PolicyConfig, Verdict, View},
};

/// Steps of a run that `cargo test` makes; `PLIMSOLL_MODEL_STEPS` asks for more.
const STEPS: u64 = 20_000;

/// Threads that ask at once.
const THREADS: u64 = 4;

/// A gateway, and the answers that it should know.
struct Model {
    fixture: Fixture,
    world: World,
    cluster: Arc<Cluster>,
    policies: Vec<(Arc<Member>, Arc<Program>)>,
}

/// Per node of the request the refusal, or the score; or that the request fails.
type Expected<T> = Result<Vec<T>, ()>;

// === impl Model ===

impl Model {
    fn new(rng: &mut Random, limit: usize) -> Self {
        let world = World::any(rng);
        let mut fixture = Fixture::new(vec![], None);
        let (clock, observer) = (Arc::clone(&fixture.clock), Arc::clone(&fixture.observer));
        fixture.gateway = Arc::new(Gateway::new(clock, observer, REQUEST_TIMEOUT).with_cache_limit(limit));
        let mut model = Self { fixture, cluster: world.cluster(), world, policies: vec![] };
        model.publish();
        (0..=rng.below(3)).for_each(|at| model.load(at as usize, rng));
        model
    }

    fn publish(&mut self) {
        self.cluster = self.world.cluster();
        self.fixture.gateway.set_cluster(Arc::clone(&self.cluster));
    }

    /// Puts a new version of a policy in force.
    fn load(&mut self, at: usize, rng: &mut Random) {
        self.put(at, Program::any(rng), rng);
    }

    fn load_without_faults(&mut self, rng: &mut Random) {
        (0..self.policies.len()).for_each(|at| self.put(at, Program::any(rng).without_faults(), rng));
    }

    fn put(&mut self, at: usize, program: Program, rng: &mut Random) {
        let program = Arc::new(program);
        let policy = Arc::clone(&program) as _;
        let member = Member::new("", format!("p{at}"), PolicyConfig::default(), policy);
        let member = Arc::new(Member { settings: rng.pick(&["1", "2"]).into(), ..member });
        if at < self.policies.len() {
            self.policies[at] = (member, program);
        } else {
            self.policies.push((member, program));
        }
        let members = self.policies.iter().map(|(member, _)| Arc::clone(member)).collect();
        self.fixture.gateway.set_roster(Arc::new(Roster::of_root(members)));
    }

    /// One thing happens; it is always the same thing for one number.
    fn step(&mut self, rng: &mut Random) {
        match rng.below(20) {
            0..=2 => {
                self.world.change(rng);
                self.publish();
            }
            3 => self.fixture.clock.advance(Duration::from_secs(rng.pick(&[1, 30]))),
            4 if rng.below(4) == 0 => self.load(rng.below(self.policies.len() as u64) as usize, rng),
            _ => self.ask(rng),
        }
    }

    /// Puts one request to the gateway and compares.
    fn ask(&self, rng: &mut Random) {
        let (pod, names) = (pod(rng), self.world.request(rng));
        let is_filter = rng.below(2) == 0;
        let (cows, received) = (cows(&names), crate::model::Clock::now(self.fixture.clock.as_ref()));
        let slots: Vec<u32> = names.iter().map(|name| self.cluster.find(name).unwrap()).collect();
        let objects = self.objects(&slots, rng);
        let nodes = if rng.below(2) == 0 { Nodes::Names(&cows) } else { Nodes::Objects(&objects) };
        let query = Query { pod: Arc::clone(&pod), nodes, received, may_bind: true };
        if is_filter {
            let outcome = self.fixture.gateway.begin("").unwrap().dry_filter(&query).map(|(outcome, after)| {
                after.run();
                let mut refusals = vec![None; names.len()];
                for rejection in &outcome.rejected {
                    let reason = outcome.reason(*rejection).to_string();
                    refusals[rejection.node as usize] = Some((reason, rejection.unresolvable));
                }
                refusals
            });
            assert_eq!(outcome.map_err(drop), self.expected_filter(&pod, &slots), "{:?}", self.policies);
        } else {
            // Not the order of names: a cluster of whole nodes may have other names.
            let scale = rng.pick(&[ScoreScale::Coarse, ScoreScale::Fine, ScoreScale::FineWith(TieBreak::Spread)]);
            let outcome = self.fixture.gateway.prioritize(scale, "", &query).map(|(outcome, after)| {
                after.run();
                outcome
            });
            assert_eq!(outcome.map_err(drop), Ok(self.expected_scores(scale, &pod, &slots)), "{:?}", self.policies);
        }
        // Faults are part of the game, and none must keep the next request from its policy.
        for (member, _) in &self.policies {
            member.policy.verbs().iter().for_each(|verb| member.circuit.succeeded(verb));
        }
        self.fixture.calls();
        self.fixture.evaluated();
        assert_eq!(self.fixture.stopped(), [], "{:?}", self.policies);
    }

    /// Whole nodes as a request brings them: those that are known are told by it, or not.
    fn objects(&self, slots: &[u32], rng: &mut Random) -> Vec<NodeObject> {
        let known = self.fixture.gateway.begin("").unwrap().known_nodes();
        let object = |slot: &u32| {
            let json = self.cluster.slots()[*slot as usize].node.json();
            match known.by_json(json).filter(|_| rng.below(2) == 0) {
                Some(node) => NodeObject::Known(Arc::clone(node)),
                None => NodeObject::Json(json.clone()),
            }
        };
        slots.iter().map(object).collect()
    }

    fn view(&self, pod: &Arc<Pod>, slots: &[u32], settings: &Arc<str>) -> View {
        let now = crate::model::Clock::unix_seconds(self.fixture.clock.as_ref());
        View::new(Arc::clone(pod), Arc::clone(&self.cluster), slots.into(), now).with_settings(Arc::clone(settings))
    }

    fn expected_filter(&self, pod: &Arc<Pod>, slots: &[u32]) -> Expected<Option<(String, bool)>> {
        let mut refusals = vec![None; slots.len()];
        for (member, program) in &self.policies {
            let standing: Vec<usize> = (0..slots.len()).filter(|at| refusals[*at].is_none()).collect();
            let left: Vec<u32> = standing.iter().map(|at| slots[*at]).collect();
            let view = self.view(pod, &left, &member.settings);
            for (node, at) in standing.into_iter().enumerate() {
                let text = |reason: Arc<str>| format!("{}: {reason}", member.name);
                refusals[at] = match verdict(program.evaluate(&view, node as u32).map_err(drop)?) {
                    Verdict::Fits => None,
                    Verdict::Unschedulable(reason) => Some((text(reason), false)),
                    Verdict::Unresolvable(reason) => Some((text(reason), true)),
                };
            }
        }
        Ok(refusals)
    }

    fn expected_scores(&self, scale: ScoreScale, pod: &Arc<Pod>, slots: &[u32]) -> Vec<u32> {
        let nodes = 0..slots.len() as u32;
        let scores = |(member, program): &(Arc<Member>, Arc<Program>)| -> Option<Vec<u32>> {
            let view = self.view(pod, slots, &member.settings);
            nodes.clone().map(|node| program.evaluate(&view, node).ok().map(score)).collect()
        };
        // A policy that fails to score is left out.
        let columns: Vec<Vec<u32>> = self.policies.iter().filter_map(scores).collect();
        let count = columns.len() as u64;
        let mean = |total: u64| match scale {
            _ if count == 0 => 0,
            ScoreScale::Coarse => (total + 5 * count) / (10 * count),
            scale => total * u64::from(scale.max()) / (100 * count),
        };
        let total = |node: u32| columns.iter().map(|column| u64::from(column[node as usize])).sum();
        let mut means: Vec<u32> = nodes.clone().map(|node| mean(total(node)) as u32).collect();
        scale.break_ties(&mut means, slots, count, pod, self.cluster.order());
        means
    }
}

fn steps() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "how long to look is said where the test is started")]
    std::env::var("PLIMSOLL_MODEL_STEPS").ok().map_or(STEPS, |steps| steps.parse().unwrap())
}

proptest! {
    #[test]
    fn a_remembered_answer_is_the_answer(seed: u64, limit in prop_oneof![Just(1usize << 30), 0usize..20_000],
                                         steps in vec(any::<u64>(), 0..60)) {
        let mut model = Model::new(&mut Random::new(seed), limit);
        for step in steps {
            model.step(&mut Random::new(step));
        }
    }
}

#[test]
fn a_remembered_answer_is_the_answer_for_long() {
    let mut rng = Random::new(seed());
    let mut model = Model::new(&mut rng, DEFAULT_CACHE_BYTES);
    for at in 0..steps() {
        if at % 500 == 0 {
            let limit = rng.pick(&[1 << 30, 8_000]);
            model = Model::new(&mut rng, limit);
        }
        model.step(&mut rng);
    }
}

#[test]
fn requests_at_the_same_time_get_their_own_answers() {
    let mut rng = Random::new(seed());
    for _ in 0..steps() / 2_000 {
        let limit = rng.pick(&[1 << 30, 8_000]);
        let mut model = Model::new(&mut rng, limit);
        // Faults of one thread would open the circuit of another.
        model.load_without_faults(&mut rng);
        for _ in 0..5 {
            let seeds: Vec<u64> = (0..THREADS).map(|_| rng.next_u64()).collect();
            std::thread::scope(|scope| {
                for seed in seeds {
                    let model = &model;
                    scope.spawn(move || {
                        let mut rng = Random::new(seed);
                        (0..100).for_each(|_| model.ask(&mut rng));
                    });
                }
            });
            model.world.change(&mut rng);
            model.publish();
        }
    }
}
