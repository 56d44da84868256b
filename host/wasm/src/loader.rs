//! Turns the bytes of a file into a policy: componentize, compile or get from the cache, check, link.

mod cached_compiler;
mod failures;
mod flight;
mod inspection;
mod preinit_queue;
mod preinitialize;

use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::{LoadError, LoadRequest, Loader, Module, Policy};
use plimsoll_system::digest::text_of;

pub use self::inspection::Inspection;
use self::{
    cached_compiler::{CachedCompiler, Compiled},
    failures::FailedModules,
    flight::SingleFlight,
    preinit_queue::PreinitQueue,
};
use crate::{
    cache::ModuleCache,
    compile::{Backend, CheckedComponent, Priority, SharedPriority},
    componentize::{self, ModuleKind},
    engine::{EngineConfig, EngineError, Host},
    guest::GuestModule,
    instance_pool::{InstancePool, PreinitializedCount},
    program,
    progress::{CompileReporter, Progress},
    shares::SharesInUse,
    wasi::WasiImport,
};

/// Loads policies; clones share the engine, the caches and the instance pools.
#[derive(Clone)]
pub struct WasmLoader(Arc<Inner>);

struct Inner {
    host: Arc<Host>,
    compiler: CachedCompiler,
    reporter: CompileReporter,
    /// Loaded modules by digest: policies with equal modules share one.
    loaded: Mutex<HashMap<[u8; 32], Weak<GuestModule>>>,
    /// Loads in progress, by digest: several policies may name one module.
    loading: SingleFlight<[u8; 32], Result<Loaded, LoadError>>,
    failures: FailedModules,
    preinit_queue: PreinitQueue,
    preinitialized: PreinitializedCount,
}

/// A module, and whether nothing had to be compiled for it.
type Loaded = (Arc<GuestModule>, bool);

// === impl WasmLoader ===

impl WasmLoader {
    /// Sets up an engine for all policies.
    ///
    /// # Errors
    /// If WebAssembly cannot run here with this configuration, or the cache directory is not safe to use.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let host = Arc::new(Host::new(&config)?);
        let open = |directory: PathBuf| ModuleCache::open(&directory, config.cache_size, host.engine());
        let cache = config.cache.map(open).transpose()?;
        Ok(Self(Arc::new(Inner {
            host,
            compiler: CachedCompiler { backend: Backend::new(config.compiler), cache },
            reporter: config.reporter,
            loaded: Mutex::default(),
            loading: SingleFlight::new(),
            failures: FailedModules::default(),
            preinit_queue: PreinitQueue::new(config.preinitialize),
            preinitialized: PreinitializedCount::default(),
        })))
    }

    /// Pre-initialises a loaded module with the settings of a policy, whatever its size, and waits for the end.
    ///
    /// # Errors
    /// If it is not loaded, exports no `validate`, or its start or its `validate` needs more than its settings.
    pub fn preinitialize_now(&self, module: &Module, settings: &Arc<str>) -> Result<(), LoadError> {
        self.0.preinitialize_now(module, settings)
    }

    /// The number of warm instances.
    pub fn spares(&self) -> u32 {
        self.0.host.pool_worker.spares()
    }

    /// The number of policies whose modules are pre-initialised.
    pub fn preinitialized(&self) -> usize {
        self.0.preinitialized.get()
    }

    /// Permits and memory in use by all guests.
    pub fn shares(&self) -> SharesInUse {
        self.0.host.shares.in_use()
    }

    /// Loads a module and describes it.
    ///
    /// # Errors
    /// As for [`Loader::load`].
    pub fn inspect(&self, name: &str, module: &Module) -> Result<Inspection, LoadError> {
        let started = Instant::now();
        let (guest, from_cache) = self.0.load_once(LoadRequest { policy: name, module, is_urgent: false })?;
        let compiled_in = started.elapsed();
        let imports = guest.imports().to_vec();
        let wasi = guest.wasi().iter().map(|name| WasiImport::of(name)).collect();
        let policy = program::policy_of(guest);
        let is_core_module = componentize::kind(module.bytes()).ok() == Some(ModuleKind::CoreModule);
        let of_core_module = || WasiImport::of_core_module(module.bytes(), policy.program().is_some());
        Ok(Inspection {
            is_core_module,
            verbs: policy.verbs(),
            imports,
            wasi: if is_core_module { of_core_module() } else { wasi },
            size: module.bytes().len() as u64,
            digest: text_of(module.digest()),
            compiled_in,
            from_cache,
            policy,
        })
    }
}

