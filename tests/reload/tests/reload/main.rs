//! The real gateway under constant load while its policies change.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test says by a panic what is wrong")]

mod bombs;
mod log;
mod threads;

use std::{cell::Cell, fs, time::Duration};

use plimsoll_harness::{Plimsoll, tempdir};
use plimsoll_reload::{Desk, Load, Way, doing, failing, request, version, with_functions};

/// Connections that ask without a pause.
const CLIENTS: usize = 4;

/// The number of times that the policy changes.
const SWAPS: usize = 210;

#[test]
fn two_hundred_swaps_fail_no_request_and_mix_no_versions() {
    let directory = tempdir().unwrap();
    let good = ["version a", "version b"].map(|reason| (reason, version(reason).unwrap()));
    let mut desk = Desk::new(directory.path(), "swapped");
    desk.put(&good[0].1, Way::Rename).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--settle", "20ms"]).unwrap();
    let answers = Load::run(&gateway, CLIENTS, |load| {
        load.wait_for_reason(good[0].0)?;
        for swap in 0..SWAPS {
            let (reason, bytes) = &good[(swap / 2 + 1) % 2];
            let way = Way::ALL[swap / 2 % 3];
            match swap % 4 {
                // A bad file between two good ones, and one that stays for a while.
                1 => desk.put(&bytes[..bytes.len() / 2], way)?,
                3 => desk.put(b"\0asm is not all that it takes", way)?,
                _ => {
                    desk.put(bytes, way)?;
                    load.wait_for_reason(reason)?;
                }
            }
            load.wait_for_more(CLIENTS)?;
        }
        Ok(())
    });
    let answers = answers.unwrap();
    println!("{SWAPS} swaps, {} answers, the longest in {:?}", answers.count, answers.longest);
    let reasons: Vec<&str> = answers.by_reason.keys().map(String::as_str).collect();
    assert_eq!(reasons, ["version a", "version b"], "no answer was made without the policy");
    assert!(answers.longest < Duration::from_secs(4), "{answers:?}");
}

#[test]
fn after_a_bad_file_the_last_good_version_goes_on_answering() {
    let directory = tempdir().unwrap();
    let mut desk = Desk::new(directory.path(), "swapped");
    desk.put(&version("version a").unwrap(), Way::Swap).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--settle", "20ms"]).unwrap();
    let answers = Load::run(&gateway, CLIENTS, |load| {
        desk.put(&version("version b").unwrap(), Way::Swap)?;
        load.wait_for_reason("version b")?;
        for (round, way) in Way::ALL.into_iter().enumerate() {
            let bad = [b"garbage ".as_slice(), &[b'0' + round as u8]].concat();
            desk.put(&bad, way)?;
            let is_refused = |metrics: &str| metrics.contains("plimsoll_policies{state=\"kept\"} 1");
            plimsoll_harness::wait_until("the refusal", || {
                is_refused(&gateway.get("/metrics").ok()?.body).then_some(())
            })?;
            load.look(|answers| answers.by_reason.clear())?;
            load.wait_for_more(10 * CLIENTS)?;
            load.look(|answers| assert!(answers.by_reason.keys().all(|reason| reason == "version b"), "{answers:?}"))?;
        }
        Ok(())
    });
    answers.unwrap();
}

/// The new version takes seconds to compile; meanwhile the old one answers as ever.
#[test]
#[expect(clippy::disallowed_methods, reason = "a request must not wait for a large part of the compile's time")]
fn no_request_waits_for_a_compile() {
    let directory = tempdir().unwrap();
    let mut desk = Desk::new(directory.path(), "swapped");
    desk.put(&version("version a").unwrap(), Way::Rename).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let large = with_functions("version b", 4_000).unwrap();
    let mut took = Duration::ZERO;
    let answers = Load::run(&gateway, CLIENTS, |load| {
        load.wait_for_reason("version a")?;
        let started = std::time::Instant::now();
        desk.put(&large, Way::Rename)?;
        load.wait_for_reason("version b")?;
        took = started.elapsed();
        Ok(())
    });
    let answers = answers.unwrap();
    println!("{took:?} until the new version, {} answers, the longest in {:?}", answers.count, answers.longest);
    assert!(answers.longest < took / 2, "{took:?} until the new version: {answers:?}");
}

