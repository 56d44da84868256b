//! The three servers of a comparison.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Result, ensure};
use plimsoll_harness::{Client, Peer};
use serde_json::Value;

use super::interval::median;
use crate::servers::{Setting, beside};

/// A binary that serves.
#[derive(Debug)]
pub(super) struct Build(PathBuf);

/// The new build, the old one, and the new one again.
pub(super) struct Trio {
    servers: [(Client, Peer); 3],
    /// Which one comes first changes from call to call.
    is_reversed: bool,
}

/// Microseconds of a call by server.
pub(super) type Times = [f64; 3];

/// The medians of rounds by server.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub(super) new: Vec<f64>,
    pub(super) old: Vec<f64>,
    pub(super) again: Vec<f64>,
}

// === impl Build ===

impl Build {
    /// The build beside this program, and another one.
    pub(super) fn pair(old: &Path) -> Result<[Self; 2]> {
        Ok([Self(beside("plimsoll")?), Self(old.to_owned())])
    }
}

// === impl Trio ===

impl Trio {
    /// Starts all three, and waits until they are ready.
    pub(super) fn start(setting: &Setting, [new, old]: &[Build; 2], args: &[&str]) -> Result<Self> {
        let start = |build: &Build| -> Result<(Client, Peer)> {
            let peer = setting.serve(&build.0, args)?;
            peer.wait_until_ready()?;
            Ok((Client::connect(peer.address)?, peer))
        };
        Ok(Self { servers: [start(new)?, start(old)?, start(new)?], is_reversed: false })
    }

    /// Asks all three, and compares what they say.
    pub(super) fn agree(&mut self, verb: &str, body: &[u8]) -> Result<()> {
        let mut replies = Vec::new();
        for (client, _) in &mut self.servers {
            replies.push(serde_json::from_slice::<Value>(client.post(&format!("/{verb}"), body)?)?);
        }
        let failed = replies.iter().find(|reply| reply.get("Error").is_some_and(|error| error != ""));
        ensure!(failed.is_none(), "{verb} failed: {}", failed.unwrap_or(&Value::Null)["Error"]);
        ensure!(replies.iter().all(|reply| *reply == replies[0]), "the two builds do not answer {verb} alike");
        Ok(())
    }

    /// Puts one call to each.
    pub(super) fn call(&mut self, verb: &str, body: &[u8]) -> Result<Times> {
        let (path, mut times) = (format!("/{verb}"), Times::default());
        self.is_reversed = !self.is_reversed;
        for at in 0..self.servers.len() {
            let at = if self.is_reversed { self.servers.len() - 1 - at } else { at };
            let started = Instant::now();
            self.servers[at].0.post(&path, body)?;
            times[at] = started.elapsed().as_secs_f64() * 1e6;
        }
        Ok(times)
    }

    pub(super) fn clients(&mut self) -> [&mut Client; 3] {
        self.servers.each_mut().map(|(client, _)| client)
    }
}

// === impl Rounds ===

impl Rounds {
    /// One more round, of these calls.
    pub(super) fn add(&mut self, calls: &[Times]) {
        let of = |server: usize| median(&calls.iter().map(|times| times[server]).collect::<Vec<_>>());
        self.new.push(of(0));
        self.old.push(of(1));
        self.again.push(of(2));
    }
}
