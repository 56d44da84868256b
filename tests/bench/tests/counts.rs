//! The cost of a steady request, counted: figures that no busy machine changes.
#![allow(clippy::unwrap_used, reason = "a step that fails fails its test")]

use std::{
    alloc::System,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use plimsoll_core::{Cluster, Gateway, Member, Node, Observer, Outcome, SystemClock, Verb};
use plimsoll_directory::{Directory, DirectoryConfig};
use plimsoll_harness::{policies, samples, tempdir, wait_until};
use plimsoll_http::{RequestCache, answer};
use plimsoll_wasm::{EngineConfig, WasmLoader};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[allow(dead_code, reason = "the bench uses the rest")]
#[path = "../src/world.rs"]
mod world;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CLUSTER: usize = 5_000;

/// Calls that are counted; the least of them counts, since what was learned is published behind the reply.
const CALLS: usize = 20;

// Allocations of one call with ten policies, whatever the nodes: some more than the 66 and the 22 that were counted.
const MOST_TO_FILTER: usize = 90;
const MOST_TO_PRIORITIZE: usize = 40;

/// The number of answers that guests have given.
#[derive(Default)]
struct Evaluations(AtomicUsize);

/// The cost of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    allocations: usize,
    kilobytes: usize,
    evaluations: usize,
}

/// One test, since another one beside it would allocate too.
#[test]
fn a_steady_request_asks_no_guest_and_allocates_by_the_request_not_by_the_node() {
    let (evaluations, directory) = (Arc::new(Evaluations::default()), tempdir().unwrap());
    samples::lay_out(&samples::ten(), policies(), directory.path()).unwrap();
    let gateway = gateway(&evaluations, directory.path());
    for (path, most) in [("/filter", MOST_TO_FILTER), ("/prioritize", MOST_TO_PRIORITIZE)] {
        let [few, many] = [500, CLUSTER].map(|nodes| cost(&gateway, &evaluations, path, nodes));
        for (nodes, cost) in [(500, few), (CLUSTER, many)] {
            println!("{path}, {nodes} names, ten policies: {cost:?}");
            assert_eq!(cost.evaluations, 0, "{path}, {nodes} names: guests were asked");
            assert!(
                cost.allocations <= most,
                "{path}, {nodes} names: {} allocations, expected {most}",
                cost.allocations
            );
        }
    }
}

/// The least that a call takes once nothing is new.
fn cost(gateway: &Gateway, evaluations: &Evaluations, path: &str, nodes: usize) -> Cost {
    let (body, cache) = (world::names_body(nodes), RequestCache::default());
    let call = || {
        let (region, before) = (Region::new(ALLOCATOR), evaluations.0.load(Ordering::Relaxed));
        let reply = answer(gateway, &cache, path, &body, Instant::now());
        assert!(reply.error.is_none(), "{path}: {:?}", reply.error);
        let spent = region.change();
        reply.after.run();
        let evaluations = evaluations.0.load(Ordering::Relaxed) - before;
        Cost {
            allocations: spent.allocations + spent.reallocations,
            kilobytes: spent.bytes_allocated >> 10,
            evaluations,
        }
    };
    wait_until("every answer to be remembered", || (call().evaluations == 0).then_some(())).unwrap();
    (0..CALLS).map(|_| call()).min().unwrap()
}

fn gateway(evaluations: &Arc<Evaluations>, policies: &std::path::Path) -> Gateway {
    let gateway =
        Gateway::new(Arc::new(SystemClock), Arc::clone(evaluations) as Arc<dyn Observer>, Duration::from_mins(1));
    let node = |number| Node::from_json(Bytes::from(world::node(number, 2_000).to_string())).unwrap();
    gateway.set_cluster(Arc::new(Cluster::from_objects((0..CLUSTER).map(node).collect(), vec![])));
    let loader = WasmLoader::new(EngineConfig::in_process()).unwrap();
    let (_, update) = Directory::open(DirectoryConfig::new(policies), Arc::new(loader)).unwrap();
    gateway.set_roster(update.roster);
    gateway
}

// === impl Evaluations ===

impl Observer for Evaluations {
    fn called(&self, _: &Member, _: Verb, outcome: Outcome<'_>, _: Duration) {
        if let Outcome::Answered { evaluated, .. } = outcome {
            self.0.fetch_add(evaluated, Ordering::Relaxed);
        }
    }

    fn circuit_opened(&self, member: &Member, _: Verb) {
        panic!("{} failed", member.name);
    }
}
