//! The threads of a gateway: those that requests need are there from the start, and no burst leaves any behind.

use std::{collections::BTreeMap, fs, thread};

use plimsoll_harness::{Client, Plimsoll, tempdir, threads, wait_until};
use plimsoll_reload::{request, version};
use serde_json::json;

/// More than there are threads that load policies.
const POLICIES: usize = 12;

/// More clients than decisions at once.
const CLIENTS: usize = 16;

/// The threads that stay: those of one load or one list come and go.
fn lasting(gateway: &Plimsoll) -> BTreeMap<String, usize> {
    let mut threads = threads(gateway.pid());
    threads.retain(|name, _| name.starts_with("plimsoll") || name == "policies");
    threads
}

/// The number of threads of a name that the start makes with the default flags. Where the system stalls it for a
/// second, it goes on with fewer, and the others come when they are needed; there are never more.
fn most(name: &str) -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    match name {
        "plimsoll-wire" => (cores / 2).clamp(1, 8) + (12 * cores).clamp(24, 64),
        "plimsoll-async" => cores + 2,
        _ => 1,
    }
}

#[test]
fn a_burst_of_large_requests_starts_no_thread() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("swapped.wasm"), version("version a").unwrap()).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let before = lasting(&gateway);
    assert!(before["plimsoll-wire"] > 4 && before["plimsoll-async"] > 2, "{before:?}");
    // So large that each is decided on a thread of its own.
    let mut body = request();
    body["Nodes"]["items"][0]["metadata"]["annotations"] = json!({"example.com/large": "x".repeat(1 << 20)});
    let body = body.to_string();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = Client::connect(gateway.wire).unwrap();
                for _ in 0..20 {
                    client.post("/filter", body.as_bytes()).unwrap();
                }
            });
        }
    });
    let after = lasting(&gateway);
    for (name, count) in &after {
        assert!(*count <= most(name), "{count} of {name}; before: {before:?}");
    }
}

#[test]
fn after_a_burst_of_loads_no_thread_is_left() {
    let directory = tempdir().unwrap();
    for number in 0..POLICIES {
        let module = version(&format!("version {number}")).unwrap();
        fs::write(directory.path().join(format!("policy-{number}.wasm")), module).unwrap();
    }
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    wait_until("the policies", || (gateway.get("/readyz").ok()?.status == 200).then_some(())).unwrap();
    let none = || (!threads(gateway.pid()).contains_key("policy-loader")).then_some(());
    wait_until("the threads that loaded policies to end", none).unwrap();
}
