//! The threads of a gateway: a burst of loads leaves none behind.

use std::fs;

use plimsoll_harness::{Plimsoll, tempdir, threads, wait_until};
use plimsoll_reload::version;

/// More than there are threads that load policies.
const POLICIES: usize = 12;

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
