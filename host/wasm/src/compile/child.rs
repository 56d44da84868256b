//! The parent's side of a compile process: it starts, feeds and bounds the process, and ends it on every path.

use std::{
    io::Read,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use super::{
    admission::{Admission, CompileClass, CompilePermit},
    answer::CompileAnswer,
    config::ChildConfig,
    error::{CompileError, StoppedError, harmless, is_shortage},
    job::CompileJob,
    priority::SharedPriority,
};
use crate::{code::CompiledCode, progress::Progress};

/// Threads of one compile; more would only add stacks to its memory.
const MAX_THREADS: usize = 4;

/// The time that a process may take to exit after it has closed its output, so that its exit status tells why.
const ENDING: Duration = Duration::from_secs(1);
const ENDING_STEP: Duration = Duration::from_millis(2);

/// Bytes of standard error that are kept: the last ones.
const LAST_WORDS: usize = 2048;

/// The signal of a process that exceeded its processor time; the same number on all common Linux platforms.
const SIGXCPU: i32 = 24;

/// The exit code of a Rust program whose main thread panicked.
const PANICKED: i32 = 101;

/// Compiles each module in a separate process.
pub(crate) struct ChildCompiler {
    config: ChildConfig,
    admission: Admission,
    threads: usize,
}

/// A running child process; killed and reaped on drop.
struct ChildProcess(Child);

/// The outcome of one process.
enum ProcessOutcome {
    Answer(CompileAnswer),
    TimedOut,
    /// It exited or closed its output without an answer.
    Silent {
        status: Option<ExitStatus>,
        last_words: String,
    },
}

// === impl ChildCompiler ===

impl ChildCompiler {
    pub(crate) fn new(config: ChildConfig) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self { admission: Admission::new(cores, config.memory), threads: cores.min(MAX_THREADS), config }
    }

    /// Compiles a module: its code, and the time that the module waited for others.
    pub(crate) fn compile(
        &self,
        job: CompileJob<'_>,
        progress: &Progress<'_>,
        priority: &SharedPriority,
    ) -> (Result<CompiledCode, CompileError>, Duration) {
        let class = CompileClass::of(job.module.len() as u64);
        let begin = || {
            if class == CompileClass::Large {
                progress.begin();
            }
        };
        match self.compile_as(class, job, priority, begin) {
            // A module that looked small waits among the large ones.
            (Err(CompileError::Stopped(StoppedError::Memory(had))), queued)
                if class == CompileClass::Small && had < self.config.memory =>
            {
                let (code, queued_again) = self.compile_as(CompileClass::Large, job, priority, || {});
                (code, queued + queued_again)
            }
            outcome => outcome,
        }
    }

    /// Compiles a module once, as one of this class; `begin` is called once it has its permit.
    fn compile_as(
        &self,
        class: CompileClass,
        job: CompileJob<'_>,
        priority: &SharedPriority,
        begin: impl FnOnce(),
    ) -> (Result<CompiledCode, CompileError>, Duration) {
        let started = Instant::now();
        let permit = self.admission.enter(class, job.module.len() as u64, priority);
        let queued = started.elapsed();
        let code = permit.map_err(CompileError::from).and_then(|permit| {
            begin();
            self.run_once(job, &permit)
        });
        (code, queued)
    }

    fn run_once(&self, job: CompileJob<'_>, permit: &CompilePermit<'_>) -> Result<CompiledCode, CompileError> {
        let memory = permit.memory;
        let (status, last_words) = match self.run(job, permit).map_err(StoppedError::Start)? {
            ProcessOutcome::Answer(CompileAnswer::Code(code)) => return Ok(CompiledCode::of_child(code)),
            ProcessOutcome::Answer(CompileAnswer::Refused(text)) => {
                return Err(CompileError::RefusedByChild(harmless(&text)));
            }
            ProcessOutcome::Answer(CompileAnswer::Short) => return Err(StoppedError::Memory(memory).into()),
            ProcessOutcome::TimedOut => return Err(StoppedError::Time(self.config.timeout).into()),
            ProcessOutcome::Silent { status, last_words } => (status, last_words),
        };
        let last_line = last_line(&last_words);
        Err(match (status.and_then(|status| status.signal()), status.and_then(|status| status.code())) {
            (Some(SIGXCPU), _) => StoppedError::Time(self.config.timeout),
            _ if is_shortage(&last_words) => StoppedError::Memory(memory),
            _ if last_words.contains("overflowed its stack") => StoppedError::Stack,
            (_, Some(PANICKED)) => StoppedError::Panic(last_line),
            _ => StoppedError::Ended(end_of(status, &last_line)),
        }
        .into())
    }

    fn run(&self, job: CompileJob<'_>, permit: &CompilePermit<'_>) -> std::io::Result<ProcessOutcome> {
        let started = Instant::now();
        thread::scope(|scope| {
            // Dropped before the scope waits for its threads, and ends them with the process.
            let mut running = ChildProcess(self.command(permit.memory).spawn()?);
            let counted = permit.count(running.0.id());
            let child = &mut running.0;
            let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            let thread = || thread::Builder::new().name("compile-pipe".to_owned());
            // Standard input stays open until the answer has arrived: end of file tells the child that its parent is
            // gone.
            let fed = thread().spawn_scoped(scope, || feed(stdin, job))?;
            let last_words = thread().spawn_scoped(scope, || stderr.map(last_words).unwrap_or_default())?;
            let (sender, receiver) = mpsc::channel();
            let read = move || sender.send(stdout.and_then(|mut stdout| CompileAnswer::read(&mut stdout)));
            thread().spawn_scoped(scope, read)?;
            let answer = receiver.recv_timeout(self.config.timeout.saturating_sub(started.elapsed()));
            let outcome = match answer {
                Ok(Some(answer)) => ProcessOutcome::Answer(answer),
                Err(RecvTimeoutError::Timeout) => ProcessOutcome::TimedOut,
                Ok(None) | Err(RecvTimeoutError::Disconnected) => {
                    let status = running.end();
                    ProcessOutcome::Silent { status, last_words: last_words.join().unwrap_or_default() }
                }
            };
            drop(running);
            drop(counted);
            drop(fed);
            Ok(outcome)
        })
    }

    fn command(&self, memory: u64) -> Command {
        let cpu = self.config.timeout.as_secs().saturating_add(1).saturating_mul(self.threads as u64);
        let mut command = Command::new(&self.config.program);
        command
            .arg0("plimsoll")
            .args(["compile-module", &format!("--memory={memory}"), &format!("--cpu={cpu}s")])
            .env_clear()
            .env("RAYON_NUM_THREADS", self.threads.to_string())
            // Each further malloc arena reserves address space.
            .env("MALLOC_ARENA_MAX", "2")
            // The terminal's interrupt goes to the gateway only, which ends its children itself.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

fn feed(stdin: Option<ChildStdin>, job: CompileJob<'_>) -> Option<ChildStdin> {
    let mut stdin = stdin?;
    // If the process has exited early, its answer or status tells why.
    let _ = job.write(&mut stdin);
    Some(stdin)
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

fn last_line(words: &str) -> String {
    // After a panic the last line is a note for developers.
    let tells = |line: &&str| !line.trim().is_empty() && !line.starts_with("note: ");
    words.lines().rfind(tells).map(harmless).unwrap_or_default()
}

fn end_of(status: Option<ExitStatus>, last_line: &str) -> String {
    let status = status.map_or_else(|| "it was killed".to_owned(), |status| status.to_string());
    if last_line.is_empty() { status } else { format!("{status}: {last_line}") }
}

// === impl ChildProcess ===

impl ChildProcess {
    /// Waits for the exit status; `None` if the process had to be killed.
    fn end(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + ENDING;
        while Instant::now() < deadline {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                #[expect(clippy::disallowed_methods, reason = "std has no wait with a deadline for a process")]
                Ok(None) => thread::sleep(ENDING_STEP),
                Err(_) => break,
            }
        }
        self.kill();
        None
    }

    fn kill(&mut self) {
        // It may have exited already; wait reaps it in either case.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::compile::priority::{Priority, SharedPriority};

    #[test]
    fn the_time_in_which_a_module_waits_for_others_is_told_apart() {
        let compiler = ChildCompiler::new(ChildConfig::of("/nowhere"));
        let large = vec![0; 2 << 20];
        let job = CompileJob { module: &large, settings: None };
        let (normal, begun) = (SharedPriority::new(Priority::Normal), Barrier::new(2));
        let first = compiler.admission.enter(CompileClass::Large, 2 << 20, &normal).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let started = Instant::now();
                begun.wait();
                let (code, queued) = compiler.compile(job, &Progress::new(|_| {}, "large", &large), &normal);
                assert!(code.is_err());
                (started.elapsed(), queued)
            });
            begun.wait();
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(1) {
                thread::park_timeout(Duration::from_millis(50));
            }
            drop(first);
            let (total, queued) = second.join().unwrap();
            assert!(total >= Duration::from_secs(1) && total < queued + Duration::from_millis(500), "{queued:?}");
        });
    }
}
