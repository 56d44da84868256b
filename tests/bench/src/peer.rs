//! A server in a process of its own.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::echo;

/// A running server; it is killed when dropped.
pub(crate) struct Peer {
    child: Child,
    pub(crate) address: SocketAddr,
}

// === impl Peer ===

impl Peer {
    /// Starts `plimsoll serve` on a free port; the binary is expected beside this one.
    pub(crate) fn plimsoll(policies: &Path, snapshot: &Path) -> Result<Self> {
        let binary = std::env::current_exe()?.with_file_name("plimsoll");
        let mut command = Command::new(&binary);
        command
            .args(["serve", "--no-cache", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"])
            .arg("--policies")
            .arg(policies)
            .arg("--snapshot")
            .arg(snapshot)
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("{} does not start: run `cargo build --package plimsoll`", binary.display()))?;
        let log = child.stderr.take().context("a log")?;
        Self::started(child, log)
    }

    /// Starts the echo.
    pub(crate) fn echo() -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?).arg(echo::ARGUMENT).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("an output")?;
        Self::started(child, output)
    }

    /// Waits for the line that tells the address, and goes on reading behind it.
    fn started(mut child: Child, output: impl Read + Send + 'static) -> Result<Self> {
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
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
