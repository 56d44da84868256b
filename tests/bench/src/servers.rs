//! plimsoll, the Go extender with the same rules, and the echo.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use bytes::Bytes;
use plimsoll_harness::{
    Client, Peer,
    samples::{Sample, go_rules},
};
use tempfile::{NamedTempFile, TempDir};

use crate::{
    echo,
    modules::Modules,
    report::{Report, Row},
    sample::{Effort, Sample as Times},
};

/// The input of both extenders: the same rules, and the same view of the cluster.
pub(crate) struct Setting {
    policies: TempDir,
    rules: NamedTempFile,
    /// None in full-node mode.
    snapshot: Option<NamedTempFile>,
}

/// A server of each kind, with one connection to each.
pub(crate) struct Servers {
    pub(crate) plimsoll: Client,
    pub(crate) go: Client,
    echo: Client,
    _running: [Peer; 3],
    _setting: Setting,
}

/// The times of one verb, by server.
#[derive(Default)]
pub(crate) struct Turns {
    pub(crate) plimsoll: Times,
    pub(crate) go: Times,
    pub(crate) echo: Times,
}

// === impl Setting ===

impl Setting {
    pub(crate) fn new(modules: &Modules, samples: &[Sample], snapshot: Option<&[u8]>) -> Result<Self> {
        let rules = NamedTempFile::with_suffix(".json")?;
        std::fs::write(rules.path(), go_rules(samples))?;
        let policies = modules.lay_out(samples)?;
        let write = |text: &[u8]| -> Result<NamedTempFile> {
            let file = NamedTempFile::with_suffix(".json")?;
            std::fs::write(file.path(), text)?;
            Ok(file)
        };
        Ok(Self { policies, rules, snapshot: snapshot.map(write).transpose()? })
    }

    pub(crate) fn policies(&self) -> &Path {
        self.policies.path()
    }

    fn snapshot(&self) -> Option<&Path> {
        self.snapshot.as_ref().map(NamedTempFile::path)
    }

    /// Starts `plimsoll serve` on a free port, and waits until it is ready.
    pub(crate) fn plimsoll(&self) -> Result<Peer> {
        let plimsoll = self.plimsoll_with(&[])?;
        plimsoll.wait_until_ready()?;
        Ok(plimsoll)
    }

    /// Starts it with more arguments, ready or not; the binary is expected beside this one.
    pub(crate) fn plimsoll_with(&self, args: &[&str]) -> Result<Peer> {
        self.serve(&beside("plimsoll")?, args)
    }

    /// The same with another binary.
    pub(crate) fn serve(&self, binary: &Path, args: &[&str]) -> Result<Peer> {
        let build = "cargo build --workspace --profile measured --bin plimsoll";
        ensure!(binary.exists(), "{} is missing: run `{build}`", binary.display());
        let mut command = Command::new(binary);
        command
            // By variables, as a flag that one of two compared builds does not know would be an error.
            .envs(["PLIMSOLL_NO_COMPILE_CACHE", "PLIMSOLL_NO_CACHE"].map(|name| (name, "true")))
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"])
            .args(["--request-timeout", "60s", "--body-limit", "1Gi", "--policies"])
            .arg(self.policies())
            .args(args);
        if let Some(snapshot) = self.snapshot() {
            command.arg("--snapshot").arg(snapshot);
        }
        Peer::announced_on_stderr(&mut command)
    }

    /// Starts the Go extender.
    pub(crate) fn go(&self) -> Result<Peer> {
        Peer::go(self.rules.path(), self.snapshot())
    }
}

// === impl Servers ===

impl Servers {
    /// Starts all three.
    pub(crate) fn start(setting: Setting) -> Result<Self> {
        let mut echo = Command::new(std::env::current_exe()?);
        echo.arg(echo::ARGUMENT);
        let running = [setting.plimsoll()?, setting.go()?, Peer::announced_on_stdout(&mut echo)?];
        let [plimsoll, go, echo] = running.each_ref().map(|peer| Client::connect(peer.address));
        Ok(Self { plimsoll: plimsoll?, go: go?, echo: echo?, _running: running, _setting: setting })
    }

    /// One call to each, in turns; the echo replies with as many bytes as plimsoll did at first.
    ///
    /// `body` makes the body of each round; the time that it takes does not count.
    pub(crate) fn take_turns(&mut self, verb: &str, effort: Effort, mut body: impl FnMut() -> Bytes) -> Result<Turns> {
        let path = format!("/{verb}");
        let size = format!("/{}", self.plimsoll.post(&path, &body())?.len());
        let mut turns = Turns::default();
        effort.rounds(|counts| {
            let body = body();
            turns.plimsoll.time(counts, || self.plimsoll.post(&path, &body).map(drop))?;
            turns.go.time(counts, || self.go.post(&path, &body).map(drop))?;
            turns.echo.time(counts, || self.echo.post(&size, &body).map(drop))
        })?;
        Ok(turns)
    }
}

// === impl Turns ===

impl Turns {
    /// Adds a row for each server.
    pub(crate) fn report(&self, report: &mut Report, row: &Row) -> Result<()> {
        let servers = [("plimsoll", &self.plimsoll), ("go", &self.go), ("echo", &self.echo)];
        for (server, times) in servers {
            report.add(Row { server, ..row.clone() }.timed(times))?;
        }
        Ok(())
    }
}

/// A program that was built with this one.
pub(crate) fn beside(name: &str) -> Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}