impl Loader for WasmLoader {
    fn load_for(&self, request: LoadRequest<'_>) -> Result<Arc<dyn Policy>, LoadError> {
        let (guest, _) = self.0.load_once(request)?;
        Ok(program::policy_of(guest))
    }

    fn preinitialize(&self, name: &str, version: u64, module: &Module, settings: &Arc<str>) {
        self.0.preinitialize_later(name, version, module, settings);
    }

    fn refusal(&self, digest: &[u8; 32]) -> Option<LoadError> {
        self.0.failures.of(digest, Instant::now())
    }
}

impl fmt::Debug for WasmLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmLoader").finish_non_exhaustive()
    }
}

// === impl Inner ===

impl Inner {
    /// Loads a module, or waits for a concurrent load of the same module (single flight).
    fn load_once(&self, request: LoadRequest<'_>) -> Result<Loaded, LoadError> {
        let digest = request.module.digest();
        if let Some(guest) = self.in_use(digest) {
            return Ok((guest, true));
        }
        let priority = if request.is_urgent { Priority::Urgent } else { Priority::Normal };
        self.loading.run(*digest, priority, |priority| self.load_unless_failed(request, priority))
    }

    /// Loads a module unless it has failed recently.
    fn load_unless_failed(&self, request: LoadRequest<'_>, priority: &SharedPriority) -> Result<Loaded, LoadError> {
        let digest = request.module.digest();
        // Another load may have ended just before this one began.
        if let Some(guest) = self.in_use(digest) {
            return Ok((guest, true));
        }
        let started = Instant::now();
        if let Some(error) = self.failures.of(digest, started) {
            return Err(error);
        }
        // A bug of ours that a module may set off refuses the module and nothing else.
        let (result, queued) = catch_unwind(AssertUnwindSafe(|| self.load(request, priority))).unwrap_or_else(|_| {
            let error = LoadError::transient("plimsoll itself failed while it compiled the module");
            (Err(error), Duration::ZERO)
        });
        match &result {
            Ok(_) => self.failures.remove(digest),
            Err(error) => {
                // To wait for others costs nothing: only the rest of the time counts.
                let took = started.elapsed().saturating_sub(queued);
                self.failures.add(digest, error, took, Instant::now());
            }
        }
        result
    }

    /// Loads a module; returns also the time that it waited for others to be compiled.
    fn load(&self, request: LoadRequest<'_>, priority: &SharedPriority) -> (Result<Loaded, LoadError>, Duration) {
        let LoadRequest { policy, module, .. } = request;
        let progress = Progress::new(self.reporter, policy, module.bytes());
        let Compiled { result, from_cache, queued } =
            self.compiler.component(&self.host, module, None, &progress, priority);
        let loaded = result.map(|component| (self.add(module, component), from_cache));
        (loaded.map_err(LoadError::from), queued)
    }

    /// Adds a module to those that are loaded, and has its first instances created.
    fn add(&self, file: &Module, component: CheckedComponent) -> Arc<GuestModule> {
        let CheckedComponent { module, verbs, imports } = component;
        let instance_pool = Arc::new(InstancePool::new(module, preinit_queue::gives_way(file.bytes())));
        self.host.pool_worker.prefill(&instance_pool);
        let guest = Arc::new(GuestModule::new(Arc::clone(&self.host), instance_pool, verbs, imports));
        let mut loaded = self.loaded.lock();
        loaded.retain(|_, guest| guest.strong_count() > 0);
        loaded.insert(*file.digest(), Arc::downgrade(&guest));
        guest
    }

    /// The module with this digest, if a policy that exists has it.
    fn in_use(&self, digest: &[u8; 32]) -> Option<Arc<GuestModule>> {
        self.loaded.lock().get(digest).and_then(Weak::upgrade)
    }
}
