//! The policies that wait until their modules are pre-initialised.

use std::{
    collections::VecDeque,
    ops::RangeInclusive,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use plimsoll_core::Module;
use tracing::debug;

use crate::componentize::{self, ModuleKind};

/// Bytes of modules that are pre-initialised. Smaller ones start within microseconds; larger ones cost too much
/// processor time and disk space for each policy.
const SIZES: RangeInclusive<usize> = 512 << 10..=8 << 20;

/// Maximum bytes of the modules in the queue. A policy beyond that is not pre-initialised.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// A queue that one thread works off.
pub(super) struct PreinitQueue {
    is_enabled: bool,
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    policies: VecDeque<QueuedPolicy>,
    bytes: usize,
    /// Whether the thread runs; it ends with the last policy.
    has_thread: bool,
}

/// A policy in the queue.
pub(super) struct QueuedPolicy {
    pub(super) name: String,
    pub(super) version: u64,
    pub(super) module: Module,
    /// Dropped with the policy.
    pub(super) settings: Weak<str>,
}

/// Whether the spares of this module give way to pre-initialised modules: those of a small one save a call microseconds,
/// and a large core module is pre-initialised itself. Nothing but a spare saves a component its start.
pub(super) fn gives_way(module: &[u8]) -> bool {
    module.len() < *SIZES.start() || is_candidate(module)
}

/// Whether modules of this kind and size are pre-initialised.
fn is_candidate(module: &[u8]) -> bool {
    SIZES.contains(&module.len()) && componentize::kind(module).ok() == Some(ModuleKind::CoreModule)
}

// === impl PreinitQueue ===

impl PreinitQueue {
    pub(super) fn new(is_enabled: bool) -> Self {
        Self { is_enabled, state: Mutex::default() }
    }

    /// Whether it pays to pre-initialise this module.
    pub(super) fn pays(&self, module: &[u8]) -> bool {
        self.is_enabled && is_candidate(module)
    }

    /// Adds a policy, unless too many wait; `start` starts the thread if it does not run, and says whether it could.
    pub(super) fn push(&self, policy: QueuedPolicy, start: impl FnOnce() -> bool) {
        let mut state = self.state.lock();
        let bytes = state.bytes + policy.module.bytes().len();
        if bytes > MAX_QUEUED_BYTES {
            debug!(policy = policy.name, policy.version, "not pre-initialised: too many large modules wait for it");
            return;
        }
        state.bytes = bytes;
        state.policies.push_back(policy);
        if !state.has_thread {
            // Without a thread the next policy tries again.
            state.has_thread = start();
        }
    }

    /// The next policy that still exists, with its settings; without one the thread must end.
    pub(super) fn pop(&self) -> Option<(QueuedPolicy, Arc<str>)> {
        let mut state = self.state.lock();
        while let Some(policy) = state.policies.pop_front() {
            state.bytes -= policy.module.bytes().len();
            if let Some(settings) = policy.settings.upgrade() {
                return Some((policy, settings));
            }
        }
        state.has_thread = false;
        None
    }
}
