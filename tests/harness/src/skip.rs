//! Tests that do not run say so: on the terminal, and once more at the end of `make test`.

use std::{env, fs::OpenOptions, io::Write, thread};

/// The file in which `make test` collects the tests that did not run.
const SUMMARY: &str = "PLIMSOLL_SKIPPED";

/// Reports that the running test is skipped, and why: `clang is missing; install clang and lld`.
///
/// libtest has no such outcome, so the test itself returns after this call and counts as passed.
pub fn skip(reason: &str) {
    let is_ci = env::var("CI").as_deref() == Ok("true");
    assert!(!is_ci, "{} cannot run, and CI skips no test: {reason}", running_test());
    report_skipped(reason);
}

/// As [`skip`], where no tool that could be installed is missing: the test does not apply, with `CI=true` either.
pub fn report_skipped(reason: &str) {
    let line = format!("skipped: {}: {}\n", running_test(), reason.trim().replace('\n', " "));
    // Written to the stream itself: libtest captures what `eprint!` prints, and drops it when the test passes.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(summary) = env::var_os(SUMMARY) {
        let file = OpenOptions::new().create(true).append(true).open(&summary);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(written.is_ok(), "{} cannot be written: {written:?}", summary.display());
    }
}

fn running_test() -> String {
    thread::current().name().unwrap_or("a test").to_owned()
}
