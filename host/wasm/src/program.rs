//! Programs as policies: the pod and all nodes are JSON on standard input, and the answer is on standard output.
//!
//! ```text
//!  View ── input ──> fd_read(0) ──> the program's `_start`, in a fresh instance ──> fd_write(1) ── answer ──> verdicts
//! ```
//!
//! The JSON is that of kube-scheduler's extenders: what it posts to a URL is written to standard input, and the verb,
//! which would be part of the URL, is the first argument.

mod answer;
mod input;

use std::sync::Arc;

use plimsoll_core::{Ask, Fault, FaultKind, NodeSource, PROGRAM_VERBS, Policy, Program, Verbs, Verdict};
use wasmtime::Error;

use self::input::Input;
use crate::{guest::GuestPolicy, instance::GuestCall, limits::MemoryLimiter, stop::Stop};

/// Bytes of an answer to an empty request. An answer may contain each node of the request, encoded anew, so this grows
/// with the request.
const MIN_OUTPUT: usize = 1 << 20;

/// Bytes of memory that a standard output gets at once, at least.
const OUTPUT_STEP: usize = 64 << 10;

/// Bytes of one word of the verb; see `lift/command.wat`.
const WORD: usize = size_of::<u64>();

/// A program, and the verbs that its sidecar names.
struct ProgramPolicy {
    program: Arc<GuestPolicy>,
    verbs: Verbs,
}

/// The standard input and output of one call.
pub(crate) struct ProgramCall {
    verb: &'static str,
    input: Input,
    output: Vec<u8>,
    /// Maximum bytes of the output.
    most: usize,
}

/// A loaded module as a policy; a program is asked to filter until a sidecar says otherwise.
pub(crate) fn policy_of(guest: Arc<GuestPolicy>) -> Arc<dyn Policy> {
    if !guest.exports().is_program() {
        return guest;
    }
    Arc::new(ProgramPolicy { program: guest, verbs: PROGRAM_VERBS })
}

// === impl ProgramPolicy ===

impl ProgramPolicy {
    /// Runs the program to its end, and returns its standard output.
    fn run(&self, ask: &Ask, verb: &'static str) -> Result<Vec<u8>, Fault> {
        self.program.call(ask, |call| {
            let input = call.store.data().on_host_time(|| Input::of(&ask.view));
            let most = MIN_OUTPUT.saturating_add(input.len().saturating_mul(2));
            call.store.data_mut().open_program(ProgramCall { verb, input, output: Vec::new(), most });
            // The bytes that it writes are checked one write at a time against `most`, and not lifted.
            call.store.set_hostcall_fuel(usize::MAX);
            let run = self.program.exports().program(call)?;
            let ended = run.call(&mut call.store, ());
            ended.or_else(|error| if exit_code(&error) == Some(0) { Ok(()) } else { Err(status(error)) })?;
            output(call)
        })
    }
}

impl Policy for ProgramPolicy {
    fn verbs(&self) -> Verbs {
        self.verbs
    }

    fn program(&self) -> Option<&dyn Program> {
        Some(self)
    }

    /// The program answers about all nodes of the view, whichever are asked about.
    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        let mut next = nodes.next();
        if next.is_none() {
            return Ok(());
        }
        let verdicts = answer::filter(&self.run(ask, "filter")?, &ask.view)?;
        while let Some(node) = next {
            let missing = || Fault::new(FaultKind::Host, "a node was asked about that the view does not have");
            nodes.answer(verdicts.get(node as usize).ok_or_else(missing)?.clone());
            next = nodes.next();
        }
        Ok(())
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        answer::prioritize(&self.run(ask, "prioritize")?, &ask.view)
    }
}

impl Program for ProgramPolicy {
    fn answering(&self, verbs: Verbs) -> Arc<dyn Policy> {
        Arc::new(Self { program: Arc::clone(&self.program), verbs })
    }
}

// === impl ProgramCall ===

impl ProgramCall {
    /// The next bytes of the input; none at its end.
    pub(crate) fn read(&mut self, most: usize) -> Vec<u8> {
        self.input.read(most)
    }

    /// Eight bytes of the verb, which is filled up with zeros.
    pub(crate) fn verb_word(&self, word: usize) -> u64 {
        let verb = self.verb.as_bytes();
        let bytes = verb.iter().skip(word.saturating_mul(WORD)).take(WORD);
        bytes.rev().fold(0, |value, byte| (value << 8) | u64::from(*byte))
    }

    /// The bytes that it may still write.
    pub(crate) fn room(&self) -> usize {
        self.most.saturating_sub(self.output.len())
    }

    /// Takes bytes that the program writes.
    ///
    /// # Errors
    /// If they are more than an answer may have, or there is no memory for them.
    pub(crate) fn write(&mut self, bytes: &[u8], limiter: &mut MemoryLimiter) -> wasmtime::Result<()> {
        if bytes.len() > self.room() {
            let detail = format!("more than {} bytes on standard output", self.most);
            return Err(Error::new(Stop::Output(detail)));
        }
        let free = self.output.capacity() - self.output.len();
        if bytes.len() > free {
            // Twice as much each time, so that a program may write in small pieces.
            let more = bytes.len().max(self.output.len()).max(OUTPUT_STEP).min(self.room());
            limiter.keep(more)?;
            self.output.reserve_exact(more);
        }
        self.output.extend_from_slice(bytes);
        Ok(())
    }
}

fn output(call: &mut GuestCall) -> wasmtime::Result<Vec<u8>> {
    call.store.data_mut().program().map(|program| std::mem::take(&mut program.output)).map_err(Error::new)
}

fn exit_code(error: &Error) -> Option<u32> {
    match error.downcast_ref() {
        Some(Stop::Exit(code)) => Some(*code),
        _ => None,
    }
}

/// The end of a program by a code of its own choice, as such.
fn status(error: Error) -> Error {
    exit_code(&error).map_or(error, |code| Error::new(Stop::Status(code)))
}
