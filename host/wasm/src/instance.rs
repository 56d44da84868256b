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
    shares::{Charge, Payer, Shares},
    stop::Stop,
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
        module: &Arc<LinkedModule>,
        ask: &Ask,
        limits: CallLimits,
        shares: &Arc<Shares>,
    ) -> Result<Self, Fault> {
        let charge = Charge::new(shares, Some(payer_of(ask)));
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
    /// Creates a warm instance, and asks it whether it accepts these settings if it has such a function.
    ///
    /// # Errors
    /// If it refuses them, reads anything else, logs, takes too long, or no memory is free now.
    pub(crate) fn start(module: &LinkedModule, settings: &Arc<str>, shares: &Arc<Shares>) -> Result<Self, NotWarmed> {
        let mut store = new_store(module.instances.engine(), CallLimits::warm(), Charge::new(shares, None));
        store.data_mut().show_settings(Some(settings));
        let started = module.instances.instantiate(&mut store).and_then(|instance| {
            let answer = if module.exports.has(Verb::Validate) {
                module.exports.validate(&mut store, &instance)?
            } else {
                Ok(())
            };
            Ok((instance, answer))
        });
        store.data_mut().show_settings(None);
        match started {
            Ok((instance, Ok(()))) if store.data().limiter.denied().is_none() => Ok(Self { store, instance }),
            Ok(_) => Err(NotWarmed::NeedsItsCall),
            Err(error) => Err(NotWarmed::of(&error)),
        }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_slow_start_may_be_tried_again_and_other_faults_may_not() {
        let cases = [
            (Stop::Deadline(Duration::ZERO), NotWarmed::Late),
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
