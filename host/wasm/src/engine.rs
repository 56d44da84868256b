//! The engine for all policies: its limits, and the pooling allocator.

use std::{path::PathBuf, sync::Arc};

use tracing::info;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, component::Linker};

use crate::{
    abi,
    code::compile_config,
    compile::{ChildConfig, Compiler},
    limits::TABLE_ELEMENTS,
    shares::Pool,
    spares::{MAX_USED, Spares},
    store::StoreData,
    ticker::{TICK, Ticker},
};

/// Name and version of the engine; `tests/rules` compares it with the workspace.
pub const ENGINE: &str = "wasmtime 48.0.8";

/// Limits of one policy's component: one module with its shims, or a language runtime of many linked modules.
const MEMORIES_PER_POLICY: u32 = 2;
const TABLES_PER_POLICY: u32 = 8;
const MODULES_PER_POLICY: u32 = 100;
const BYTES_PER_MODULE: usize = 16 << 20;

/// Bytes of each memory that stay resident when its *pool slot* is reset, which is the place that wasmtime keeps for one
/// memory, table or instance: the first writes of the next instance there cause no page faults.
const MAX_RESIDENT_MEMORY: usize = 256 << 10;

/// The same of each table: 2,000 elements, more than a policy usually has. Nothing bounds the unused table slots that
/// keep this, and they are used in turn, so one guest with a large table would fill all of them.
const MAX_RESIDENT_TABLE: usize = 16 << 10;

/// Maximum unused pool slots that keep their resident memory. Without this bound all pool slots fill up over the hours,
/// with [`MAX_RESIDENT_MEMORY`] each.
const UNUSED_WARM_SLOTS: u32 = 16;

/// Settings of the engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Where modules are parsed and compiled.
    pub compiler: Compiler,
    /// The directory of the module cache; `None` compiles at each start.
    pub cache: Option<PathBuf>,
    /// Maximum bytes of the module cache; the least recently used entries are evicted.
    pub cache_size: u64,
    /// Maximum bytes of memory of one policy.
    pub max_memory: usize,
    /// Maximum concurrent calls; further ones wait for a permit, at most until their deadline.
    pub max_calls: u32,
    /// Bytes of memory of all guests together.
    pub guest_memory: usize,
    /// Maximum spares, at most `max_calls`; 0 creates every instance in its call.
    pub max_spares: u32,
    /// Gets the name and the bytes of a large module as its compile begins; by default it writes to the log.
    pub reporter: CompileReporter,
}

/// Takes the name and the bytes of a module.
pub type CompileReporter = fn(&str, u64);

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
        /// wasmtime's text.
        detail: String,
    },
    /// The cache directory cannot be used.
    #[error("cannot keep compiled modules in {}: {reason}", path.display())]
    Cache {
        /// As configured.
        path: PathBuf,
        /// The problem, and the step that solves it.
        reason: String,
    },
    /// The thread that ends calls in time, or the one that creates spares, could not be started.
    #[error("cannot start a thread")]
    Thread(#[from] std::io::Error),
}

/// The state that all policies share.
pub(crate) struct Host {
    engine: Engine,
    pub(crate) linker: Linker<StoreData>,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) spares: Spares,
    pub(crate) permits: Arc<Pool>,
    pub(crate) memory: Arc<Pool>,
    pub(crate) max_memory: usize,
}

// === impl EngineConfig ===

impl EngineConfig {
    /// The default bounds; each module is compiled in a separate process.
    pub fn new(child: ChildConfig) -> Self {
        Self::compiled_by(Compiler::Child(child))
    }

    /// The same, but compiles in this process without limits: for tests and benchmarks with trusted modules. A clippy
    /// lint keeps it out of the host.
    pub fn in_process() -> Self {
        Self::compiled_by(Compiler::InProcess)
    }

    fn compiled_by(compiler: Compiler) -> Self {
        Self {
            compiler,
            cache: None,
            cache_size: 256 << 20,
            max_memory: 256 << 20,
            max_calls: 64,
            guest_memory: 1 << 30,
            max_spares: 64,
            reporter: |policy, bytes| info!(policy, bytes, "compiling a large module"),
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
        let ticker = Arc::new(Ticker::start(engine.weak(), TICK)?);
        let (permits, memory) = (Pool::new(config.max_calls as usize), Pool::new(config.guest_memory));
        let spares = Spares::start(config.spares(), Arc::clone(&ticker), Arc::clone(&memory))?;
        Ok(Self { engine, linker, ticker, spares, permits, memory, max_memory: config.max_memory })
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

/// Pool slots for the largest policies: one per permitted call, per spare, and per instance that waits to be dropped.
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
        .linear_memory_keep_resident(MAX_RESIDENT_MEMORY)
        .table_keep_resident(MAX_RESIDENT_TABLE)
        .max_unused_warm_slots(UNUSED_WARM_SLOTS)
        .pagemap_scan(Enabled::Auto);
    pool
}

#[cfg(test)]
mod tests {
    use wasmtime::{Instance, Module, Store};

    use super::*;

    #[test]
    fn large_tables_leave_little_memory_in_their_slots() {
        const INSTANCES: usize = 8;
        let engine = Engine::new(&wasmtime_config(&EngineConfig::compiled_by(Compiler::InProcess))).unwrap();
        let text = format!(
            "(module (table $all {TABLE_ELEMENTS} funcref) (start $fill)
               (func $fill (table.fill $all (i32.const 0) (ref.null func) (i32.const {TABLE_ELEMENTS}))))"
        );
        let module = Module::new(&engine, wat::parse_str(text).unwrap()).unwrap();
        // At the same time: each has its pool slot.
        let filled: Vec<Store<()>> = (0..INSTANCES)
            .map(|_| {
                let mut store = Store::new(&engine, ());
                store.set_epoch_deadline(1);
                Instance::new(&mut store, &module, &[]).unwrap();
                store
            })
            .collect();
        drop(filled);
        let pool = engine.pooling_allocator_metrics().unwrap();
        let (slots, bytes) = (pool.unused_warm_tables() as usize, pool.unused_table_bytes_resident());
        assert_eq!(slots, INSTANCES);
        assert!(bytes <= INSTANCES * MAX_RESIDENT_TABLE, "{INSTANCES} unused slots keep {bytes} bytes");
    }
}