/// Loading takes seconds; until it is done, each reply is an error or enforces the rule.
#[test]
fn there_is_no_moment_without_the_rules_that_were_there_at_the_start() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("quick.wasm"), version("quick says no").unwrap()).unwrap();
    fs::write(directory.path().join("slow.wasm"), with_functions("slow says no", 2_000).unwrap()).unwrap();
    fs::write(directory.path().join("slow.yaml"), "order: 1\n").unwrap();
    let gateway = Plimsoll::serve_at_once(directory.path(), &["--no-compile-cache"]).unwrap();
    let (mut errors, mut enforced) = (0, 0);
    plimsoll_harness::wait_until("both policies to be loaded", || {
        let reply = gateway.ask("/filter", &request()).unwrap();
        match reply["Error"].as_str().unwrap() {
            "" => {
                assert_eq!(reply["FailedAndUnresolvableNodes"]["n0"], "slow: slow says no", "{reply}");
                enforced += 1;
            }
            error => {
                assert!(error.contains("failed to filter: not-loaded"), "{error}");
                errors += 1;
            }
        }
        (enforced > 20).then_some(())
    })
    .unwrap();
    println!("{errors} errors, then {enforced} answers");
    assert!(errors > 0, "the listener opened before the policy was loaded");
}

#[test]
fn a_policy_that_compiles_for_long_holds_up_no_other() {
    let directory = tempdir().unwrap();
    let mut desk = Desk::new(directory.path(), "swapped");
    desk.put(&version("version a").unwrap(), Way::Rename).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--settle", "20ms"]).unwrap();
    let large = with_functions("never asked", 4_000).unwrap();
    let answers = Load::run(&gateway, 1, |load| {
        load.wait_for_reason("version a")?;
        fs::write(directory.path().join("large.wasm"), &large)?;
        fs::write(directory.path().join("large.yaml"), "mode: off\n")?;
        fs::write(directory.path().join("swapped.yaml"), "mode: off\n")?;
        load.wait_for_reason("")
    });
    answers.unwrap();
}

#[test]
fn a_version_that_fails_whatever_it_is_asked_never_takes_the_place_of_a_good_one() {
    let directory = tempdir().unwrap();
    let mut desk = Desk::new(directory.path(), "swapped");
    desk.put(&version("version a").unwrap(), Way::Rename).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--settle", "20ms"]).unwrap();
    let answers = Load::run(&gateway, 1, |load| {
        load.wait_for_reason("version a")?;
        for (body, fault) in [("unreachable", "trap: "), ("(loop (br 0)) unreachable", "timeout: ")] {
            desk.put(&doing(body)?, Way::Rename)?;
            let expected = format!("every call of filter would fail, as a trial did: {fault}");
            let told = |line: &serde_json::Value| line["error"].as_str().is_some_and(|text| text.contains(&expected));
            gateway.wait_for_log("the refusal", told)?;
            load.wait_for_more(10)?;
        }
        Ok(())
    });
    assert_eq!(answers.unwrap().by_reason.len(), 1);
}

#[test]
fn a_version_that_fails_its_first_calls_is_rolled_back_and_stays_so_after_a_restart() {
    let (directory, cache) = (tempdir().unwrap(), tempdir().unwrap());
    let cache = cache.path().join("cache");
    let args = ["--settle", "20ms", "--compile-cache", cache.to_str().unwrap()];
    let mut desk = Desk::new(directory.path(), "swapped");
    desk.put(&version("version a").unwrap(), Way::Rename).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &args).unwrap();
    // A rollback takes faults about two pods.
    let asked = Cell::new(0);
    let reason = |gateway: &Plimsoll| {
        let mut request = request();
        request["Pod"]["spec"]["priority"] = 1.into();
        request["Pod"]["metadata"]["uid"] = format!("u-{}", asked.replace(asked.get() + 1)).into();
        let reply = gateway.ask("/filter", &request).unwrap();
        reply["FailedAndUnresolvableNodes"]["n0"].as_str().map(str::to_owned)
    };
    assert_eq!(reason(&gateway).as_deref(), Some("swapped: version a"));
    desk.put(&failing().unwrap(), Way::Rename).unwrap();
    plimsoll_harness::wait_until("an error", || reason(&gateway).is_none().then_some(())).unwrap();
    plimsoll_harness::wait_until("the version before", || reason(&gateway)).unwrap();
    for gateway in [gateway, Plimsoll::serve(directory.path(), &args).unwrap()] {
        assert_eq!(reason(&gateway).as_deref(), Some("swapped: version a"));
        assert!(gateway.get("/metrics").unwrap().body.contains("plimsoll_policies{state=\"rolled-back\"} 1"));
        let listed: serde_json::Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
        assert_eq!(listed["policies"][0]["state"], "rolled-back");
        assert!(gateway.get("/readyz").unwrap().body.contains("the last good version is in force"));
    }
}
