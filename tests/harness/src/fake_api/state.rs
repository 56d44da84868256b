//! The state of the API server, which its threads share.

use std::{
    collections::{HashMap, VecDeque},
    net::TcpStream,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::objects::Objects;

/// The fate of one of the next Bindings; those after them are carried out and answered.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// It is carried out, and nobody hears of it.
    LostAnswer,
    /// It is carried out, and the connection is closed instead of an answer.
    CutOff,
    /// It never arrives.
    Lost,
    /// It is refused with this status.
    Refused(u16),
}

/// Whether it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mood {
    #[default]
    Well,
    /// Connections are refused.
    Away,
    /// For good.
    Ended,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) objects: Objects,
    pub(super) mood: Mood,
    /// Requests whose path contains this text are answered with this status.
    pub(super) failing: Option<(&'static str, u16)>,
    /// Requests whose path contains this wait.
    pub(super) held: Option<&'static str>,
    pub(super) fates: VecDeque<Fate>,
    pub(super) bindings: u64,
    /// The paths and bodies of all patches.
    pub(super) patches: Vec<(String, Value)>,
    pub(super) last_binding: Option<(String, Value)>,
    pub(super) watches_are_silent: bool,
    /// Texts for the watches of the resource with a path.
    pub(super) raw: Vec<(&'static str, String)>,
    /// The path and query of each list and watch.
    pub(super) requests: Vec<String>,
    /// None: a recent one.
    pub(super) minor_version: Option<&'static str>,
    /// Open connections by number.
    pub(super) connections: HashMap<u64, TcpStream>,
    pub(super) accepted: u64,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Something changed that a watch or the listener waits for.
    pub(super) changed: Condvar,
}

// === impl Shared ===

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
