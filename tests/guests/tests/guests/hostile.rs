//! Each hostile guest ends as it must, costs nobody else anything, and the next request is served.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use plimsoll_core::{
    BindQuery, CandidateQuery, DecideError, Fault, Gateway, Loader, Member, NoObserver, Nodes, OnError, Pod,
    PolicyConfig, Query, Roster, ScoreScale, SystemClock, Verb, Victims,
};
use plimsoll_guests::{Expected, Guest, hostile, world, zone};
use plimsoll_wasm::{WasmLoader, module_of};

macro_rules! tests {
    ($($name:ident: $kind:ident, $verb:ident, $expected:ident($($detail:expr),*);)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*
    };
}

plimsoll_guests::for_each_hostile!(tests);

#[test]
fn every_file_is_in_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/hostile");
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let files: BTreeSet<String> = fs::read_dir(folder).unwrap().map(|entry| stem(&entry.unwrap().path())).collect();
    let table: BTreeSet<String> = hostile().iter().map(|guest| guest.name.to_owned()).collect();
    assert_eq!(files, table);
}

fn check(name: &str) {
    let guest = hostile().iter().find(|guest| guest.name == name).unwrap();
    match guest.expected {
        Expected::Refused(text) => {
            let Err(error) = loader().load("", &module_of(&guest.bytes)) else { panic!("it was loaded") };
            assert!(error.to_string().contains(text), "{error}");
        }
        Expected::Fault(kind, text) => {
            let fault = fault_of_failing_decision(guest);
            assert_eq!(fault.kind, kind, "{fault}");
            assert!(fault.detail.contains(text), "{fault}");
            assert!(fault.detail.len() <= 512 && !fault.detail.contains(char::is_control), "{fault:?}");
            let without = decide(&gateway(vec![good()]), guest.verb).unwrap();
            let ignoring = gateway(vec![bad(guest, OnError::Ignore), good()]);
            assert_eq!(decide(&ignoring, guest.verb).unwrap(), without);
        }
    }
    let served = decide(&gateway(vec![good()]), Verb::Filter).unwrap();
    assert_eq!(served, "rejected [(1, \"zone: not in zone a\"), (3, \"zone: not in zone a\")]");
}

fn fault_of_failing_decision(guest: &Guest) -> Fault {
    match decide(&gateway(vec![bad(guest, OnError::Fail), good()]), guest.verb) {
        Err(DecideError::Policy { policy, verb, fault }) => {
            assert_eq!((policy.as_str(), verb), (guest.name, guest.verb));
            fault
        }
        other => panic!("it did not fail the decision: {other:?}"),
    }
}

/// The answer to the scheduler.
fn decide(gateway: &Gateway, verb: Verb) -> Result<String, DecideError> {
    let names: Vec<Cow<'_, str>> = (0..world::NODES).map(|n| format!("n{n}").into()).collect();
    let query =
        Query { pod: Arc::new(Pod::default()), nodes: Nodes::Names(&names), received: Instant::now(), may_bind: true };
    match verb {
        Verb::Filter => {
            let (outcome, _after) = gateway.begin("")?.filter(&query)?;
            let rejected =
                outcome.rejected.iter().map(|rejection| (rejection.node, outcome.reason(*rejection).to_string()));
            Ok(format!("rejected {:?}", rejected.collect::<Vec<_>>()))
        }
        Verb::Score | Verb::Rank => {
            Ok(format!("scored {:?}", gateway.begin("")?.prioritize(ScoreScale::Coarse, &query)?.0))
        }
        Verb::Preempt => {
            let victims = |n: u32| Victims::Uids(vec![format!("u{n}").into()]);
            let candidate =
                |n: u32| CandidateQuery { node: format!("n{n}").into(), victims: victims(n), pdb_violations: 0 };
            let candidates: Vec<_> = (0..world::NODES).map(candidate).collect();
            Ok(format!("{:?}", gateway.begin("")?.preempt(Arc::new(Pod::default()), &candidates, Instant::now())?.0))
        }
        Verb::Bind => {
            let query = BindQuery {
                namespace: "default".into(),
                name: "p".into(),
                uid: "p".into(),
                node: "n0".into(),
                received: Instant::now(),
            };
            Ok(format!("{:?}", gateway.begin("")?.bind(&query)?.0))
        }
        Verb::Validate => unreachable!("no guest is asked this"),
    }
}

fn gateway(members: Vec<Arc<Member>>) -> Gateway {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    gateway.set_cluster(world::cluster(world::NODES));
    gateway.set_roster(Arc::new(Roster::of_root(members)));
    gateway.set_binder(Arc::<world::Binds>::default());
    gateway
}

fn bad(guest: &Guest, on_error: OnError) -> Arc<Member> {
    let config = PolicyConfig { order: 1, on_error: Some(on_error), ..PolicyConfig::default() };
    world::member(loader(), guest.name, &guest.bytes, config)
}

fn good() -> Arc<Member> {
    // A busy machine must not make the good one late.
    let config = PolicyConfig { timeout: Duration::from_secs(3), ..PolicyConfig::default() };
    world::member(loader(), "zone", &zone(), config)
}

/// All tests share one engine, as all policies do.
fn loader() -> &'static WasmLoader {
    static LOADER: OnceLock<WasmLoader> = OnceLock::new();
    LOADER.get_or_init(world::loader)
}
