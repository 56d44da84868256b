//! The parent's side of a compile process: it starts, feeds and bounds the process, and ends it on every path.

use std::{
    io::{self, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use plimsoll_core::LoadError;
use plimsoll_system::cgroup;

use crate::{
    code::{CompiledCode, MAX_CODE_BYTES},
    contract::harmless,
};

/// The exit code if the standard output is a refusal.
pub(super) const REFUSED: u8 = 80;

/// The exit code if memory or threads did not suffice.
pub(super) const SHORT: u8 = 81;

/// Threads of one compile; more would only add stacks to its memory.
const MAX_THREADS: usize = 4;

/// Time between two looks whether the process has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Bytes of standard error that are kept: the last ones.
const LAST_WORDS: usize = 2048;

/// The signal of a process that exceeded its processor time; the same number on all common Linux platforms.
const SIGXCPU: i32 = 24;

/// The exit code of a Rust program whose main thread panicked.
const PANICKED: i32 = 101;

/// The program that compiles, and its bounds.
#[derive(Debug, Clone)]
pub struct ChildConfig {
    /// A program that calls [`compile_module`](super::compile_module) when its first argument is `compile-module`.
    pub program: PathBuf,
    /// Maximum bytes of private memory of one compile.
    pub memory: u64,
    /// Maximum time of one compile.
    pub timeout: Duration,
}

/// A running child process; killed and reaped on drop.
struct ChildProcess(Child);

/// A process that has ended, and its output.
struct Ended {
    /// None: it was killed since its time was over.
    status: Option<ExitStatus>,
    output: Vec<u8>,
    last_words: String,
}

/// Compiles a module in a process: its code.
///
/// # Errors
/// The refusal that the process wrote, or why it did not.
pub(super) fn compile(config: &ChildConfig, module: &[u8]) -> Result<CompiledCode, LoadError> {
    // A quarter of what the container has left stays with the gateway, which serves meanwhile.
    let memory = cgroup::memory_left().map_or(config.memory, |left| config.memory.min(left / 4 * 3));
    let started = run(config, memory, module);
    let ended = started
        .map_err(|error| LoadError::transient(format!("the process that compiles could not be started: {error}")))?;
    match ended.status.and_then(|status| status.code()) {
        Some(0) if (1..=MAX_CODE_BYTES).contains(&ended.output.len()) => Ok(CompiledCode::of_child(ended.output)),
        Some(code) if code == i32::from(REFUSED) => {
            Err(LoadError::permanent(harmless(&String::from_utf8_lossy(&ended.output))))
        }
        _ => Err(ended.failure(config.timeout, memory)),
    }
}

fn run(config: &ChildConfig, memory: u64, module: &[u8]) -> io::Result<Ended> {
    let deadline = Instant::now() + config.timeout;
    thread::scope(|scope| {
        // Dropped before the scope waits for its threads, and ends them with the process.
        let mut running = ChildProcess(command(config, memory).spawn()?);
        let child = &mut running.0;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let thread = || thread::Builder::new().name("compile-pipe".to_owned());
        // Standard input stays open while the process runs: its end tells the process that its parent is gone.
        let fed = thread().spawn_scoped(scope, || {
            stdin.map(|mut stdin| {
                // If the process has exited early, its status tells why.
                let _ = write(module, &mut stdin);
                stdin
            })
        })?;
        let last_words = thread().spawn_scoped(scope, || stderr.map(last_words).unwrap_or_default())?;
        let output = thread().spawn_scoped(scope, || {
            let mut output = Vec::new();
            // A read that fails leaves the output as short as it is.
            let _ = stdout.map(|stdout| stdout.take(MAX_CODE_BYTES as u64 + 1).read_to_end(&mut output));
            output
        })?;
        let status = running.wait_until(deadline)?;
        drop(running);
        let _ = fed.join();
        let (output, last_words) = (output.join().unwrap_or_default(), last_words.join().unwrap_or_default());
        Ok(Ended { status, output, last_words })
    })
}

/// Writes a module as [`compile_module`](super::compile_module) reads it: the length, then the bytes.
pub(super) fn write(module: &[u8], to: &mut impl Write) -> io::Result<()> {
    to.write_all(&(module.len() as u64).to_le_bytes())?;
    to.write_all(module)
}

fn command(config: &ChildConfig, memory: u64) -> Command {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let cpu = config.timeout.as_secs().saturating_add(1).saturating_mul(threads as u64);
    let mut command = Command::new(&config.program);
    command
        .arg0("plimsoll")
        .args(["compile-module", &format!("--memory={memory}"), &format!("--cpu={cpu}s")])
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        // Each further malloc arena reserves address space.
        .env("MALLOC_ARENA_MAX", "2")
        // The terminal's interrupt goes to the gateway only, which ends its children itself.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Reads everything, and keeps the last bytes.
fn last_words(mut from: impl Read) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 1024]);
    while let Ok(length @ 1..) = from.read(&mut piece) {
        kept.extend_from_slice(&piece[..length]);
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Whether a process that ended without an answer says on standard error that it lacked memory or threads.
///
/// Only lines as Rust's runtime writes them count: a panic may quote a name of the module in its midst.
fn is_shortage(last_words: &str) -> bool {
    let of_allocator = |line: &str| line.starts_with("memory allocation of ") && line.ends_with(" bytes failed");
    let of_system = |line: &str| {
        let error = [11, 12].map(|code| (format!("Os {{ code: {code}, "), format!("(os error {code})")));
        error.iter().any(|(as_value, as_text)| line.contains(as_value) || line.ends_with(as_text))
    };
    last_words.lines().any(|line| of_allocator(line) || of_system(line))
}

// === impl ChildConfig ===

impl ChildConfig {
    /// Default memory of one compile: twice the need of the largest known language runtime.
    pub const MEMORY: u64 = 1 << 30;

    /// Default time of one compile.
    pub const TIMEOUT: Duration = Duration::from_mins(1);

    /// The running executable, even if its file was replaced since.
    pub fn this_program() -> Self {
        Self::of("/proc/self/exe")
    }

    /// Another program, with the default bounds.
    pub fn of(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), memory: Self::MEMORY, timeout: Self::TIMEOUT }
    }
}

