//! The three servers of a comparison.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::{Client, Peer};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    interval::median,
    servers::{Setting, beside},
};

/// The binaries that are compared: the new one, the old one, and a copy of the new one.
///
/// Processes of one file share the memory of their code: whichever came after the other would find it in the caches.
#[derive(Debug)]
pub(super) struct Builds {
    binaries: [PathBuf; 3],
    _copies: TempDir,
}

/// The orders in which servers are called, one after another: each server is as often the first, the second and the
/// last, none is called twice in a row (its second call would find its memory in the caches), and each comes as often
/// after the one before it in the circle.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [2, 0, 1], [2, 1, 0], [1, 2, 0], [1, 0, 2]];

/// The new build, the old one, and the new one again.
pub(super) struct Trio {
    servers: [(Client, Peer); 3],
    calls: usize,
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

// === impl Builds ===

impl Builds {
    /// The build beside this program, and another one.
    pub(super) fn of(old: &Path) -> Result<Self> {
        let (new, copies) = (beside("plimsoll")?, tempfile::tempdir()?);
        let copy = copies.path().join("plimsoll");
        std::fs::copy(&new, &copy).with_context(|| {
            format!("{}: run `cargo build --workspace --profile measured --bin plimsoll`", new.display())
        })?;
        Ok(Self { binaries: [new, old.to_owned(), copy], _copies: copies })
    }
}

// === impl Trio ===

impl Trio {
    /// Starts all three, and waits until they are ready.
    pub(super) fn start(setting: &Setting, builds: &Builds, args: &[&str]) -> Result<Self> {
        let start = |binary: &Path| -> Result<(Client, Peer)> {
            let peer = setting.serve(binary, args)?;
            peer.wait_until_ready()?;
            Ok((Client::connect(peer.address)?, peer))
        };
        let [new, old, again] = &builds.binaries;
        Ok(Self { servers: [start(new)?, start(old)?, start(again)?], calls: 0 })
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
        self.calls += 1;
        for at in ORDERS[self.calls % ORDERS.len()] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_is_called_twice_in_a_row_and_all_are_treated_alike() {
        let calls: Vec<usize> = ORDERS.concat();
        let mut after = [[0; 3]; 3];
        for (at, server) in calls.iter().enumerate() {
            after[calls[(at + calls.len() - 1) % calls.len()]][*server] += 1;
        }
        assert_eq!(after, [[0, 4, 2], [2, 0, 4], [4, 2, 0]]);
        for place in 0..3 {
            let mut there = ORDERS.map(|order| order[place]);
            there.sort_unstable();
            assert_eq!(there, [0, 0, 1, 1, 2, 2]);
        }
    }
}
