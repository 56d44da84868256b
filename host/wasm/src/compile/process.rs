//! The compile process: it bounds itself, reads one module, and writes compiled code or a refusal.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
    thread,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wasmtime::{Engine, component::Linker};

use super::{child, component};
use crate::{
    abi,
    code::{CompiledCode, compile_config},
    componentize::{self, ModuleKind},
    contract::{RefusedError, check, harmless},
};

/// Maximum bytes of a module that are read; the directory has a lower limit.
const MAX_MODULE_BYTES: u64 = 1 << 30;

/// Maximum open files: the pipes, and files that system libraries read.
const FILES: u64 = 32;

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

/// Compiles the module on standard input, within limits that apply to the rest of this process.
///
/// The other end is [`Compiler::Child`](crate::Compiler::Child), of the same program; the exit code tells it what is on
/// standard output.
///
/// # Errors
/// If the limits cannot be set, or the other end is gone.
pub fn compile_module(limits: ProcessLimits) -> io::Result<ExitCode> {
    set(limits)?;
    let module = read(&mut io::stdin().lock())?;
    end_with_the_gateway()?;
    let (code, output) = match compile(&module) {
        Ok(code) => (ExitCode::SUCCESS, code.into_bytes()),
        Err(RefusedError::Shortage(_)) => (child::SHORT.into(), Vec::new()),
        Err(refused) => (child::REFUSED.into(), harmless(&refused.to_string()).into_bytes()),
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(&output)?;
    stdout.flush()?;
    Ok(code)
}

fn read(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_MODULE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the module is too large"));
    }
    let mut module = vec![0; length as usize];
    from.read_exact(&mut module)?;
    Ok(module)
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

/// Exits when the gateway closes standard input, which it keeps open until this process has exited.
fn end_with_the_gateway() -> io::Result<()> {
    let watch = || {
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(1);
    };
    thread::Builder::new().stack_size(WATCH_STACK).spawn(watch).map(drop)
}

/// Performs every step that the gateway will perform with the module, so that each one was tried here first.
fn compile(module: &[u8]) -> Result<CompiledCode, RefusedError> {
    let kind = componentize::kind(module)?;
    let engine = Engine::new(&compile_config()).map_err(|error| RefusedError::of_wasmtime(&error))?;
    let component = component(&engine, module, kind)?;
    let mut linker = Linker::new(&engine);
    abi::add_to_linker(&mut linker).map_err(|error| RefusedError::of_wasmtime(&error))?;
    check(&component, &linker, kind == ModuleKind::CoreModule)?;
    CompiledCode::of(&component)
}

#[cfg(test)]
mod tests {
    use super::{child::write, *};

    #[test]
    fn a_module_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        write(&[1, 2, 3], &mut bytes).unwrap();
        assert_eq!(read(&mut bytes.as_slice()).unwrap(), [1, 2, 3]);
        bytes.pop();
        assert!(read(&mut bytes.as_slice()).is_err());
        let too_long = (MAX_MODULE_BYTES + 1).to_le_bytes();
        assert!(read(&mut Read::chain(&too_long[..], io::repeat(0))).is_err());
    }
}
