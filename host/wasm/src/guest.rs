//! A loaded module as core sees it. Each call runs in an instance of its own, bounded in time and memory.

use std::{sync::Arc, time::Instant};

use plimsoll_core::{
    Ask, BindAnswer, BindMetadata, Fault, FaultKind, MetadataEntry, NodeSource, NotBound, Policy, Preemption, ReadSet,
    Verb, VerbAnswer, Verbs, Verdict,
};
use wasmtime::component::{ComponentNamedList, Lift, TypedFunc};

use crate::{
    abi::{self, Exports},
    contract::{CheckedComponent, Imports},
    engine::Host,
    instance::{GuestCall, LinkedModule, busy, payer_of},
    stop::Stop,
    store::CallLimits,
};

/// A loaded module. All policies whose modules have the same bytes share it.
pub(crate) struct GuestModule {
    host: Arc<Host>,
    module: Arc<LinkedModule>,
    verbs: Verbs,
    imports: Imports,
    reads: ReadSet,
}

// === impl GuestModule ===

impl GuestModule {
    pub(crate) fn new(host: Arc<Host>, component: CheckedComponent) -> Self {
        let CheckedComponent { module, verbs, imports } = component;
        let reads = imports.functions.iter().map(String::as_str).collect();
        Self { host, module: Arc::new(module), verbs, imports, reads }
    }

    /// The names that it imports.
    pub(crate) const fn imports(&self) -> &Imports {
        &self.imports
    }

    /// The functions that it exports.
    pub(crate) fn exports(&self) -> &Exports {
        &self.module.exports
    }

    /// Runs `ask_guest` with an instance that no other call has used, which may have read its settings before.
    pub(crate) fn call<R>(
        &self,
        ask: &Ask,
        ask_guest: impl FnOnce(&mut GuestCall) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        // An explanation shows all reads, that of the settings among them.
        let may_be_spare = !ask.after_validate && !ask.view.shows_reads();
        self.call_in(ask, may_be_spare, |call| {
            if ask.after_validate && self.verbs.has(Verb::Validate) {
                // A policy that refuses its settings is refused as it loads.
                let _accepted = call.validate()?;
            }
            ask_guest(call)
        })
    }

    /// Runs `ask_guest` in a spare, if there may be and is one, or in a new instance.
    fn call_in<R>(
        &self,
        ask: &Ask,
        may_be_spare: bool,
        ask_guest: impl FnOnce(&mut GuestCall) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        let Self { host, module, .. } = self;
        let Some((_permit, is_late)) = host.permits.permit(payer_of(ask), ask.limits.deadline) else {
            return Err(busy("too many calls are under way, and none ended before the request's time was over"));
        };
        let _running = host.ticker.running();
        // The guest's time starts now; waiting for a permit does not count.
        let limits = CallLimits::of(ask, Instant::now(), host.max_memory);
        let settings = ask.view.settings();
        let spare = if may_be_spare { host.spares.take(module, settings, limits.memory) } else { None };
        let mut call = match spare {
            Some(spare) => spare.begin(module, ask, limits)?,
            None => GuestCall::start(module, ask, limits, &host.memory)?,
        };
        let result = ask_guest(&mut call).map_err(|error| call.fault(&error));
        host.spares.used(call.finish(), module, settings);
        result.map_err(|fault| {
            if is_late && fault.kind == FaultKind::Timeout && limits.is_short_for(ask) {
                return busy("it waited for other calls to end, and had too little time left after that");
            }
            fault
        })
    }

