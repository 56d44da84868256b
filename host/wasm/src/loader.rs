//! Turns the bytes of a file into a policy: from the compile cache, or compiled; then checked and linked.

use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::{LoadError, Loader, Module, Policy, Verbs};
use plimsoll_system::digest::text_of;

use crate::{
    code::ModuleCache,
    compile::Compiler,
    componentize::{self, ModuleKind},
    contract::{CheckedComponent, check},
    engine::{CompileReporter, EngineConfig, EngineError, Host},
    guest::GuestModule,
    program,
    shares::SharesInUse,
    wasi::WasiImport,
};

/// Modules of more bytes are large: their compiles take seconds, in which nothing else shows that something happens.
const LARGE_BYTES: u64 = 1 << 20;

/// Loads policies; clones share the engine, the compile cache and the spares.
#[derive(Clone)]
pub struct WasmLoader(Arc<Inner>);

struct Inner {
    host: Arc<Host>,
    compiler: Compiler,
    cache: Option<ModuleCache>,
    reporter: CompileReporter,
    /// Loaded modules by digest: policies with equal modules share one.
    loaded: Mutex<HashMap<[u8; 32], Weak<GuestModule>>>,
    /// Held while a module is compiled: the memory of a compile is real, and one has several threads.
    compiling: Mutex<()>,
}

/// A module, and whether nothing had to be compiled for it.
type Loaded = (Arc<GuestModule>, bool);

/// Facts about a module, as `plimsoll check` prints them.
pub struct Inspection {
    /// Whether it is a core module, which was made a component.
    pub is_core_module: bool,
    /// The verbs that it exports; of a program, those that it is asked without a sidecar.
    pub verbs: Verbs,
    /// The reads that it may make, as `nodes.label`.
    pub imports: Vec<String>,
    /// The interfaces of WASI 0.2 that it imports, or its functions of preview 1.
    pub wasi: Vec<WasiImport>,
    /// Bytes of the file.
    pub size: u64,
    /// `sha256:…` of the file.
    pub digest: String,
    /// The time that loading took.
    pub compiled_in: Duration,
    /// Whether it had been compiled before.
    pub from_cache: bool,
    /// The policy itself, to be asked.
    pub policy: Arc<dyn Policy>,
}

// === impl WasmLoader ===

impl WasmLoader {
    /// Sets up an engine for all policies.
    ///
    /// # Errors
    /// If WebAssembly cannot run here with this configuration, or the cache directory is not safe to use.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        Ok(Self(Arc::new(Inner {
            host: Arc::new(Host::new(&config)?),
            cache: config.cache.map(|path| open_cache(path, config.cache_size)).transpose()?,
            compiler: config.compiler,
            reporter: config.reporter,
            loaded: Mutex::default(),
            compiling: Mutex::default(),
        })))
    }

    /// The number of spare instances.
    pub fn spares(&self) -> usize {
        self.0.host.spares.count()
    }

    /// Permits and memory in use by all guests.
    pub fn shares(&self) -> SharesInUse {
        SharesInUse::of(&self.0.host.permits, &self.0.host.memory)
    }

    /// Loads a module and describes it.
    ///
    /// # Errors
    /// As for [`Loader::load`].
    pub fn inspect(&self, name: &str, module: &Module) -> Result<Inspection, LoadError> {
        let started = Instant::now();
        let (guest, from_cache) = self.0.load(name, module)?;
        let compiled_in = started.elapsed();
        let imports = guest.imports().functions.clone();
        let wasi = guest.imports().wasi.iter().map(|name| WasiImport::of(name)).collect();
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
    fn load(&self, policy: &str, module: &Module) -> Result<Arc<dyn Policy>, LoadError> {
        let (guest, _) = self.0.load(policy, module)?;
        Ok(program::policy_of(guest))
    }
}

impl fmt::Debug for WasmLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmLoader").finish_non_exhaustive()
    }
}

fn open_cache(path: PathBuf, max_bytes: u64) -> Result<ModuleCache, EngineError> {
    ModuleCache::open(&path, max_bytes).map_err(|reason| EngineError::Cache { path, reason })
}

// === impl Inner ===

impl Inner {
    /// Loads a module, unless a policy that exists has it.
    fn load(&self, name: &str, module: &Module) -> Result<Loaded, LoadError> {
        if let Some(guest) = self.in_use(module) {
            return Ok((guest, true));
        }
        // A bug of ours that a module may set off refuses the module and nothing else.
        catch_unwind(AssertUnwindSafe(|| self.load_new(name, module)))
            .unwrap_or_else(|_| Err(LoadError::transient("plimsoll itself failed while it compiled the module")))
    }

    fn load_new(&self, name: &str, module: &Module) -> Result<Loaded, LoadError> {
        let kind = componentize::kind(module.bytes())?;
        let was_core_module = kind == ModuleKind::CoreModule;
        let (engine, linker) = (self.host.engine(), &self.host.linker);
        if let Some(component) = self.cache.as_ref().and_then(|cache| cache.get(module.digest(), engine)) {
            return Ok((self.add(module, check(&component, linker, was_core_module)?), true));
        }
        let _permit = self.compiling.lock();
        // Several policies may name one module: the first one compiles it while the others wait for the permit.
        if let Some(guest) = self.in_use(module) {
            return Ok((guest, true));
        }
        let bytes = module.bytes().len() as u64;
        if bytes > LARGE_BYTES {
            (self.reporter)(name, bytes);
        }
        let (component, code) = self.compiler.compile(module.bytes(), kind, engine)?;
        let checked = check(&component, linker, was_core_module)?;
        if let Some(cache) = &self.cache {
            cache.put(module.digest(), &code);
        }
        Ok((self.add(module, checked), false))
    }

    /// Adds a module to those that are loaded, unless another load has just done so.
    fn add(&self, module: &Module, component: CheckedComponent) -> Arc<GuestModule> {
        let mut loaded = self.loaded.lock();
        loaded.retain(|_, guest| guest.strong_count() > 0);
        if let Some(guest) = loaded.get(module.digest()).and_then(Weak::upgrade) {
            return guest;
        }
        let guest = Arc::new(GuestModule::new(Arc::clone(&self.host), component));
        loaded.insert(*module.digest(), Arc::downgrade(&guest));
        guest
    }

    /// The module with this digest, if a policy that exists has it.
    fn in_use(&self, module: &Module) -> Option<Arc<GuestModule>> {
        self.loaded.lock().get(module.digest()).and_then(Weak::upgrade)
    }
}
