//! Programs as policies: the pod and all nodes are JSON on standard input, and the answer is on standard output.
//!
//! ```text
//!  View ── input ──> fd_read(0) ──> the program's `_start`, in a fresh instance ──> fd_write(1) ── answer ──> verdicts
//! ```
//!
//! The JSON is that of kube-scheduler's extenders: what it posts to a URL is written to standard input, and the verb,
//! which would be part of the URL, is the first argument.

mod answer;

use std::sync::Arc;

use plimsoll_core::{Ask, Fault, FaultKind, NodeSource, PROGRAM_VERBS, Policy, Program, Verbs, Verdict, View};
use wasmtime::Error;

use crate::{guest::GuestPolicy, stdio::ProgramStdio, stop::Stop};

/// A program, and the verbs that its sidecar names.
struct ProgramPolicy {
    program: Arc<GuestPolicy>,
    verbs: Verbs,
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
    /// Runs the program to its end, and reads its standard output as long as the memory of the call is reserved.
    fn run<T>(
        &self,
        ask: &Ask,
        verb: &'static str,
        parse: impl FnOnce(&[u8], &View) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.program.call(ask, |call| {
            let stdio = call.store.data().on_host_time(|| ProgramStdio::of(&ask.view, verb));
            call.store.data_mut().open_stdio(stdio);
            // Each write is checked against the room that is left, and not copied before.
            call.store.set_hostcall_fuel(usize::MAX);
            let run = call.program()?;
            let ended = run.call(&mut call.store, ());
            ended.or_else(|error| if exit_code(&error) == Some(0) { Ok(()) } else { Err(status(error)) })?;
            call.store.data_mut().count_parser()?;
            Ok(parse(call.store.data_mut().stdio().map_err(Error::new)?.output(), &ask.view))
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
