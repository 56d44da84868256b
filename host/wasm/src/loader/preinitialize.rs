//! Pre-initialises large modules: one is made for each policy, whose instances begin with the runtime started and the
//! settings read. A module with a language's runtime takes up to 0.5 ms for both.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use plimsoll_core::{LoadError, Module};
use plimsoll_system::digest::text_of;
use tracing::{debug, info, warn};

use super::{Inner, cached_compiler::Compiled, preinit_queue::QueuedPolicy};
use crate::{
    compile::{CompileError, Priority, SharedPriority},
    contract::RefusedError,
    guest::GuestModule,
    instance::{NotWarmed, WarmInstance},
    instance_pool::Preinitialized,
    progress::Progress,
    shares::{MemoryCharge, Shares},
};

/// Time between two checks whether modules are being loaded.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Reasons why a module is not pre-initialised for a policy.
const TOO_MANY: &str = "too many policies have this module";
const FULL: &str = "too little of the memory of all guests is free";
const NOT_STARTED: &str = "it does not start";

// === impl Inner ===

impl Inner {
    /// Pre-initialises a loaded module in the background, if that pays.
    pub(super) fn preinitialize_later(
        self: &Arc<Self>,
        name: &str,
        version: u64,
        module: &Module,
        settings: &Arc<str>,
    ) {
        if self.preinit_queue.pays(module.bytes()) && self.preinitializable(module).is_some() {
            let (name, module, settings) = (name.to_owned(), module.clone(), Arc::downgrade(settings));
            let policy = QueuedPolicy { name, version, module, settings };
            let loader = Arc::clone(self);
            let thread = thread::Builder::new().name("plimsoll-preinit".to_owned());
            self.preinit_queue.push(policy, || thread.spawn(move || loader.work_off_preinit_queue()).is_ok());
        }
    }

    /// Pre-initialises a loaded module with these settings, and waits for the end.
    pub(super) fn preinitialize_now(&self, module: &Module, settings: &Arc<str>) -> Result<(), LoadError> {
        let Some(guest) = self.preinitializable(module) else {
            return Err(LoadError::permanent("no loaded policy has this module, or it has no validate"));
        };
        self.preinitialize(&guest, module, settings).map_err(LoadError::from)
    }

    fn preinitializable(&self, module: &Module) -> Option<Arc<GuestModule>> {
        self.in_use(module.digest()).filter(|guest| guest.can_be_preinitialized())
    }

    /// Pre-initialises one policy after another, while no module is being loaded: loads go first.
    fn work_off_preinit_queue(&self) {
        loop {
            while self.loading.is_busy() {
                #[expect(clippy::disallowed_methods, reason = "nobody waits for this thread")]
                thread::sleep(BUSY_POLL_INTERVAL);
            }
            let Some((policy, settings)) = self.preinit_queue.pop() else { return };
            let Some(guest) = self.in_use(policy.module.digest()) else { continue };
            let started = Instant::now();
            let preinitialize = || self.preinitialize(&guest, &policy.module, &settings);
            // A bug of ours that a module may set off must not end the thread.
            let result = catch_unwind(AssertUnwindSafe(preinitialize)).ok();
            log(&policy, started.elapsed(), result);
        }
    }

    /// Makes the pre-initialised module of a policy; its calls use it from then on.
    ///
    /// # Errors
    /// If its start or its `validate` needs more than the settings, or too little memory is free.
    fn preinitialize(&self, guest: &GuestModule, module: &Module, settings: &Arc<str>) -> Result<(), CompileError> {
        let shares = &self.host.shares;
        // A compile takes seconds, so what can be known without it is checked first. The code is larger than its module.
        if !guest.can_be_preinitialized_with(settings) {
            return Err(refused(TOO_MANY).into());
        }
        grow(&mut MemoryCharge::warm(shares), module.bytes().len(), shares)?;
        let progress = Progress::new(|_| {}, "", module.bytes());
        let priority = SharedPriority::new(Priority::Background);
        let Compiled { result, .. } = self.compiler.component(&self.host, module, Some(settings), &progress, &priority);
        let module = Arc::new(result?.module);
        let code = module.instances.component().image_range();
        let mut charge = MemoryCharge::warm(shares);
        grow(&mut charge, code.end as usize - code.start as usize, shares)?;
        // The memory that its instances begin with decides which calls may use them.
        let start = || WarmInstance::start(&module, shares);
        let warm = match start() {
            Err(NotWarmed::Full) if shares.reclaimers.make_way() => start(),
            warm => warm,
        };
        let memory = warm.map_err(|why| refused(if why == NotWarmed::Full { FULL } else { NOT_STARTED }))?.memory();
        // wasmtime keeps a copy of that memory without its zero pages, which instances map.
        grow(&mut charge, memory, shares)?;
        let module = Preinitialized::new(module, memory, charge, self.preinitialized.add());
        if guest.preinitialize(settings, module) { Ok(()) } else { Err(refused(TOO_MANY).into()) }
    }
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

/// Logs how it ended; without a result plimsoll itself has failed.
fn log(
    QueuedPolicy { name, version, module, .. }: &QueuedPolicy,
    took: Duration,
    result: Option<Result<(), CompileError>>,
) {
    let digest = text_of(module.digest());
    match result {
        Some(Ok(())) => {
            let took = format_args!("{} ms", took.as_millis());
            info!(policy = name, version, digest, %took, "a large module is pre-initialised");
        }
        Some(Err(error)) => debug!(policy = name, version, digest, %error, "a large module is not pre-initialised"),
        None => warn!(policy = name, version, digest, "plimsoll itself failed while it pre-initialised the module"),
    }
}
