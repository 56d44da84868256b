//! Pre-initialises modules with the settings of their policies, one after another, while no module is being loaded.
//!
//! A module with a language's runtime takes 0.1 to 0.4 ms to start and to read its settings. Instances of a
//! pre-initialised one begin after both.

use std::{
    collections::VecDeque,
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_system::digest::sha256;
use tracing::{debug, info, warn};
use wasmtime::component::Component;

use super::{Inner, UNNAMED};
use crate::{
    compile::{self, CompileError, CompileJob},
    contract::RefusedError,
    guest::GuestPolicy,
    instance::WarmInstance,
    instance_pool::Preinitialized,
    lift::{self, ModuleKind},
    progress::Progress,
    shares::MemoryCharge,
};

/// Bytes of modules that are pre-initialised. Smaller ones start within microseconds; larger ones cost too much
/// processor time and disk space for each policy.
const SIZES: RangeInclusive<usize> = 512 << 10..=8 << 20;

/// Maximum bytes of the modules that wait. A policy beyond that is not pre-initialised.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Between two looks whether modules are being loaded: a load that somebody waits for goes first.
const LOADS: Duration = Duration::from_millis(100);

/// The policies that wait to be pre-initialised, and the thread that does it.
pub(super) struct Preinitializer {
    is_enabled: bool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    policies: VecDeque<WaitingPolicy>,
    bytes: usize,
    /// Whether the thread runs; it ends with the last policy.
    has_thread: bool,
}

struct WaitingPolicy {
    name: String,
    module: Vec<u8>,
    digest: [u8; 32],
    /// Dropped with the policy.
    settings: Weak<str>,
}

// === impl Preinitializer ===

impl Preinitializer {
    pub(super) fn new(is_enabled: bool) -> Self {
        Self { is_enabled, waiting: Mutex::default() }
    }

    /// The next policy that is still loaded, with its settings; without one the thread must end.
    fn next(&self) -> Option<(WaitingPolicy, Arc<str>)> {
        let mut waiting = self.waiting.lock();
        while let Some(policy) = waiting.policies.pop_front() {
            waiting.bytes -= policy.module.len();
            if let Some(settings) = policy.settings.upgrade() {
                return Some((policy, settings));
            }
        }
        waiting.has_thread = false;
        None
    }
}

// === impl Inner ===

impl Inner {
    /// Pre-initialises a loaded module in the background, if that pays.
    pub(super) fn preinitialize_later(self: &Arc<Self>, name: &str, module: &[u8], settings: &Arc<str>) {
        let is_core_module = || matches!(lift::kind(module), Ok(ModuleKind::CoreModule));
        if !self.preinitializer.is_enabled || !SIZES.contains(&module.len()) || !is_core_module() {
            return;
        }
        let digest = sha256(module);
        if !self.in_use(&digest).is_some_and(|policy| policy.can_be_preinitialized()) {
            return;
        }
        let mut waiting = self.preinitializer.waiting.lock();
        if waiting.bytes + module.len() > MAX_WAITING_BYTES {
            debug!(policy = name, "not pre-initialised: too many large modules wait for it");
            return;
        }
        let settings = Arc::downgrade(settings);
        waiting.bytes += module.len();
        waiting.policies.push_back(WaitingPolicy { name: name.to_owned(), module: module.to_vec(), digest, settings });
        if waiting.has_thread {
            return;
        }
        let loader = Arc::clone(self);
        match thread::Builder::new().name("plimsoll-preinit".to_owned()).spawn(move || loader.preinitialize_waiting()) {
            Ok(_) => waiting.has_thread = true,
            // The next policy tries again.
            Err(error) => warn!(%error, "cannot start the thread that pre-initialises modules"),
        }
    }

    fn preinitialize_waiting(&self) {
        loop {
            while self.loading.is_busy() {
                #[expect(clippy::disallowed_methods, reason = "a thread of its own, on which nobody waits")]
                thread::sleep(LOADS);
            }
            let Some((WaitingPolicy { name, module, digest, .. }, settings)) = self.preinitializer.next() else {
                return;
            };
            let Some(policy) = self.in_use(&digest) else { continue };
            let started = Instant::now();
            // A bug of ours that a module may set off must not end the thread.
            let result = catch_unwind(AssertUnwindSafe(|| self.preinitialize(&policy, &module, &digest, &settings)));
            match result {
                Ok(Ok(())) => info!(policy = name, took = ?started.elapsed(), "a large module is pre-initialised"),
                Ok(Err(error)) => debug!(policy = name, %error, "a large module is not pre-initialised"),
                Err(_) => warn!(policy = name, "plimsoll itself failed while it pre-initialised the module"),
            }
        }
    }

    /// Pre-initialises a module with the settings of a policy; its calls use the result from then on.
    pub(super) fn preinitialize(
        &self,
        policy: &GuestPolicy,
        module: &[u8],
        digest: &[u8; 32],
        settings: &Arc<str>,
    ) -> Result<(), CompileError> {
        let component = self.preinitialized(module, digest, settings)?;
        let refused = |why: &str| RefusedError::Preinitialize(why.to_owned());
        let code = component.image_range();
        let mut charge = MemoryCharge::warm(&self.host.shares);
        charge.grow(code.end as usize - code.start as usize).map_err(|full| refused(&full.to_string()))?;
        let module = Arc::new(compile::check(&component, &self.host.linker, lift::kind(module)?)?.module);
        // The memory that its instances begin with decides which calls may use them.
        let warm = WarmInstance::start(&module, &self.host.shares).map_err(|_| refused("it does not start"))?;
        let memory = warm.memory();
        policy.preinitialize(settings, Preinitialized::new(module, memory, charge));
        Ok(())
    }

    fn preinitialized(&self, module: &[u8], digest: &[u8; 32], settings: &str) -> Result<Component, CompileError> {
        let engine = self.host.engine();
        let key = sha256(&[&digest[..], &sha256(settings.as_bytes())].concat());
        if let Some(component) = self.cache.as_ref().and_then(|cache| cache.get(&key, engine)) {
            return Ok(component);
        }
        let job = CompileJob { module, settings: Some(settings) };
        let (progress, mut queued) = (Progress::new(|_| {}, UNNAMED, module), Duration::ZERO);
        let (component, code) = self.backend.compile(job, lift::kind(module)?, engine, &progress, &mut queued)?;
        if let Some(cache) = &self.cache {
            cache.put(&key, &code);
        }
        Ok(component)
    }
}
