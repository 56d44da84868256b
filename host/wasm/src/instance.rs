//! One instance: created for a call or in advance, and used by one call only.

use std::sync::Arc;

use plimsoll_core::{Ask, Fault, FaultKind, Verb};
use wasmtime::{
    Store,
    component::{ComponentNamedList, Instance, InstancePre, Lift, Lower, TypedFunc},
};

use crate::{
    abi::Exports,
    fault::{Phase, classify},
    shares::{Charge, Payer, Pool},
    store::{CallLimits, StoreData, begin, new_store},
};

/// A component with its imports linked, and the functions that it exports.
pub(crate) struct LinkedModule {
    pub(crate) instances: InstancePre<StoreData>,
    pub(crate) exports: Exports,
}

/// An instance in use, and the phase of its call.
pub(crate) struct GuestCall {
    pub(crate) store: Store<StoreData>,
    instance: Instance,
    module: Arc<LinkedModule>,
    phase: Phase,
}

/// An instance that was created in advance, and has read its settings.
pub(crate) struct WarmInstance {
    store: Store<StoreData>,
    instance: Instance,
}

/// A used instance; dropping it frees its memory.
pub(crate) struct SpentInstance(Option<Store<StoreData>>);

// === impl GuestCall ===

impl GuestCall {
    /// Creates an instance for a call.
    ///
    /// # Errors
    /// The fault that ended its start.
    pub(crate) fn start(
        module: &Arc<LinkedModule>,
        ask: &Ask,
        limits: CallLimits,
        memory: &Arc<Pool>,
    ) -> Result<Self, Fault> {
        let charge = Charge::new(memory, Some(payer_of(ask)));
        let mut store = new_store(module.instances.engine(), limits, charge);
        begin(&mut store, ask, limits);
        match module.instances.instantiate(&mut store) {
            Ok(instance) => Ok(Self { store, instance, module: Arc::clone(module), phase: Phase::Whole }),
            Err(error) => Err(fault(&mut store, &error, Phase::Start)),
        }
    }

    /// The functions that the instance exports.
    pub(crate) fn exports(&self) -> &Exports {
        &self.module.exports
    }

    /// The function of a verb.
    pub(crate) fn function<P, R>(&mut self, verb: Verb) -> wasmtime::Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        self.module.exports.function(&mut self.store, &self.instance, verb)
    }

    /// The function that runs a program.
    pub(crate) fn program(&mut self) -> wasmtime::Result<TypedFunc<(), ()>> {
        self.module.exports.program(&mut self.store, &self.instance)
    }

    /// Asks the instance whether it accepts its settings.
    pub(crate) fn validate(&mut self) -> wasmtime::Result<Result<(), String>> {
        self.module.exports.validate(&mut self.store, &self.instance)
    }

    /// Sets the node or candidate that is asked about next.
    pub(crate) fn about(&mut self, node: u32) {
        self.phase = Phase::Node(node);
        if let Ok(log) = self.store.data_mut().log() {
            log.about(node);
        }
    }

    /// Classifies the end of the call.
    pub(crate) fn fault(&mut self, error: &wasmtime::Error) -> Fault {
        fault(&mut self.store, error, self.phase)
    }

    /// Flushes the log, and drops the context of the call.
    pub(crate) fn finish(mut self) -> SpentInstance {
        self.store.data_mut().end();
        SpentInstance(Some(self.store))
    }
}

// === impl WarmInstance ===

impl WarmInstance {
    /// Creates a warm instance, and asks it whether it accepts these settings if it has such a function. `None` if it
    /// fails, refuses them, reads anything else, logs, takes too long, or needs more memory than there is for it.
    pub(crate) fn start(module: &LinkedModule, settings: &Arc<str>, memory: &Arc<Pool>) -> Option<Self> {
        let mut store = new_store(module.instances.engine(), CallLimits::warm(), Charge::new(memory, None));
        store.data_mut().show_settings(Some(settings));
        let instance = module.instances.instantiate(&mut store).ok()?;
        if module.exports.has(Verb::Validate) {
            module.exports.validate(&mut store, &instance).ok()?.ok()?;
        }
        store.data_mut().show_settings(None);
        store.data().limiter.denied().is_none().then_some(Self { store, instance })
    }

    /// Whether its start would have behaved the same within this memory limit.
    pub(crate) fn fits(&self, memory: usize) -> bool {
        self.store.data().limiter.taken() <= memory
    }

    /// Hands the instance to a call.
    ///
    /// # Errors
    /// If there is no memory for the call.
    pub(crate) fn begin(
        mut self,
        module: &Arc<LinkedModule>,
        ask: &Ask,
        limits: CallLimits,
    ) -> Result<GuestCall, Fault> {
        let charge = self.store.data_mut().limiter.charge();
        charge.assign(payer_of(ask)).map_err(|full| busy(&full.to_string()))?;
        begin(&mut self.store, ask, limits);
        let Self { store, instance } = self;
        Ok(GuestCall { store, instance, module: Arc::clone(module), phase: Phase::Whole })
    }
}

// === impl SpentInstance ===

impl SpentInstance {
    /// Whether it holds so much memory that it must be dropped at once.
    pub(crate) fn is_large(&self) -> bool {
        self.0.as_ref().is_some_and(|store| store.data().limiter.is_large())
    }
}

impl Drop for SpentInstance {
    fn drop(&mut self) {
        let Some(mut store) = self.0.take() else { return };
        // The charge is released after the store is dropped, not before.
        let _charge = store.data_mut().limiter.take_charge();
        drop(store);
    }
}

fn fault(store: &mut Store<StoreData>, error: &wasmtime::Error, phase: Phase) -> Fault {
    // The last output may explain the end.
    if let Ok(log) = store.data_mut().log() {
        log.flush();
    }
    classify(error, store.data(), phase)
}

/// The policy that pays for a call.
pub(crate) fn payer_of(ask: &Ask) -> Payer {
    Payer { policy: Arc::clone(&ask.policy), class: ask.class }
}

/// The fault for a lack of capacity, which is not the policy's fault.
pub(crate) fn busy(why: &str) -> Fault {
    Fault::new(FaultKind::Busy, why)
}
