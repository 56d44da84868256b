//! Compiled code that this process will run, and the settings that it depends on.

use std::num::NonZeroUsize;

use wasmtime::{Config, Engine, component::Component};

use crate::contract::RefusedError;

/// Maximum bytes of compiled code of one module; large language runtimes have about 30 MiB.
pub(crate) const MAX_CODE_BYTES: usize = 128 << 20;

/// Maximum frames of a backtrace: the innermost ones show where a guest failed.
const FRAMES: usize = 8;

/// Bytes of native stack that guest code may use; every thread that calls guests has more.
const STACK: usize = 512 << 10;

/// A component serialized by wasmtime.
///
/// It comes from [`CompiledCode::of`], or from one of two trusted sources of bytes: the compile process that this
/// process has started, and the cache.
pub(crate) struct CompiledCode(Vec<u8>);

// === impl CompiledCode ===

impl CompiledCode {
    /// The code of a component that was compiled in this process.
    ///
    /// # Errors
    /// If it exceeds the limit.
    pub(crate) fn of(component: &Component) -> Result<Self, RefusedError> {
        let code = component.serialize().map_err(|error| RefusedError::of_wasmtime(&error))?;
        if code.len() > MAX_CODE_BYTES {
            return Err(RefusedError::TooMuchCode { mebi: code.len() >> 20, at_most: MAX_CODE_BYTES >> 20 });
        }
        Ok(Self(code))
    }

    /// Code that our compile process wrote to its pipe.
    pub(crate) fn of_child(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Code of a file that the cache has verified.
    pub(crate) fn of_cache(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Deserializes the code.
    ///
    /// # Errors
    /// If it was compiled for another engine, or needs more memories, tables or modules than the pool allows.
    #[expect(unsafe_code, reason = "wasmtime cannot tell whether machine code is its own")]
    pub(crate) fn load(&self, engine: &Engine) -> Result<Component, RefusedError> {
        // SAFETY: the bytes must be what `Component::serialize` returned, unmodified. There are three sources:
        // - `of`: they are.
        // - `of_child`: this program, started from its own executable, wrote them to a pipe that no other process has
        //   an end of. That process read an untrusted module: we trust that the compiler in it, if it did not crash,
        //   was not taken over by the module, just as we would if it ran here. The process bounds memory and time
        //   and takes crashes; it is no wall against a compiler that a module makes write what it likes.
        // - `of_cache`: `ModuleCache::put` is the only writer of entries and writes code of the other two sources alone;
        //   `ModuleCache::open` has checked that the directory is our user's and that nobody else can write to it, and
        //   `ModuleCache::get` that the bytes are the ones that were hashed when they were written.
        // Whether they are of this engine and version wasmtime itself checks.
        unsafe { Component::deserialize(engine, &self.0) }.map_err(|error| RefusedError::of_wasmtime(&error))
    }
}

/// The settings that compiled code depends on: any engine with these settings can run the code of another.
///
/// It uses the on-demand allocator: a process that only compiles needs no pool, and the pool does not affect the code.
pub(crate) fn compile_config() -> Config {
    let mut wasmtime = Config::new();
    wasmtime
        .wasm_component_model(true)
        // Answers must be deterministic on every processor.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .wasm_memory64(false)
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES))
        // Only wasmtime unwinds guest frames, and function names are enough to find a fault.
        .native_unwind_info(false)
        .generate_address_map(false);
    wasmtime
}
