//! The compile process: it bounds itself, reads one module, and writes one answer.

use std::{
    io::{self, Read},
    thread,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use wasmtime::{Engine, component::Linker};

use super::{
    answer::CompileAnswer,
    error::harmless,
    job::{CompileJob, ReceivedJob},
    module,
};
use crate::{abi, code::CompiledCode, componentize, contract::RefusedError, engine::compile_config};

/// Maximum open files: the pipes, and files that system libraries read.
const FILES: u64 = 32;

/// The niceness of a process whose result nobody waits for.
const LOW_PRIORITY: i32 = 10;

/// The stack of the thread that waits for the parent's end.
const WATCH_STACK: usize = 64 << 10;

/// Resource limits of the compile process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessLimits {
    /// Bytes of private, writable memory: the part that can become resident.
    pub memory: u64,
    /// Processor time of all its threads.
    pub cpu: Duration,
}

/// Carries out the job on standard input, within limits that apply to the rest of this process.
///
/// The other end is [`Compiler::Child`](crate::Compiler::Child), of the same program.
///
/// # Errors
/// If the limits cannot be set, or the other end is gone.
pub fn compile_module(limits: ProcessLimits) -> io::Result<()> {
    set(limits)?;
    let job = ReceivedJob::read(&mut io::stdin().lock())?;
    end_with_the_gateway()?;
    let job = job.as_job();
    if job.settings.is_some() {
        // Nobody waits for it. If the system refuses, it only takes more of the processor.
        let _ = nice(LOW_PRIORITY);
    }
    answer(job).write(&mut io::stdout().lock())
}

/// Only lowers limits, so that stricter ones of the operator are kept.
fn set(limits: ProcessLimits) -> io::Result<()> {
    let seconds = limits.cpu.as_secs() + 1;
    let bounds = [
        // RLIMIT_DATA counts writable memory only; reserved address space costs nothing.
        (Resource::Data, limits.memory, limits.memory),
        // The soft limit ends the process with SIGXCPU, which tells why.
        (Resource::Cpu, seconds, seconds + 1),
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        (Resource::Nofile, FILES, FILES),
    ];
    for (resource, soft, hard) in bounds {
        // None: there is no limit so far.
        let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Rlimit { current: Some(soft.min(allowed)), maximum: Some(hard.min(allowed)) };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

/// Exits when the gateway closes standard input, which it keeps open while it wants an answer.
fn end_with_the_gateway() -> io::Result<()> {
    let watch = || {
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(1);
    };
    thread::Builder::new().stack_size(WATCH_STACK).spawn(watch).map(drop)
}

fn answer(job: CompileJob<'_>) -> CompileAnswer {
    match compile(job) {
        Ok(code) => CompileAnswer::Code(code.into_bytes()),
        Err(RefusedError::Shortage(_)) => CompileAnswer::Short,
        Err(refused) => CompileAnswer::Refused(harmless(&refused.to_string())),
    }
}

/// Performs every step that the gateway will perform with the module, so that each one was tried here first.
fn compile(job: CompileJob<'_>) -> Result<CompiledCode, RefusedError> {
    let kind = componentize::kind(job.module)?;
    let engine = Engine::new(&compile_config()).map_err(|error| RefusedError::of_wasmtime(&error))?;
    let component = module::component(&engine, job, kind)?;
    let mut linker = Linker::new(&engine);
    abi::add_to_linker(&mut linker).map_err(|error| RefusedError::of_wasmtime(&error))?;
    module::check(&component, &linker, kind)?;
    CompiledCode::of(&component)
}
