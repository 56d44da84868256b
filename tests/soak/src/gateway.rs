//! The plimsoll under test: a process whose log is counted, and whose end is noticed.

use std::{
    collections::VecDeque,
    fs::File,
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::Value;

/// Bytes of the log that are kept in the file; the rest is counted only.
const MOST_LOG: usize = 64 << 20;

/// The newest lines, for the report of a process that ended.
const NEWEST: usize = 40;

/// The longest that a stop may take: `--drain-timeout` and some.
const STOPPING: Duration = Duration::from_secs(40);

pub(crate) struct Gateway {
    child: Mutex<Child>,
    pub(crate) pid: u32,
    pub(crate) wire: SocketAddr,
    pub(crate) admin: SocketAddr,
    log: Arc<Mutex<Log>>,
}

/// Counts over the log so far.
#[derive(Debug, Default, Clone)]
pub(crate) struct Log {
    pub(crate) lines: u64,
    pub(crate) errors: u64,
    /// Lines that tell of a bug: a panic of the host, a decision that failed for no reason.
    pub(crate) bugs: Vec<String>,
    pub(crate) newest: VecDeque<String>,
}

// === impl Gateway ===

impl Gateway {
    /// Starts it and waits until it listens.
    pub(crate) fn start(command: &mut Command, log_file: &Path) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().context("its log")?;
        let log = Arc::<Mutex<Log>>::default();
        let (tell, told) = mpsc::channel();
        let (own, file) = (Arc::clone(&log), File::create(log_file)?);
        thread::spawn(move || follow(BufReader::new(stderr), file, &own, &tell));
        let told = told.recv_timeout(Duration::from_mins(1));
        let Ok((wire, admin)) = told else {
            let _ = child.kill();
            let _ = child.wait();
            anyhow::bail!("plimsoll did not start: {:#?}", lock(&log).newest);
        };
        Ok(Self { pid: child.id(), child: Mutex::new(child), wire, admin, log })
    }

    pub(crate) fn is_alive(&self) -> bool {
        matches!(lock(&self.child).try_wait(), Ok(None))
    }

    pub(crate) fn log(&self) -> Log {
        lock(&self.log).clone()
    }

    pub(crate) fn log_lines(&self) -> u64 {
        lock(&self.log).lines
    }

    /// Sends SIGTERM and waits for the end; none: it had to be killed.
    pub(crate) fn terminate(&mut self) -> Option<ExitStatus> {
        let _ = Command::new("kill").args(["-TERM", &self.pid.to_string()]).status();
        let until = Instant::now() + STOPPING;
        while Instant::now() < until {
            if let Ok(Some(status)) = lock(&self.child).try_wait() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = lock(&self.child).kill();
        let _ = lock(&self.child).wait();
    }
}

/// Counts lines, keeps them in the file, and tells the addresses when they come.
fn follow(lines: impl BufRead, mut file: File, log: &Mutex<Log>, tell: &mpsc::Sender<(SocketAddr, SocketAddr)>) {
    let mut written = 0;
    for line in lines.lines().map_while(Result::ok) {
        let value: Value = serde_json::from_str(&line).unwrap_or_default();
        let address = |key: &str| value[key].as_str().and_then(|address| address.parse().ok());
        if let (Some(wire), Some(admin)) = (address("listen"), address("admin")) {
            let _ = tell.send((wire, admin));
        }
        // The kept log is a help, not a result: a full disk must not end the soak.
        if written < MOST_LOG && writeln!(file, "{line}").is_ok() {
            written += line.len() + 1;
        }
        let mut log = lock(log);
        log.lines += 1;
        log.errors += u64::from(value["level"] == "ERROR");
        // A guest's panic is named so by plimsoll; the host's own comes from the standard library.
        if value.is_null() && line.contains("panicked at") && log.bugs.len() < NEWEST {
            log.bugs.push(line.clone());
        }
        if log.newest.len() == NEWEST {
            log.newest.pop_front();
        }
        log.newest.push_back(line);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
