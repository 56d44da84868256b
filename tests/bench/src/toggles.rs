//! Nodes that change between calls: their pool is rewritten where it stands in the text.

use anyhow::{Result, ensure};
use bytes::Bytes;

const POOL: &[u8] = br#""example.com/pool":"team-"#;

/// A document with nodes, some of which belong to `team-a` or `team-b`.
pub(crate) struct Toggles {
    text: Vec<u8>,
    /// Where the last letter of each such pool stands.
    places: Vec<usize>,
    next: usize,
}

// === impl Toggles ===

impl Toggles {
    /// # Errors
    /// If no node belongs to a team.
    pub(crate) fn new(text: Vec<u8>) -> Result<Self> {
        let places: Vec<usize> = text
            .windows(POOL.len())
            .enumerate()
            .filter(|(_, part)| *part == POOL)
            .map(|(at, _)| at + POOL.len())
            .collect();
        ensure!(!places.is_empty(), "no node belongs to a team");
        Ok(Self { text, places, next: 0 })
    }

    /// Moves this many nodes to the other team, each time the next ones.
    pub(crate) fn toggle(&mut self, nodes: usize) {
        for _ in 0..nodes {
            let letter = &mut self.text[self.places[self.next]];
            *letter = if *letter == b'a' { b'b' } else { b'a' };
            self.next = (self.next + 1) % self.places.len();
        }
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(crate) fn body(&self) -> Bytes {
        Bytes::copy_from_slice(&self.text)
    }
}
