//! A server in a process of its own, which says where it listens.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::LazyLock,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace;

/// Builds the Go extender, once for a run.
static GO_EXTENDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let script = workspace().join("tests/bench/go-extender/build");
    let status = Command::new(&script).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "{}: {status:?}", script.display());
    workspace().join("target/bench/bin/go-extender")
});

/// A running server; it is killed when dropped.
pub struct Peer {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

// === impl Peer ===

impl Peer {
    /// Starts the Go extender with the rules of a file ([`crate::samples::go_rules`]); it needs Go.
    ///
    /// # Errors
    /// If it does not start.
    pub fn go(rules: &Path, snapshot: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(&*GO_EXTENDER);
        command.args(["--mode", "rules", "--rules"]).arg(rules);
        if let Some(snapshot) = snapshot {
            command.arg("--snapshot").arg(snapshot);
        }
        Self::announced_on_stdout(command)
    }

    /// Starts the extender that keeps every node and parses nothing; it needs Go.
    ///
    /// # Errors
    /// If it does not start.
    pub fn null() -> Result<Self> {
        let mut command = Command::new(&*GO_EXTENDER);
        command.args(["--mode", "null"]);
        Self::announced_on_stdout(command)
    }

    /// Starts a server that prints a line of JSON with the key `listen`.
    ///
    /// # Errors
    /// If it does not start, or ends without that line.
    pub fn announced_on_stdout(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
        let output = child.stdout.take().context("an output")?;
        Self::announced(child, output)
    }

    /// As [`Peer::announced_on_stdout`], for a server that logs on standard error.
    ///
    /// # Errors
    /// The same.
    pub fn announced_on_stderr(mut command: Command) -> Result<Self> {
        let mut child = command.stderr(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
        let output = child.stderr.take().context("a log")?;
        Self::announced(child, output)
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the line that tells the address, and goes on reading behind it.
    fn announced(mut child: Child, output: impl Read + Send + 'static) -> Result<Self> {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let mut seen = vec![];
        for line in lines.by_ref() {
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(address) = value["listen"].as_str().and_then(|address| address.parse().ok()) {
                // A full pipe would stop the server.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(Self { child, address });
            }
            seen.push(line);
        }
        child.wait()?;
        bail!("the server did not start: {}", seen.join("\n"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
