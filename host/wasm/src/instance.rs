//! One instance: created for a call or in advance, and used by one call only.

use std::{sync::Arc, time::Duration};

use plimsoll_core::{Ask, Fault, FaultKind, Verb};
use wasmtime::{
    Store,
    component::{ComponentNamedList, Instance, Lift, Lower, TypedFunc},
};

use crate::{
    abi::Exports,
    fault::{Phase, classify},
    linked_module::LinkedModule,
    shares::{CallPermit, MemoryCharge, Shares},
    stop::Stop,
    store::{CallLimits, StoreData, WARM_START_TIME, new_store, set_call, set_priming},
};

/// An instance in use, and the phase of its call.
pub(crate) struct GuestCall {
    pub(crate) store: Store<StoreData>,
    instance: Instance,
    module: Arc<LinkedModule>,
    phase: Phase,
}

/// An instance that was created in advance and is still unused.
pub(crate) struct WarmInstance {
    store: Store<StoreData>,
    instance: Instance,
    module: Arc<LinkedModule>,
}

/// Why no warm instance was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotWarmed {
    /// No memory is free now.
    Full,
    /// Its start or reading its settings took too long, as may happen on a busy machine.
    Late,
    /// Its start or its `validate` reads, logs, fails or exceeds the limits.
    NeedsItsCall,
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
        module: Arc<LinkedModule>,
        ask: &Ask,
        limit: CallLimits,
        charge: MemoryCharge,
    ) -> Result<Self, Fault> {
        let mut store = new_store(module.instances.engine(), limit, charge);
        store.data_mut().begin(ask, limit);
        set_call(&mut store, ask, limit);
        match module.instances.instantiate(&mut store) {
            Ok(instance) => Ok(Self { store, instance, module, phase: Phase::Whole }),
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

    /// Bytes of guest memory that the instance has used.
    pub(crate) fn memory(&mut self) -> usize {
        self.store.data_mut().limiter.charge().used()
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

// === impl NotWarmed ===

impl NotWarmed {
    fn of(error: &wasmtime::Error) -> Self {
        match error.downcast_ref() {
            Some(Stop::Full { .. }) => Self::Full,
            Some(Stop::Deadline(_)) => Self::Late,
            _ => Self::NeedsItsCall,
        }
    }
}

// === impl WarmInstance ===

impl WarmInstance {
    /// Creates a warm instance.
    ///
    /// # Errors
    /// If its start needs a call, or no memory is free now.
    pub(crate) fn start(module: &Arc<LinkedModule>, shares: &Arc<Shares>) -> Result<Self, NotWarmed> {
        let limits = CallLimits::warm(WARM_START_TIME);
        let mut store = new_store(module.instances.engine(), limits, MemoryCharge::warm(shares));
        match module.instances.instantiate(&mut store) {
            Ok(instance) if store.data().limiter.denied().is_none() => {
                Ok(Self { store, instance, module: Arc::clone(module) })
            }
            Err(error) => Err(NotWarmed::of(&error)),
            Ok(_) => Err(NotWarmed::NeedsItsCall),
        }
    }

    /// Asks it whether it accepts these settings, so that it has read them when a call takes it.
    ///
    /// # Errors
    /// If it does not accept them, reads anything else or logs, takes too long, or no memory is free now.
    pub(crate) fn prime(mut self, settings: &Arc<str>, time: Duration) -> Result<Self, NotWarmed> {
        let Self { store, instance, module } = &mut self;
        set_priming(store, settings, time);
        let answer = module.exports.validate(store, instance);
        store.data_mut().end();
        match answer {
            Ok(Ok(())) if store.data().limiter.denied().is_none() => Ok(self),
            Err(error) => Err(NotWarmed::of(&error)),
            Ok(_) => Err(NotWarmed::NeedsItsCall),
        }
    }

    /// The instance itself, for a look at its state.
    pub(crate) fn into_parts(self) -> (Store<StoreData>, Instance) {
        (self.store, self.instance)
    }

    /// Bytes of its memories.
    pub(crate) fn memory(&self) -> usize {
        self.store.data().limiter.taken()
    }

    /// Whether its start would have behaved the same within this memory limit.
    pub(crate) fn fits(&self, memory: usize) -> bool {
        self.memory() <= memory
    }

    /// Hands the instance to a call.
    ///
    /// # Errors
    /// If there is no memory for the call.
    pub(crate) fn begin(
        mut self,
        ask: &Ask,
        limit: CallLimits,
        permit: &mut CallPermit<'_>,
    ) -> Result<GuestCall, Fault> {
        let state = self.store.data_mut();
        state.limiter.charge().assign(permit).map_err(|full| busy(&full.to_string()))?;
        state.begin(ask, limit);
        set_call(&mut self.store, ask, limit);
        let Self { store, instance, module } = self;
        Ok(GuestCall { store, instance, module, phase: Phase::Whole })
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

/// The fault for a lack of capacity, which is not the policy's fault.
pub(crate) fn busy(why: &str) -> Fault {
    Fault::new(FaultKind::Busy, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_may_be_tried_again_and_other_faults_may_not() {
        let cases = [
            (Stop::Deadline(WARM_START_TIME), NotWarmed::Late),
            (Stop::Unasked, NotWarmed::NeedsItsCall),
            (Stop::Exit(1), NotWarmed::NeedsItsCall),
        ];
        for (stop, expected) in cases {
            let text = stop.to_string();
            assert_eq!(NotWarmed::of(&wasmtime::Error::new(stop)), expected, "{text}");
        }
        assert_eq!(NotWarmed::of(&wasmtime::Error::msg("a trap")), NotWarmed::NeedsItsCall);
    }
}