    /// Asks one instance about one node after another; `nodes` receives the answers as converted by `accept`.
    ///
    /// The rules for an answer are core's, which checks the answers of every policy. They are applied here as well, since
    /// only here the first breach can end the call, and the fault name the node.
    fn each<A, R: VerbAnswer>(
        &self,
        ask: &Ask,
        verb: Verb,
        nodes: &mut dyn NodeSource<R>,
        accept: impl Fn(u32, A) -> Result<R, Stop>,
    ) -> Result<(), Fault>
    where
        (A,): ComponentNamedList + Lift + Send + Sync + 'static,
    {
        self.call(ask, |call| {
            let function: TypedFunc<(u32,), (A,)> = call.function(verb)?;
            while let Some(node) = nodes.next() {
                call.about(node);
                let (answer,) = function.call(&mut call.store, (node,))?;
                let answer = accept(node, answer).and_then(within_contract).map_err(wasmtime::Error::new)?;
                nodes.answer(answer);
            }
            Ok(())
        })
    }
}

impl Policy for GuestModule {
    fn verbs(&self) -> Verbs {
        self.verbs
    }

    fn reads(&self) -> ReadSet {
        self.reads.clone()
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        self.call_in(ask, false, GuestCall::validate)
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        self.each(ask, Verb::Filter, nodes, |_, answer| {
            Ok(match answer {
                abi::WitVerdict::Fits => Verdict::Fits,
                abi::WitVerdict::Unschedulable(reason) => Verdict::Unschedulable(reason.into()),
                abi::WitVerdict::Unresolvable(reason) => Verdict::Unresolvable(reason.into()),
            })
        })
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        self.each(ask, Verb::Score, nodes, |_, score| Ok(score))
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        self.call(ask, |call| {
            let function: TypedFunc<(), (Vec<u32>,)> = call.function(Verb::Rank)?;
            let (scores,) = function.call(&mut call.store, ())?;
            Ok(scores)
        })
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        self.each(ask, Verb::Preempt, candidates, |candidate, answer| match answer {
            abi::WitPreemption::Keep => Ok(Preemption::Keep),
            abi::WitPreemption::Reject(reason) => Ok(Preemption::Reject(reason.into())),
            abi::WitPreemption::Replace(victims) => {
                // Core checks them once all answers are there, and thousands of long lists must not meet there.
                let placed = ask.view.placed_count(candidate);
                if victims.len() > placed {
                    let detail = format!("a replacement by {} pods of a node that has {placed}", victims.len());
                    return Err(Stop::Output(detail));
                }
                Ok(Preemption::Replace(victims))
            }
        })
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<BindAnswer, Fault> {
        self.call(ask, |call| {
            let answer = if call.exports().has_former_bind {
                let function: TypedFunc<(u32,), (abi::FormerBindAnswer,)> = call.function(Verb::Bind)?;
                call.about(node);
                function.call(&mut call.store, (node,)).map(|(answer,)| former(answer))?
            } else {
                let function: TypedFunc<(u32,), (abi::BindAnswer,)> = call.function(Verb::Bind)?;
                call.about(node);
                function.call(&mut call.store, (node,)).map(|(answer,)| current(answer))?
            };
            within_contract(answer).map_err(wasmtime::Error::new)
        })
    }
}

fn current(answer: abi::BindAnswer) -> BindAnswer {
    let entry = |abi::WitPair { key, value }| MetadataEntry::new(key, value);
    match answer {
        Ok(metadata) => Ok(BindMetadata {
            annotations: metadata.annotations.into_iter().map(entry).collect(),
            labels: metadata.labels.into_iter().map(entry).collect(),
        }),
        Err(abi::WitNotBound::Refused(reason)) => Err(NotBound::Refused(reason)),
        Err(abi::WitNotBound::Retry(reason)) => Err(NotBound::Retry(reason)),
    }
}

fn former(answer: abi::FormerBindAnswer) -> BindAnswer {
    let annotation = |abi::WitAnnotation { key, value }| MetadataEntry::new(key, value);
    let annotations = answer.map_err(NotBound::Refused)?;
    Ok(annotations.into_iter().map(annotation).collect::<Vec<_>>().into())
}

fn within_contract<A: VerbAnswer>(answer: A) -> Result<A, Stop> {
    answer.breach().map_or(Ok(answer), |breach| Err(Stop::Output(breach)))
}
