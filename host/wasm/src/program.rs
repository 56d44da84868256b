//! Programs as policies: the pod and all nodes are JSON on standard input, and the answer is on standard output.
//!
//! ```text
//!  View ── input ──> fd_read(0) ──> the program's `_start`, in a fresh instance ──> fd_write(1) ── answer ──> verdicts
//! ```
//!
//! The JSON is that of kube-scheduler's extenders: what it posts to a URL is written to standard input, and the verb,
//! which would be part of the URL, is the first argument.

mod answer;

use std::{sync::Arc, time::Instant};

use plimsoll_core::{Ask, Fault, FaultKind, NodeSource, PROGRAM_VERBS, Policy, Program, Verbs, Verdict, View};
use wasmtime::Error;

use crate::{guest::GuestModule, stdio::ProgramStdio, stop::Stop, store::StoreData};

/// A program, and the verbs that its sidecar names.
struct ProgramPolicy {
    program: Arc<GuestModule>,
    verbs: Verbs,
}

/// A loaded module as a policy; a program is asked to filter until a sidecar says otherwise.
pub(crate) fn policy_of(guest: Arc<GuestModule>) -> Arc<dyn Policy> {
    if !guest.exports().is_program() {
        return guest;
    }
    Arc::new(ProgramPolicy { program: guest, verbs: PROGRAM_VERBS })
}

// === impl ProgramPolicy ===

impl ProgramPolicy {
    /// Runs the program to its end, and reads its standard output while the memory of the call is still charged.
    fn run<T>(
        &self,
        ask: &Ask,
        verb: &'static str,
        parse: impl FnOnce(&[u8], &View, Instant) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.program.call(ask, |call| {
            let stdio = call.store.data().on_host_time(|| ProgramStdio::of(&ask.view, verb));
            // The host's copy of the request counts as memory of the program.
            call.store.data_mut().limiter.keep(stdio.input_len())?;
            call.store.data_mut().open_stdio(stdio);
            // Each write is checked against the room that is left, and not copied before.
            call.store.set_hostcall_fuel(usize::MAX);
            let run = call.program()?;
            let ended = run.call(&mut call.store, ());
            ended.or_else(|error| if exit_code(&error) == Some(0) { Ok(()) } else { Err(status(error)) })?;
            read_answer(call.store.data_mut(), |output, deadline| parse(output, &ask.view, deadline))
        })?
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
        let verdicts = self.run(ask, "filter", answer::filter)?;
        while let Some(node) = next {
            let missing = || Fault::new(FaultKind::Host, "a node was asked about that the view does not have");
            nodes.answer(verdicts.get(node as usize).ok_or_else(missing)?.clone());
            next = nodes.next();
        }
        Ok(())
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        self.run(ask, "prioritize", answer::prioritize)
    }
}

impl Program for ProgramPolicy {
    fn answering(&self, verbs: Verbs) -> Arc<dyn Policy> {
        Arc::new(Self { program: Arc::clone(&self.program), verbs })
    }
}

/// Reads the standard output. The program chooses its size, so the time for it is the program's, and so is the memory
/// for its texts.
fn read_answer<T>(
    state: &mut StoreData,
    parse: impl FnOnce(&[u8], Instant) -> Result<T, Fault>,
) -> wasmtime::Result<Result<T, Fault>> {
    let deadline = state.deadline();
    let texts = state.stdio().map_err(Error::new)?.output().len();
    state.limiter.keep(texts)?;
    let answer = parse(state.stdio().map_err(Error::new)?.output(), deadline);
    if answer.is_err() {
        // The parser ends at the deadline, too.
        state.check_deadline().map_err(Error::new)?;
    }
    Ok(answer)
}

fn exit_code(error: &Error) -> Option<u32> {
    match error.downcast_ref() {
        Some(Stop::Exit(code)) => Some(*code),
        _ => None,
    }
}

/// Maps an exit code that is not 0 to [`Stop::Status`]: that of a program is its choice.
fn status(error: Error) -> Error {
    exit_code(&error).map_or(error, |code| Error::new(Stop::Status(code)))
}
