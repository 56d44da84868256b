//! The costs of guests: compile, load from the cache, start an instance, ask about 5,000 nodes.
//!
//! `guest-bench [MODULE.wasm [SETTINGS]]...` measures modules as well as the built-in ones; each must export
//! `filter`. One JSON object a line.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::{
    env, fs,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Loader, Policy};
use plimsoll_guests::{
    toolchains::{c_guest, go_guest},
    world, zone,
};
use plimsoll_wasm::{EngineConfig, WasmLoader, module_of};

const NODES: u32 = 5000;
const INSTANCES: u32 = 200;
const ROUNDS: u32 = 20;

fn main() {
    let mut guests = vec![("wat".to_owned(), zone(), "null".to_owned())];
    guests.extend(c_guest().map(|module| ("c".to_owned(), module, "null".to_owned())));
    guests.extend(go_guest().map(|module| ("go".to_owned(), module, "{}".to_owned())));
    let mut arguments = env::args().skip(1).peekable();
    while let Some(path) = arguments.next() {
        let module = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let settings = arguments.next_if(|argument| argument.starts_with(['{', '['])).unwrap_or("null".to_owned());
        guests.push((path, module, settings));
    }
    for (name, module, settings) in guests {
        measure(&name, &module, &settings);
    }
}

fn measure(name: &str, module: &[u8], settings: &str) {
    let folder = env::temp_dir().join(format!("plimsoll-guest-bench-{}", std::process::id()));
    let config = EngineConfig { cache: Some(folder.clone()), ..EngineConfig::in_process() };
    let load = || {
        let loader = WasmLoader::new(config.clone()).unwrap_or_else(|error| panic!("{error}"));
        let started = Instant::now();
        let policy = loader.load("", &module_of(module)).unwrap_or_else(|error| panic!("{name}: {error}"));
        (policy, started.elapsed())
    };
    let (policy, compile) = load();
    drop(policy);
    let (policy, cached) = load();
    // A folder that is left behind does no harm.
    let _ = fs::remove_dir_all(folder);

    let one = Question::new(1, settings);
    let none = best(INSTANCES, || one.ask(&*policy, &[]));
    let first = best(INSTANCES, || one.ask(&*policy, &[0]));
    let many = Question::new(NODES, settings);
    let nodes: Vec<u32> = (0..NODES).collect();
    let all = best(ROUNDS, || many.ask(&*policy, &nodes));
    let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
    println!(
        r#"{{"guest":"{name}","bytes":{},"compile_us":{:.0},"from_cache_us":{:.0},"instance_us":{:.1},"instance_p50_us":{:.1},"first_node_us":{:.1},"filter_{NODES}_us":{:.0},"filter_{NODES}_p50_us":{:.0}}}"#,
        module.len(),
        micros(compile),
        micros(cached),
        micros(none.0),
        micros(none.1),
        micros(first.0),
        micros(all.0),
        micros(all.1),
    );
}

/// The best and the median of this many runs.
fn best(runs: u32, mut work: impl FnMut()) -> (Duration, Duration) {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    (times[0], times[times.len() / 2])
}

struct Question(Ask);

impl Question {
    fn new(nodes: u32, settings: &str) -> Self {
        let view = world::view(&world::cluster(nodes)).with_settings(Arc::from(settings));
        Self(world::patient(world::ask(view)))
    }

    fn ask(&self, policy: &dyn Policy, nodes: &[u32]) {
        let ask = Ask { limits: world::patient(self.0.clone()).limits, ..self.0.clone() };
        policy.filter(&ask, nodes).unwrap_or_else(|fault| panic!("{fault}"));
    }
}
