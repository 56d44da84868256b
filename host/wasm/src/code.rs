//! Compiled code, which runs in this process.

use wasmtime::{Engine, component::Component};

use crate::{compile::MAX_CODE_BYTES, contract::RefusedError};

/// What wasmtime made of a module, as bytes.
///
/// It is made by [`CompiledCode::of`], or from bytes that one of two places vouches for: the compile process that this
/// process started, and the cache.
pub(crate) struct CompiledCode(Vec<u8>);

// === impl CompiledCode ===

impl CompiledCode {
    /// The code of a component that was compiled in this process.
    ///
    /// # Errors
    /// If it is larger than any sound module's.
    pub(crate) fn of(component: &Component) -> Result<Self, RefusedError> {
        let code = component.serialize().map_err(|error| RefusedError::of_wasmtime(&error))?;
        if code.len() > MAX_CODE_BYTES {
            return Err(RefusedError::TooMuchCode { mebi: code.len() >> 20, at_most: MAX_CODE_BYTES >> 20 });
        }
        Ok(Self(code))
    }

    /// Code that a compile process of ours wrote to its pipe.
    pub(crate) fn of_child(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Code of a file that the cache vouches for.
    pub(crate) fn of_cache(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Makes it ready to run.
    ///
    /// # Errors
    /// If it is of another engine, or of more memories, tables or modules than there is room for.
    #[expect(unsafe_code, reason = "wasmtime cannot tell whether machine code is its own")]
    pub(crate) fn load(&self, engine: &Engine) -> Result<Component, RefusedError> {
        // SAFETY: the bytes must be what `Component::serialize` returned, unmodified. There are three sources:
        // - `of`: they are.
        // - `of_child`: this program, started from its own executable, wrote them to a pipe that no other process has
        //   an end of. That process read an untrusted module: we trust that the compiler in it, if it did not crash,
        //   was not taken over by the module, just as we would if it ran here. The process bounds memory and time
        //   and takes crashes; it is no wall against a compiler that a module makes write what it likes.
        // - `of_cache`: `Cache::put` is the only writer of entries and writes code of the other two sources alone;
        //   `Cache::get` has checked that folder and file are our user's, that nobody else can write to them, and
        //   that the bytes are the ones that were hashed when they were written.
        // Whether they are of this engine and version wasmtime itself checks.
        unsafe { Component::deserialize(engine, &self.0) }.map_err(|error| RefusedError::of_wasmtime(&error))
    }
}
