//! Turns the bytes of a file into a policy: lift, compile or get from the cache, check, link.

mod failures;
mod flight;
mod inspection;
mod preinitializer;

use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::{LoadError, LoadRequest, Loader, Policy};
use plimsoll_system::{
    buffer,
    digest::{hex, parse_sha256, sha256},
};

pub use self::inspection::Inspection;
use self::{
    failures::FailedModules,
    flight::SingleFlight,
    preinitializer::{Preinitializer, Toolchain, WaitingPolicy, log},
};
use crate::{
    cache::{CacheKey, ModuleCache},
    compile::{self, Backend, CheckedComponent, CompileError, CompileJob, CompileWait, Priority, SharedPriority},
    engine::{EngineConfig, EngineError, Host},
    guest::GuestModule,
    instance_pool::InstancePool,
    lift::{self, ModuleKind},
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
    backend: Backend,
    reporter: CompileReporter,
    cache: Option<ModuleCache>,
    /// Loaded modules by digest: policies with equal modules share one.
    loaded: Mutex<HashMap<[u8; 32], Weak<GuestModule>>>,
    /// Loads under way, by digest: several policies may name one module.
    loading: SingleFlight<[u8; 32], Result<Loaded, LoadError>>,
    failures: FailedModules,
    preinitializer: Preinitializer,
}

/// The name of a module that is loaded without one.
const UNNAMED: &str = "a module";

/// Time between two checks whether modules are being loaded.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(100);

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
        let (backend, reporter) = (Backend::new(config.compiler), config.reporter);
        Ok(Self(Arc::new(Inner {
            host,
            backend,
            reporter,
            cache,
            loaded: Mutex::default(),
            loading: SingleFlight::new(),
            failures: FailedModules::default(),
            preinitializer: Preinitializer::new(config.preinitialize),
        })))
    }

    /// Pre-initialises a loaded module with the settings of a policy, whatever its size, and waits for the end.
    ///
    /// # Errors
    /// If it is not loaded, exports no `validate`, or its start or its `validate` needs more than its settings.
    pub fn preinitialize_now(&self, module: &[u8], settings: &Arc<str>) -> Result<(), LoadError> {
        let digest = sha256(module);
        let policy = self.0.in_use(&digest).filter(|policy| policy.can_be_preinitialized());
        let Some(policy) = policy else {
            return Err(LoadError::permanent("no loaded policy has this module, or it has no validate"));
        };
        self.0.toolchain().preinitialize(&policy, module, &digest, settings).map_err(LoadError::from)
    }

    /// The number of warm instances.
    pub fn spares(&self) -> u32 {
        self.0.host.pool_worker.spares()
    }

    /// The number of policies whose modules are pre-initialised.
    pub fn preinitialized(&self) -> usize {
        // The pre-initialiser holds one as well.
        Arc::strong_count(self.0.preinitializer.count()) - 1
    }

    /// Permits and memory in use by all guests.
    pub fn shares(&self) -> SharesInUse {
        self.0.host.shares.in_use()
    }

    /// Loads a module and describes it.
    ///
    /// # Errors
    /// As for [`Loader::load`].
    pub fn inspect(&self, module: &[u8]) -> Result<Inspection, LoadError> {
        self.inspect_named(UNNAMED, module)
    }

    /// The same; `name` is for a report of progress.
    ///
    /// # Errors
    /// As for [`Loader::load`].
    pub fn inspect_named(&self, name: &str, module: &[u8]) -> Result<Inspection, LoadError> {
        let started = Instant::now();
        let digest = sha256(module);
        let request = LoadRequest { policy: name, module, is_urgent: false };
        let (guest, from_cache) = self.0.load_once(request, &digest)?;
        let (imports, mut wasi): (_, Vec<WasiImport>) =
            (guest.imports().to_vec(), guest.wasi().iter().map(|name| WasiImport::of(name)).collect());
        let policy = program::policy_of(guest);
        let lifted = matches!(lift::kind(module), Ok(ModuleKind::CoreModule));
        if lifted {
            wasi = WasiImport::of_core_module(module, policy.program().is_some());
        }
        Ok(Inspection {
            lifted,
            verbs: policy.verbs(),
            imports,
            wasi,
            size: module.len() as u64,
            digest: format!("sha256:{}", hex(&digest)),
            compiled_in: started.elapsed(),
            from_cache,
            policy,
        })
    }
}

impl Loader for WasmLoader {
    fn load(&self, module: &[u8]) -> Result<Arc<dyn Policy>, LoadError> {
        self.load_for(LoadRequest { policy: UNNAMED, module, is_urgent: false })
    }

    fn load_for(&self, request: LoadRequest<'_>) -> Result<Arc<dyn Policy>, LoadError> {
        let (guest, _) = self.0.load_once(request, &sha256(request.module))?;
        Ok(program::policy_of(guest))
    }

    fn preinitialize(&self, name: &str, version: u64, module: &[u8], settings: &Arc<str>) {
        self.0.preinitialize_later(name, version, module, settings);
    }

