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

use crate::{wait_until, workspace};

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
    /// Where its admin listener is, if it has one.
    admin: Option<SocketAddr>,
}

// === impl Peer ===

impl Peer {
    /// Starts the Go extender with the rules of a file ([`crate::samples::go_rules`]); it needs Go.
    pub fn go(rules: &Path, snapshot: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(&*GO_EXTENDER);
        command.args(["--mode", "rules", "--rules"]).arg(rules);
        if let Some(snapshot) = snapshot {
            command.arg("--snapshot").arg(snapshot);
        }
        Self::announced_on_stdout(&mut command)
    }

    /// Starts the extender that keeps every node and parses nothing; it needs Go.
    pub fn null() -> Result<Self> {
        let mut command = Command::new(&*GO_EXTENDER);
        command.args(["--mode", "null"]);
        Self::announced_on_stdout(&mut command)
    }

    /// Starts the extender that refuses and scores nodes by the number at the end of their names: those whose number
    /// leaves this remainder when it is divided so; it needs Go.
    pub fn by_name(refused: &[(usize, usize)]) -> Result<Self> {
        let refused: Vec<String> =
            refused.iter().map(|(divisor, remainder)| format!("{divisor}:{remainder}")).collect();
        let mut command = Command::new(&*GO_EXTENDER);
        command.args(["--mode", "by-name", "--refuse", &refused.join(",")]);
        Self::announced_on_stdout(&mut command)
    }

    /// Starts a server that prints a line of JSON with the key `listen`.
    pub fn announced_on_stdout(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
        let output = child.stdout.take().context("an output")?;
        Self::announced(child, output)
    }

    /// As [`Peer::announced_on_stdout`], for a server that logs on standard error.
    pub fn announced_on_stderr(command: &mut Command) -> Result<Self> {
        let mut child = command.stderr(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
        let output = child.stderr.take().context("a log")?;
        Self::announced(child, output)
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until plimsoll is ready: its policies are loaded, and its view of the cluster is whole.
    pub fn wait_until_ready(&self) -> Result<()> {
        let admin = self.admin.context("the server has no admin listener")?;
        wait_until("plimsoll to be ready", || ureq::get(format!("http://{admin}/readyz")).call().ok()).map(drop)
    }

    /// Milliseconds of processor time that the process has used, where the system tells.
    pub fn processor_ms(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).ok()?;
        // Behind the name, which may hold spaces: user and system time are fields 14 and 15, in hundredths of a second.
        let fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some(fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0)
    }

    /// Waits for the line that tells the address, and goes on reading behind it.
    fn announced(mut child: Child, output: impl Read + Send + 'static) -> Result<Self> {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let mut seen = vec![];
        for line in lines.by_ref() {
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            let address = |key: &str| value[key].as_str().and_then(|address| address.parse().ok());
            if let Some(listen) = address("listen") {
                // A full pipe would stop the server.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(Self { child, address: listen, admin: address("admin") });
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
