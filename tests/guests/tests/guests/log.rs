//! Lines of a guest arrive in the operator's log: in bounds, on lines of their own.

use std::{
    io,
    sync::{Arc, Mutex},
};

use plimsoll_core::{Ask, Fault, Loader, Policy, Verdict, View};
use plimsoll_guests::{compile, toolchains::go_example, world};
use plimsoll_wasm::module_of;
use tracing_subscriber::fmt::MakeWriter;

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

/// Asks a guest that logs a text so often, and returns the lines of the log.
fn lines(times: u32, text: &str) -> Vec<String> {
    lines_with("null", times, text)
}

/// The same of a guest with settings.
fn lines_with(settings: &str, times: u32, text: &str) -> Vec<String> {
    let escaped = text.bytes().map(|byte| format!("\\{byte:02x}")).collect::<Vec<_>>().concat();
    let wat = format!(
        r#"(module
          (import "plimsoll:policy/host@0.1.0" "log" (func $log (param i32 i32 i32)))
          (memory (export "memory") 1)
          (data (i32.const 4096) "{escaped}")
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (local $n i32)
            (loop $again
              (call $log (i32.const 2) (i32.const 4096) (i32.const {}))
              (local.set $n (i32.add (local.get $n) (i32.const 1)))
              (br_if $again (i32.lt_u (local.get $n) (i32.const {times}))))
            (i32.const 64)))"#,
        text.len()
    );
    logged(&compile("logger", &wat), settings).0
}

/// Asks a guest about one node, and returns the lines of the log with its answer.
fn logged(module: &[u8], settings: &str) -> (Vec<String>, Result<Vec<Verdict>, Fault>) {
    logged_by(module, settings, |policy, ask| policy.filter(ask, &[0]))
}

/// Asks a guest, and returns the lines of the log with its answer.
pub(crate) fn logged_by<R>(
    module: &[u8],
    settings: &str,
    asked: impl FnOnce(&dyn Policy, &Ask) -> R,
) -> (Vec<String>, R) {
    logged_about(module, world::view(&world::cluster(world::NODES)).with_settings(settings.into()), asked)
}

/// The same about a view.
pub(crate) fn logged_about<R>(
    module: &[u8],
    view: View,
    asked: impl FnOnce(&dyn Policy, &Ask) -> R,
) -> (Vec<String>, R) {
    let policy = world::loader().load("", &module_of(module)).unwrap();
    let ask = world::patient(world::ask(view));
    let kept = Kept::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::DEBUG)
        .without_time()
        .with_writer(kept.clone())
        .finish();
    let answer = tracing::subscriber::with_default(subscriber, || asked(&*policy, &ask));
    let bytes = kept.0.lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    // The engine has lines of its own at this level.
    let lines = text.lines().filter(|line| !line.starts_with("DEBUG") || line.contains("plimsoll::guest"));
    (lines.map(str::to_owned).collect(), answer)
}

#[test]
fn a_log_line_carries_its_policy() {
    assert_eq!(lines(1, "two GPUs"), [r#" WARN plimsoll::guest: two GPUs policy="guest" node="n0""#]);
}

#[test]
fn a_policy_in_go_logs_by_slog_and_leaves_the_stack_of_a_panic() {
    let Some(module) = go_example("conformance") else { return };
    let (lines, answer) = logged(&module, r#"{"topic": "panic"}"#);
    assert!(answer.unwrap_err().detail.contains("no n0 here, at misbehave.go:"));
    assert_eq!(lines[0], r#"DEBUG plimsoll::guest: asked node=n0 policy="guest" node="n0""#);
    let frames =
        ["main.ownMisbehaviour(", "main.misbehave(", "main.(*Conformance).tell(", "main.(*Conformance).Filter("];
    assert_eq!(lines.len(), 1 + frames.len(), "{lines:#?}");
    for (line, frame) in lines[1..].iter().zip(frames) {
        assert!(line.starts_with(&format!("ERROR plimsoll::guest: {frame}")), "{line}");
        assert!(line.contains("/examples/conformance/m"), "{line}");
    }
}

#[test]
fn a_log_line_cannot_forge_another() {
    let lines = lines(1, "a\n WARN plimsoll: b\u{1b}[31m");
    assert_eq!(lines, [r#" WARN plimsoll::guest: a  WARN plimsoll: b [31m policy="guest" node="n0""#]);
}

#[test]
fn log_lines_obeyed() {
    assert_eq!(lines(64, "x").len(), 64);
}

#[test]
fn log_lines_violated() {
    let lines = lines(100_000, "x");
    assert_eq!(lines.len(), 65);
    assert!(lines[64].contains("log cut: a call may write 64 lines"), "{}", lines[64]);
}

#[test]
fn log_line_length_obeyed() {
    assert!(lines(1, &"y".repeat(1024))[0].contains(&"y".repeat(1024)));
}

#[test]
fn log_line_length_violated() {
    let line = lines(1, &"y".repeat(1025)).remove(0);
    assert!(line.contains(&"y".repeat(1024)) && !line.contains(&"y".repeat(1025)), "{line}");
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
