//! Why a call ended: wasmtime's errors and our own become the named outcomes of the contract.

use std::time::Duration;

use plimsoll_core::{Fault, FaultKind, MAX_REASON_BYTES, ReadError, bounded, one_line};
use wasmtime::{Trap, WasmBacktrace};

use crate::{instance::StoreData, limits::TRANSFER, shares::Full};

/// The most bytes of a fault's text.
const MAX_DETAIL_BYTES: usize = 512;

/// How many functions of a backtrace are named.
const NAMED_FRAMES: usize = 3;

/// An end of a call that the host brings about itself, from within an import or after an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error("{0}")]
    Read(#[from] ReadError),
    #[error("{0}")]
    Panic(String),
    #[error("the guest's runtime gave up with exit code {0}")]
    Exit(u32),
    #[error("its {} ms are over", .0.as_millis())]
    Deadline(Duration),
    #[error("{0}")]
    Output(String),
    #[error("{0}")]
    Host(&'static str),
    /// `is_much`: it had, or wanted, more than half of what one call of the policy may have.
    #[error("{full}")]
    Full { full: Full, is_much: bool },
    /// An instance that is made ahead of its call wants to know or to say something: nobody hears of it.
    #[error("unasked")]
    Unasked,
}

/// What the guest was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The instance was being made, and its start function ran.
    Start,
    /// It was asked something that is not about one node.
    Whole,
    /// It was asked about the node (or candidate) with this index.
    Node(u32),
}

/// Names the end of a call.
pub(crate) fn classify(error: &wasmtime::Error, state: &StoreData, phase: Phase) -> Fault {
    let (kind, text) = kind_and_text(error, state, phase);
    let mut detail = one_line(&text);
    if let Some(frames) = frames(error).filter(|_| kind != FaultKind::Panic) {
        detail.push_str(&frames);
    }
    match phase {
        Phase::Start => detail.push_str("; it was starting"),
        Phase::Whole => {}
        Phase::Node(node) => {
            if let Some(name) = state.context().ok().and_then(|context| context.view.node_name(node)) {
                detail = format!("{}; it was asked about {name}", bounded(&detail, MAX_DETAIL_BYTES - 280));
            }
        }
    }
    Fault::new(kind, bounded(&detail, MAX_DETAIL_BYTES))
}

/// A reason that is longer than the contract allows.
pub(crate) fn reason_too_long(length: usize) -> Stop {
    Stop::Output(format!("a reason of {length} bytes; at most {MAX_REASON_BYTES} are allowed"))
}

fn kind_and_text(error: &wasmtime::Error, state: &StoreData, phase: Phase) -> (FaultKind, String) {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        let kind = match stop {
            Stop::Read(_) => FaultKind::Read,
            Stop::Deadline(_) => FaultKind::Timeout,
            Stop::Output(_) => FaultKind::Output,
            Stop::Host(_) | Stop::Unasked => FaultKind::Host,
            // Who takes much is a reason why it is taken.
            Stop::Full { is_much: true, .. } => FaultKind::Memory,
            Stop::Full { is_much: false, .. } => FaultKind::Busy,
            // A guest that ran out of memory mostly says so as it dies.
            Stop::Panic(_) | Stop::Exit(_) => return died(FaultKind::Panic, last_words(stop, state), state),
        };
        return (kind, stop.to_string());
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return match trap {
            Trap::StackOverflow => (FaultKind::Stack, "it recursed until its stack was full".to_owned()),
            // The runtimes of some languages, as Go's, say why they give up and then trap.
            Trap::UnreachableCodeReached if !state.last_words().is_empty() => {
                died(FaultKind::Panic, state.last_words().to_owned(), state)
            }
            Trap::Interrupt => (FaultKind::Timeout, "its time is over".to_owned()),
            _ => {
                let kind = if phase == Phase::Start { FaultKind::Start } else { FaultKind::Trap };
                let text = trap.to_string();
                died(kind, text.strip_prefix("wasm trap: ").unwrap_or(&text).to_owned(), state)
            }
        };
    }
    let text = error.root_cause().to_string();
    if phase == Phase::Start {
        return died(FaultKind::Start, text, state);
    }
    // What is left is the canonical ABI's: a pointer, a discriminant or a text that is none.
    if text.contains("too much data is being copied") {
        return (FaultKind::Output, format!("it handed over more than {} KiB at once", TRANSFER >> 10));
    }
    if text.contains("handle limit") {
        return (FaultKind::Memory, text);
    }
    (FaultKind::Output, text)
}

/// An end that is the guest's own, unless it had been refused memory before.
fn died(kind: FaultKind, text: String, state: &StoreData) -> (FaultKind, String) {
    match state.limiter.denied() {
        Some(denied) => (FaultKind::Memory, format!("{denied}; then {text}")),
        None => (kind, text),
    }
}

/// A runtime that gives up has written why to its standard error.
fn last_words(stop: &Stop, state: &StoreData) -> String {
    let written = state.last_words();
    match stop {
        Stop::Exit(_) if !written.is_empty() => format!("{stop}: {written}"),
        _ => stop.to_string(),
    }
}

/// ` in inner < middle < outer`, as far as the module names its functions.
fn frames(error: &wasmtime::Error) -> Option<String> {
    let backtrace = error.downcast_ref::<WasmBacktrace>()?;
    let names: Vec<&str> =
        backtrace.frames().iter().filter_map(wasmtime::FrameInfo::func_name).take(NAMED_FRAMES).collect();
    (!names.is_empty()).then(|| format!(", in {}", bounded(&one_line(&names.join(" < ")), 160)))
}
