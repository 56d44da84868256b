//! Pre-initialises modules with the settings of their policies.
//!
//! A module with a language's runtime takes up to 0.5 ms to start and to read its settings. Instances of a
//! pre-initialised one begin after both.

use std::{
    collections::VecDeque,
    ops::RangeInclusive,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use plimsoll_system::digest::hex;
use tracing::{debug, info, warn};
use wasmtime::component::Component;

use crate::{
    cache::{CacheKey, ModuleCache},
    compile::{self, Backend, CompileError, CompileJob, CompileWait, Priority, SharedPriority},
    contract::RefusedError,
    engine::Host,
    guest::GuestModule,
    instance::{NotWarmed, WarmInstance},
    instance_pool::Preinitialized,
    lift::{self, ModuleKind},
    progress::Progress,
    shares::{MemoryCharge, Shares},
};

/// Bytes of modules that are pre-initialised. Smaller ones start within microseconds; larger ones cost too much
/// processor time and disk space for each policy.
const SIZES: RangeInclusive<usize> = 512 << 10..=8 << 20;

/// Maximum bytes of the modules that wait. A policy beyond that is not pre-initialised.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Reasons why a module is not pre-initialised for a policy.
const TOO_MANY: &str = "too many policies have this module";
const FULL: &str = "too little of the memory of all guests is free";
const NOT_STARTED: &str = "it does not start";

/// The policies that wait to be pre-initialised.
pub(super) struct Preinitializer {
    is_enabled: bool,
    waiting: Mutex<Waiting>,
    /// Each pre-initialised module has a clone.
    count: Arc<()>,
}

#[derive(Default)]
struct Waiting {
    policies: VecDeque<WaitingPolicy>,
    bytes: usize,
    /// Whether a thread works them off; it ends with the last policy.
    has_thread: bool,
}

/// A policy that waits.
pub(super) struct WaitingPolicy {
    pub(super) name: String,
    pub(super) version: u64,
    pub(super) module: Vec<u8>,
    pub(super) digest: [u8; 32],
    /// Dropped with the policy.
    pub(super) settings: Weak<str>,
}

/// The parts of the loader that make a component from a module.
pub(super) struct Toolchain<'l> {
    pub(super) host: &'l Host,
    pub(super) backend: &'l Backend,
    pub(super) cache: Option<&'l ModuleCache>,
    /// Cloned by each pre-initialised module.
    pub(super) count: &'l Arc<()>,
}

/// Logs how it ended; without a result plimsoll itself has failed.
pub(super) fn log(
    WaitingPolicy { name, version, digest, .. }: &WaitingPolicy,
    took: Duration,
    result: Option<Result<(), CompileError>>,
) {
    let digest = format_args!("sha256:{}", hex(digest));
    match result {
        Some(Ok(())) => {
            let took = format_args!("{} ms", took.as_millis());
            info!(policy = name, version, %digest, %took, "a large module is pre-initialised");
        }
        Some(Err(error)) => debug!(policy = name, version, %digest, %error, "a large module is not pre-initialised"),
        None => warn!(policy = name, version, %digest, "plimsoll itself failed while it pre-initialised the module"),
    }
}

/// Whether the spares of this module give way to pre-initialised modules: those of a small one save a call microseconds,
/// and a large core module is pre-initialised itself. Nothing but a spare saves a component its start.
pub(super) fn gives_way(module: &[u8]) -> bool {
    module.len() < *SIZES.start() || is_candidate(module)
}

/// Whether modules of this kind and size are pre-initialised.
fn is_candidate(module: &[u8]) -> bool {
    SIZES.contains(&module.len()) && matches!(lift::kind(module), Ok(ModuleKind::CoreModule))
}

/// Adds bytes to a charge; if there is no room, spares give way. They come back with calls, as far as there is room then.
fn grow(charge: &mut MemoryCharge, bytes: usize, shares: &Shares) -> Result<(), RefusedError> {
    let grown =
        charge.grow(bytes).or_else(|full| if shares.reclaimers.make_way() { charge.grow(bytes) } else { Err(full) });
    grown.map_err(|_| refused(FULL))
}

