//! Classifies the end of a call: maps wasmtime's errors and ours to the contract's fault kinds.

use plimsoll_core::{Fault, FaultKind, ReadError, bounded, one_line};
use wasmtime::{Trap, WasmBacktrace};

use crate::{limits::TRANSFER, stop::Stop, store::StoreData};

/// Maximum bytes of a fault's text.
pub(crate) const MAX_DETAIL_BYTES: usize = 512;

/// Maximum functions of a backtrace in a fault's text.
const NAMED_FRAMES: usize = 3;

/// The panic of Go's runtime in a module that was built without `-buildmode=c-shared`.
const GO_COMMAND: &str = "wasmexport function called before runtime initialization";

/// The phase of the guest's execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Instantiation, including the start function.
    Start,
    /// A question that is not about a single node.
    Whole,
    /// The question about the node or candidate with this index.
    Node(u32),
}

/// Classifies the end of a call as a fault.
pub(crate) fn classify(error: &wasmtime::Error, state: &StoreData, phase: Phase) -> Fault {
    let (kind, text) = kind_and_text(error, state, phase);
    let mut detail = one_line(&text).into_owned();
    if let Some(frames) = frames(error).filter(|_| kind != FaultKind::Panic) {
        detail.push_str(&frames);
    }
    if detail.contains(GO_COMMAND) {
        detail.push_str("; it was built as a command: build it with -buildmode=c-shared");
    }
    match phase {
        Phase::Start => detail.push_str("; it was starting"),
        Phase::Whole => {}
        Phase::Node(node) => {
            if let Some(name) = state.node_name(node) {
                detail = format!("{}; it was asked about {name}", bounded(&detail, MAX_DETAIL_BYTES - 280));
            }
        }
    }
    Fault::new(kind, bounded(&detail, MAX_DETAIL_BYTES))
}

fn kind_and_text(error: &wasmtime::Error, state: &StoreData, phase: Phase) -> (FaultKind, String) {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return of_stop(stop, state);
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return of_trap(*trap, state, phase);
    }
    let text = error.root_cause().to_string();
    if phase == Phase::Start {
        return died(FaultKind::Start, text, state);
    }
    // Other errors come from the canonical ABI: an invalid pointer, discriminant or string.
    if text.contains("too much data is being copied") {
        return (FaultKind::Output, format!("it handed over more than {} KiB at once", TRANSFER >> 10));
    }
    let kind = if text.contains("handle limit") { FaultKind::Memory } else { FaultKind::Output };
    (kind, text)
}

/// The host ended the call.
fn of_stop(stop: &Stop, state: &StoreData) -> (FaultKind, String) {
    let kind = match stop {
        Stop::Read(ReadError::AbsentFact(_)) => FaultKind::AbsentFact,
        Stop::Read(_) => FaultKind::Read,
        Stop::Deadline(_) => FaultKind::Timeout,
        Stop::Output(_) => FaultKind::Output,
        Stop::NotProvided(_) => FaultKind::Trap,
        Stop::Host(_) | Stop::Unasked => FaultKind::Host,
        // A call that holds much memory is itself a cause of the shortage.
        Stop::Full { is_much: true, .. } => FaultKind::Memory,
        Stop::Full { is_much: false, .. } => FaultKind::Busy,
        // A guest that runs out of memory usually panics.
        Stop::Panic(_) | Stop::Exit(_) | Stop::Status(_) => {
            return died(FaultKind::Panic, last_words(stop, state), state);
        }
    };
    (kind, stop.to_string())
}

/// WebAssembly ended the call.
fn of_trap(trap: Trap, state: &StoreData, phase: Phase) -> (FaultKind, String) {
    match trap {
        Trap::StackOverflow => (FaultKind::Stack, "it recursed until its stack was full".to_owned()),
        // Some language runtimes, such as Go's, print the reason and then trap.
        Trap::UnreachableCodeReached if !state.last_words().is_empty() => {
            died(FaultKind::Panic, state.last_words().to_owned(), state)
        }
        Trap::Interrupt => (FaultKind::Timeout, "its time is over".to_owned()),
        _ => {
            let kind = if phase == Phase::Start { FaultKind::Start } else { FaultKind::Trap };
            let text = trap.to_string();
            died(kind, text.strip_prefix("wasm trap: ").unwrap_or(&text).to_owned(), state)
        }
    }
}

/// The guest ended itself; if it was refused memory before, that is the cause.
fn died(kind: FaultKind, text: String, state: &StoreData) -> (FaultKind, String) {
    match state.limiter.denied() {
        Some(denied) => (FaultKind::Memory, format!("{denied}; then {text}")),
        None => (kind, text),
    }
}

/// A failing runtime has written the reason to standard error.
fn last_words(stop: &Stop, state: &StoreData) -> String {
    let written = state.last_words();
    match stop {
        Stop::Exit(_) | Stop::Status(_) if !written.is_empty() => format!("{stop}: {written}"),
        _ => stop.to_string(),
    }
}

/// ` in inner < middle < outer`, if the module has function names.
fn frames(error: &wasmtime::Error) -> Option<String> {
    let backtrace = error.downcast_ref::<WasmBacktrace>()?;
    let names: Vec<&str> =
        backtrace.frames().iter().filter_map(wasmtime::FrameInfo::func_name).take(NAMED_FRAMES).collect();
    (!names.is_empty()).then(|| format!(", in {}", bounded(&one_line(&names.join(" < ")), 160)))
}
