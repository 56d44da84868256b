//! Gets components from the compile cache, or compiles them and puts them there.

use std::time::Duration;

use plimsoll_core::Module;

use crate::{
    cache::{CacheKey, ModuleCache},
    compile::{self, Backend, CheckedComponent, CompileError, CompileJob, SharedPriority},
    componentize,
    engine::Host,
    progress::Progress,
};

/// The compiler and its cache, if it has one.
pub(super) struct CachedCompiler {
    pub(super) backend: Backend,
    pub(super) cache: Option<ModuleCache>,
}

/// A component that matches the contract, or why there is none.
pub(super) struct Compiled {
    pub(super) result: Result<CheckedComponent, CompileError>,
    /// Whether nothing had to be compiled.
    pub(super) from_cache: bool,
    /// The time that the module waited for others to be compiled.
    pub(super) queued: Duration,
}

// === impl CachedCompiler ===

impl CachedCompiler {
    /// The component of a module; with settings, pre-initialised with them.
    pub(super) fn component(
        &self,
        host: &Host,
        module: &Module,
        settings: Option<&str>,
        progress: &Progress<'_>,
        priority: &SharedPriority,
    ) -> Compiled {
        let kind = match componentize::kind(module.bytes()) {
            Ok(kind) => kind,
            Err(refused) => return Compiled::at_once(Err(refused.into()), false),
        };
        let key = CacheKey::of(module.digest(), settings);
        if let Some(component) = self.cache.as_ref().and_then(|cache| cache.get(&key, host.engine())) {
            let checked = compile::check(&component, &host.linker, kind);
            return Compiled::at_once(checked.map_err(CompileError::from), true);
        }
        let job = CompileJob { module: module.bytes(), settings };
        let (compiled, queued) = self.backend.compile(job, kind, host.engine(), progress, priority);
        let result = compiled.and_then(|(component, code)| {
            let checked = compile::check(&component, &host.linker, kind)?;
            if let Some(cache) = &self.cache {
                cache.put(&key, &code);
            }
            Ok(checked)
        });
        Compiled { result, from_cache: false, queued }
    }
}

// === impl Compiled ===

impl Compiled {
    fn at_once(result: Result<CheckedComponent, CompileError>, from_cache: bool) -> Self {
        Self { result, from_cache, queued: Duration::ZERO }
    }
}