    fn refusal(&self, digest: &str) -> Option<LoadError> {
        self.0.failures.of(&parse_sha256(digest)?, Instant::now())
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
    fn load_once(&self, request: LoadRequest<'_>, digest: &[u8; 32]) -> Result<Loaded, LoadError> {
        if let Some(policy) = self.in_use(digest) {
            return Ok((policy, true));
        }
        let priority = if request.is_urgent { Priority::Urgent } else { Priority::Normal };
        self.loading.run(*digest, priority, |priority| self.load_unless_failed(request, digest, priority))
    }

    /// Loads a module unless it has failed recently.
    fn load_unless_failed(
        &self,
        request: LoadRequest<'_>,
        digest: &[u8; 32],
        priority: &SharedPriority,
    ) -> Result<Loaded, LoadError> {
        // Another load may have ended just before this one began.
        if let Some(policy) = self.in_use(digest) {
            return Ok((policy, true));
        }
        let started = Instant::now();
        if let Some(error) = self.failures.of(digest, started) {
            return Err(error);
        }
        let LoadRequest { policy, module, .. } = request;
        let (progress, mut wait) = (Progress::new(self.reporter, policy, module), CompileWait::new(priority.clone()));
        let result = self.guarded(&progress, module, digest, &mut wait);
        drop(progress);
        match &result {
            Ok(_) => self.failures.remove(digest),
            Err(error) => {
                // To wait for others costs nothing: only the rest of the time counts.
                let took = started.elapsed().saturating_sub(wait.took);
                self.failures.add(digest, error, took, Instant::now());
            }
        }
        result
    }

    /// A bug of ours that a module may set off refuses the module and nothing else.
    fn guarded(
        &self,
        progress: &Progress<'_>,
        module: &[u8],
        digest: &[u8; 32],
        wait: &mut CompileWait,
    ) -> Result<Loaded, LoadError> {
        catch_unwind(AssertUnwindSafe(|| self.load(progress, module, digest, wait)))
            .map_err(|_| LoadError::transient("plimsoll itself failed while it compiled the module"))?
            .map_err(LoadError::from)
    }

    fn load(
        &self,
        progress: &Progress<'_>,
        module: &[u8],
        digest: &[u8; 32],
        wait: &mut CompileWait,
    ) -> Result<Loaded, CompileError> {
        let kind = lift::kind(module)?;
        let (engine, key) = (self.host.engine(), CacheKey::of_module(digest));
        let cached = self.cache.as_ref().and_then(|cache| cache.get(&key, engine));
        let from_cache = cached.is_some();
        let checked = if let Some(component) = cached {
            compile::check(&component, &self.host.linker, kind)?
        } else {
            let job = CompileJob { module, settings: None };
            let (component, code) = self.backend.compile(job, kind, engine, progress, wait)?;
            let checked = compile::check(&component, &self.host.linker, kind)?;
            if let Some(cache) = &self.cache {
                cache.put(&key, &code);
            }
            checked
        };
        let policy = Arc::new(self.policy(checked, preinitializer::gives_way(module)));
        let mut loaded = self.loaded.lock();
        loaded.retain(|_, policy| policy.strong_count() > 0);
        loaded.insert(*digest, Arc::downgrade(&policy));
        Ok((policy, from_cache))
    }

    fn in_use(&self, digest: &[u8; 32]) -> Option<Arc<GuestModule>> {
        self.loaded.lock().get(digest).and_then(Weak::upgrade)
    }

    fn toolchain(&self) -> Toolchain<'_> {
        let (host, cache) = (&self.host, self.cache.as_ref());
        Toolchain { host, backend: &self.backend, cache, count: self.preinitializer.count() }
    }

    /// Pre-initialises a loaded module in the background, if that pays.
    fn preinitialize_later(self: &Arc<Self>, name: &str, version: u64, module: &[u8], settings: &Arc<str>) {
        if !self.preinitializer.pays(module) {
            return;
        }
        let digest = sha256(module);
        if self.in_use(&digest).is_some_and(|policy| policy.can_be_preinitialized()) {
            let settings = Arc::downgrade(settings);
            let mut copy = buffer(module.len());
            copy.extend_from_slice(module);
            let policy = WaitingPolicy { name: name.to_owned(), version, module: copy, digest, settings };
            let loader = Arc::clone(self);
            let thread = thread::Builder::new().name("plimsoll-preinit".to_owned());
            self.preinitializer.add(policy, || thread.spawn(move || loader.preinitialize_waiting()).is_ok());
        }
    }

    /// Pre-initialises one policy after another, while no module is being loaded: loads go first.
    fn preinitialize_waiting(&self) {
        loop {
            while self.loading.is_busy() {
                #[expect(clippy::disallowed_methods, reason = "a thread of its own, on which nobody waits")]
                thread::sleep(BUSY_POLL_INTERVAL);
            }
            let Some((policy, settings)) = self.preinitializer.next() else { return };
            let WaitingPolicy { module, digest, .. } = &policy;
            let Some(guest) = self.in_use(digest) else { continue };
            let started = Instant::now();
            let preinitialize = || self.toolchain().preinitialize(&guest, module, digest, &settings);
            // A bug of ours that a module may set off must not end the thread.
            let result = catch_unwind(AssertUnwindSafe(preinitialize)).ok();
            log(&policy, started.elapsed(), result);
        }
    }

    fn policy(&self, checked: CheckedComponent, gives_way: bool) -> GuestModule {
        let CheckedComponent { module, verbs, imports } = checked;
        let instance_pool = Arc::new(InstancePool::new(module, gives_way));
        self.host.pool_worker.prefill(&instance_pool);
        GuestModule::new(Arc::clone(&self.host), instance_pool, verbs, imports)
    }
}