fn refused(why: &str) -> RefusedError {
    RefusedError::Preinitialize(why.to_owned())
}

// === impl Preinitializer ===

impl Preinitializer {
    pub(super) fn new(is_enabled: bool) -> Self {
        Self { is_enabled, waiting: Mutex::default(), count: Arc::default() }
    }

    pub(super) const fn count(&self) -> &Arc<()> {
        &self.count
    }

    /// Whether it pays to pre-initialise this module.
    pub(super) fn pays(&self, module: &[u8]) -> bool {
        self.is_enabled && is_candidate(module)
    }

    /// Adds a policy, unless too many wait; `start` starts a thread if none runs, and says whether it could.
    pub(super) fn add(&self, policy: WaitingPolicy, start: impl FnOnce() -> bool) {
        let mut waiting = self.waiting.lock();
        if waiting.bytes + policy.module.len() > MAX_WAITING_BYTES {
            debug!(policy = policy.name, policy.version, "not pre-initialised: too many large modules wait for it");
            return;
        }
        waiting.bytes += policy.module.len();
        waiting.policies.push_back(policy);
        if !waiting.has_thread {
            // Without a thread the next policy tries again.
            waiting.has_thread = start();
        }
    }

    /// The next policy that is still loaded, with its settings; without one the thread must end.
    pub(super) fn next(&self) -> Option<(WaitingPolicy, Arc<str>)> {
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

// === impl Toolchain ===

impl Toolchain<'_> {
    /// Pre-initialises a module with the settings of a policy; its calls use the result from then on.
    ///
    /// # Errors
    /// If its start or its `validate` needs more than the settings, or too little memory is free.
    pub(super) fn preinitialize(
        &self,
        guest: &GuestModule,
        module: &[u8],
        digest: &[u8; 32],
        settings: &Arc<str>,
    ) -> Result<(), CompileError> {
        let shares = &self.host.shares;
        // A compile takes seconds, so what can be known without it is checked first. The code is larger than its module.
        if !guest.can_be_preinitialized_with(settings) {
            return Err(refused(TOO_MANY).into());
        }
        grow(&mut MemoryCharge::warm(shares), module.len(), shares)?;
        let component = self.component(module, digest, settings)?;
        let code = component.image_range();
        let mut charge = MemoryCharge::warm(shares);
        grow(&mut charge, code.end as usize - code.start as usize, shares)?;
        let module = Arc::new(compile::check(&component, &self.host.linker, lift::kind(module)?)?.module);
        // The memory that its instances begin with decides which calls may use them.
        let start = || WarmInstance::start(&module, shares);
        let warm = match start() {
            Err(NotWarmed::Full) if shares.reclaimers.make_way() => start(),
            warm => warm,
        };
        let memory = warm.map_err(|why| refused(if why == NotWarmed::Full { FULL } else { NOT_STARTED }))?.memory();
        // wasmtime keeps a copy of that memory without its zero pages, which instances map.
        grow(&mut charge, memory, shares)?;
        let module = Preinitialized::new(module, memory, charge, Arc::clone(self.count));
        if guest.preinitialize(settings, module) { Ok(()) } else { Err(refused(TOO_MANY).into()) }
    }

    fn component(&self, module: &[u8], digest: &[u8; 32], settings: &str) -> Result<Component, CompileError> {
        let (engine, key) = (self.host.engine(), CacheKey::of_preinitialized(digest, settings));
        if let Some(component) = self.cache.and_then(|cache| cache.get(&key, engine)) {
            return Ok(component);
        }
        let job = CompileJob { module, settings: Some(settings) };
        let progress = Progress::new(|_| {}, "", module);
        let mut wait = CompileWait::new(SharedPriority::new(Priority::Background));
        let (component, code) = self.backend.compile(job, lift::kind(module)?, engine, &progress, &mut wait)?;
        if let Some(cache) = self.cache {
            cache.put(&key, &code);
        }
        Ok(component)
    }
}