// === impl Ended ===

impl Ended {
    /// Why there is neither code nor a refusal. A stack has the same size in every process, and a fault of the compiler
    /// is the same each time; anything else may pass.
    fn failure(&self, timeout: Duration, memory: u64) -> LoadError {
        let (code, signal) = self.status.map_or((None, None), |status| (status.code(), status.signal()));
        if self.status.is_none() || signal == Some(SIGXCPU) {
            let seconds = timeout.as_secs_f32();
            return LoadError::transient(format!(
                "compiling it was stopped after {seconds} s: raise --compile-timeout if the module is sound"
            ));
        }
        if code == Some(SHORT.into()) || is_shortage(&self.last_words) {
            return LoadError::transient(format!(
                "compiling it took more than {} MiB of memory: raise --compile-memory, or the memory limit of the container, if the module is sound",
                memory >> 20
            ));
        }
        if self.last_words.contains("overflowed its stack") {
            return LoadError::permanent("the module is nested too deeply for the compiler, whose stack overflowed");
        }
        let last_line = self.last_line();
        if code == Some(PANICKED) {
            return LoadError::permanent(format!("the compiler failed on it, by a fault of its own: {last_line}"));
        }
        let status = self.status.map(|status| status.to_string()).unwrap_or_default();
        let said = if last_line.is_empty() { status } else { format!("{status}: {last_line}") };
        LoadError::transient(format!("the process that compiles ended without an answer: {said}"))
    }

    fn last_line(&self) -> String {
        // After a panic the last line is a note for developers.
        let tells = |line: &&str| !line.trim().is_empty() && !line.starts_with("note: ");
        self.last_words.lines().rfind(tells).map(harmless).unwrap_or_default()
    }
}

// === impl ChildProcess ===

impl ChildProcess {
    /// Waits for the exit status; `None` if the process still runs at the deadline.
    fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            #[expect(clippy::disallowed_methods, reason = "std has no wait with a deadline for a process")]
            thread::sleep(POLL_INTERVAL);
        }
        Ok(None)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // It may have exited already; wait reaps it in either case.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_panic_is_no_lack_of_memory() {
        assert!(!is_shortage(
            "thread 'main' panicked at x.rs:1:1:\nno such name: `memory allocation of 9 bytes failed`"
        ));
        assert!(!is_shortage("no such name: `Cannot allocate memory (os error 12)`"));
        for last_words in [
            "memory allocation of 99 bytes failed\n",
            "Error: the thread cannot be started: Resource temporarily unavailable (os error 11)",
            "thread 'main' panicked at x.rs:1:1:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 11, kind: W }",
        ] {
            assert!(is_shortage(last_words), "{last_words}");
        }
    }
}
