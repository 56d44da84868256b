//! One engine for all policies: what guests may use, and room for their instances.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc};

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, component::Linker};

use crate::{
    abi,
    compile::{ChildConfig, Compiler},
    instance::StoreData,
    pool_worker::{MAX_USED, PoolWorker},
    shares::Shares,
    ticker::{TICK, Ticker},
};

/// What compiles and runs policies, with its version; `tests/rules` compares it with the workspace.
pub const ENGINE: &str = "wasmtime 48.0.8";

/// Frames of a backtrace that are kept: the innermost say where a guest failed.
const FRAMES: usize = 8;

/// Bytes of native stack that guest code may use; every thread that calls guests has more.
const STACK: usize = 512 << 10;

/// What a policy may be made of: one module with its shims, or a language runtime of many linked modules.
const MEMORIES_PER_POLICY: u32 = 2;
const TABLES_PER_POLICY: u32 = 8;
const MODULES_PER_POLICY: u32 = 100;
const BYTES_PER_MODULE: usize = 16 << 20;

/// Elements that one table may have; large runtimes have some 30,000.
pub(crate) const TABLE_ELEMENTS: usize = 100_000;

/// Bytes of each memory and table that stay with us when an instance is cleared away: where the next is made in the
/// same room, its first writes need no new pages.
const KEPT_RESIDENT: usize = 256 << 10;

/// Places in the pool that keep their resident memory although no instance is in them. Without this bound a process
/// fills all places over the hours, with [`KEPT_RESIDENT`] each.
const UNUSED_WARM_SLOTS: u32 = 16;

/// What an operator says about the engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Where modules are parsed and compiled.
    pub compiler: Compiler,
    /// Where compiled modules are kept; none: they are compiled at each start.
    pub cache: Option<PathBuf>,
    /// The most bytes that kept modules may take together; those unused for longest go first.
    pub cache_size: u64,
    /// The most bytes of memory that one policy may be given.
    pub max_memory: usize,
    /// How many calls may be under way at once; one more waits for its turn, at most until its deadline.
    pub max_calls: u32,
    /// Bytes of memory of all guests together.
    pub guest_memory: usize,
    /// How many instances may wait for a call, and never more than `max_calls`; 0: all are made in their calls.
    pub max_spares: u32,
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// wasmtime does not work here with this configuration.
    #[error(
        "cannot set up WebAssembly for {max_calls} calls at once (each takes 8 to 16 GiB of address space, not of memory): {detail}"
    )]
    Engine {
        /// As configured.
        max_calls: u32,
        /// wasmtime's own text.
        detail: String,
    },
    /// The directory for compiled modules cannot be used.
    #[error("cannot keep compiled modules in {}: {reason}", path.display())]
    Cache {
        /// As configured.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The thread that keeps time could not be started.
    #[error("cannot start the thread that ends calls in time")]
    Ticker(#[source] std::io::Error),
    /// The thread that makes instances ahead of calls could not be started.
    #[error("cannot start the thread that prepares for calls")]
    PoolWorker(#[source] std::io::Error),
}

/// What all policies share.
pub(crate) struct Host {
    engine: Engine,
    pub(crate) linker: Linker<StoreData>,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) pool_worker: PoolWorker,
    pub(crate) shares: Arc<Shares>,
    pub(crate) max_memory: usize,
}

// === impl EngineConfig ===

impl EngineConfig {
    /// The default bounds; each module is compiled in a process of its own.
    pub fn new(child: ChildConfig) -> Self {
        Self::compiled_by(Compiler::Child(child))
    }

    /// The same, with modules compiled in this process and without bounds: for tests and benchmarks, which know their
    /// modules. clippy keeps it out of the host.
    pub fn in_process() -> Self {
        Self::compiled_by(Compiler::InProcess)
    }

    fn compiled_by(compiler: Compiler) -> Self {
        Self {
            compiler,
            cache: None,
            cache_size: 256 << 20,
            max_memory: 1 << 30,
            max_calls: 128,
            guest_memory: 1 << 30,
            max_spares: 64,
        }
    }

    fn spares(&self) -> u32 {
        self.max_spares.min(self.max_calls)
    }
}

// === impl Host ===

impl Host {
    pub(crate) fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let refused =
            |error: wasmtime::Error| EngineError::Engine { max_calls: config.max_calls, detail: format!("{error:#}") };
        let engine = Engine::new(&wasmtime_config(config)).map_err(refused)?;
        let mut linker = Linker::new(&engine);
        abi::add_to_linker(&mut linker).map_err(refused)?;
        let ticker = Arc::new(Ticker::start(engine.weak(), TICK).map_err(EngineError::Ticker)?);
        let shares = Arc::new(Shares::new(config.max_calls, config.guest_memory));
        let pool_worker = PoolWorker::start(config.spares(), Arc::clone(&ticker), Arc::clone(&shares))
            .map_err(EngineError::PoolWorker)?;
        Ok(Self { engine, linker, ticker, pool_worker, shares, max_memory: config.max_memory })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
}

fn wasmtime_config(config: &EngineConfig) -> Config {
    let mut wasmtime = compile_config();
    wasmtime.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(config)));
    wasmtime
}

/// All that compiled code depends on: what one engine of these settings compiles, each other one runs.
///
/// Instances are made on demand. The room for instances that a pool reserves has no place in a process that only
/// compiles, and is no part of the code.
pub(crate) fn compile_config() -> Config {
    let mut wasmtime = Config::new();
    wasmtime
        .wasm_component_model(true)
        // The same input must give the same answer, on every processor.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .wasm_memory64(false)
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES))
        // Nobody unwinds guest frames but wasmtime, and names are enough to find a fault.
        .native_unwind_info(false)
        .generate_address_map(false);
    wasmtime
}

/// Room for the largest policies: for each call that has its turn, for each spare, and for what waits to be cleared.
fn pool(config: &EngineConfig) -> PoolingAllocationConfig {
    let instances = config.max_calls.saturating_add(config.spares()).saturating_add(MAX_USED as u32 + 1);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .max_component_instance_size(BYTES_PER_MODULE)
        .total_core_instances(instances.saturating_mul(MODULES_PER_POLICY))
        .max_core_instances_per_component(MODULES_PER_POLICY)
        .max_core_instance_size(BYTES_PER_MODULE)
        .total_memories(instances.saturating_mul(MEMORIES_PER_POLICY))
        .max_memories_per_component(MEMORIES_PER_POLICY)
        .max_memories_per_module(MEMORIES_PER_POLICY)
        .max_memory_size(config.max_memory)
        .total_tables(instances.saturating_mul(TABLES_PER_POLICY))
        .max_tables_per_component(TABLES_PER_POLICY)
        .max_tables_per_module(TABLES_PER_POLICY)
        .table_elements(TABLE_ELEMENTS)
        .linear_memory_keep_resident(KEPT_RESIDENT)
        .table_keep_resident(KEPT_RESIDENT)
        .max_unused_warm_slots(UNUSED_WARM_SLOTS)
        .pagemap_scan(Enabled::Auto);
    pool
}
