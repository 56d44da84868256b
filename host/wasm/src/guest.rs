//! A loaded module as core sees it.

use std::sync::Arc;

use plimsoll_core::{
    Annotation, Ask, BindAnswer, BindMetadata, Fault, FaultKind, Label, MAX_REASON_BYTES, NodeSource, NotBound, Policy,
    Preemption, Verb, Verbs, Verdict,
};
use wasmtime::component::{ComponentNamedList, Lift, TypedFunc};

use crate::{
    abi::{self, Exports},
    call::call,
    contract::Imports,
    engine::Host,
    instance::GuestCall,
    instance_pool::{InstancePool, Preinitialized},
    stop::{Stop, reason_too_long},
};

/// A loaded module with its pool of instances. All policies whose modules have the same bytes share it.
pub(crate) struct GuestModule {
    host: Arc<Host>,
    instance_pool: Arc<InstancePool>,
    verbs: Verbs,
    imports: Imports,
}

// === impl GuestModule ===

impl GuestModule {
    pub(crate) fn new(host: Arc<Host>, instance_pool: Arc<InstancePool>, verbs: Verbs, imports: Imports) -> Self {
        Self { host, instance_pool, verbs, imports }
    }

    /// The interfaces of WASI that it imports.
    pub(crate) fn wasi(&self) -> &[String] {
        &self.imports.wasi
    }

    /// The functions that it exports.
    pub(crate) fn exports(&self) -> &Exports {
        self.instance_pool.exports()
    }

    /// Whether instances may begin with the settings read. State of WASI 0.2 is not in the memory of an instance, so it
    /// would be lost.
    pub(crate) fn can_be_preinitialized(&self) -> bool {
        self.verbs.has(Verb::Validate) && self.imports.wasi.is_empty()
    }

    /// Whether a module for these settings has a place; false if the module has too many policies.
    pub(crate) fn can_be_preinitialized_with(&self, settings: &Arc<str>) -> bool {
        self.instance_pool.has_room_for(settings)
    }

    /// Creates the instances for calls with these settings from this module from now on; false if the module has too many
    /// policies.
    #[must_use]
    pub(crate) fn preinitialize(&self, settings: &Arc<str>, module: Preinitialized) -> bool {
        self.instance_pool.preinitialize(settings, module)
    }

    /// Runs `ask_guest` with an instance that no other call has used.
    pub(crate) fn call<R>(
        &self,
        ask: &Ask,
        ask_guest: impl FnOnce(&mut GuestCall) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        let primed = !ask.after_validate && !ask.view.shows_reads();
        call(&self.host, &self.instance_pool, ask, primed, |call| {
            if ask.after_validate && self.verbs.has(Verb::Validate) {
                // A policy that refuses its settings is refused as it loads.
                let _accepted = call.validate()?;
            }
            ask_guest(call)
        })
    }

    /// Asks one instance about one node after another; `nodes` receives the answers as converted by `accept`.
    fn each<A, R>(
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
                nodes.answer(accept(node, answer).map_err(wasmtime::Error::new)?);
            }
            Ok(())
        })
    }
}

impl Policy for GuestModule {
    fn verbs(&self) -> Verbs {
        self.verbs
    }

    fn imports(&self) -> &[String] {
        &self.imports.functions
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        call(&self.host, &self.instance_pool, ask, false, GuestCall::validate)
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        self.each(ask, Verb::Filter, nodes, |_, answer| match answer {
            abi::WitVerdict::Fits => Ok(Verdict::Fits),
            abi::WitVerdict::Unschedulable(reason) => checked(reason).map(Verdict::Unschedulable),
            abi::WitVerdict::Unresolvable(reason) => checked(reason).map(Verdict::Unresolvable),
        })
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        self.each(ask, Verb::Score, nodes, |_, score| Ok::<u32, Stop>(score))
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        let expected = ask.view.node_count();
        let ranks = self.call(ask, |call| {
            let function: TypedFunc<(), (Vec<u32>,)> = call.function(Verb::Rank)?;
            let (ranks,) = function.call(&mut call.store, ())?;
            Ok(ranks)
        })?;
        if ranks.len() == expected {
            return Ok(ranks);
        }
        Err(Fault::new(FaultKind::Output, format!("a rank of {} scores for {expected} nodes", ranks.len())))
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        self.each(ask, Verb::Preempt, candidates, |candidate, answer| match answer {
            abi::WitPreemption::Keep => Ok(Preemption::Keep),
            abi::WitPreemption::Reject(reason) => checked(reason).map(Preemption::Reject),
            abi::WitPreemption::Replace(victims) => {
                // Each answer is checked before the next one comes: thousands of long lists must not meet here.
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
            match &answer {
                Err(not_bound) if not_bound.reason().len() > MAX_REASON_BYTES => {
                    Err(wasmtime::Error::new(reason_too_long(not_bound.reason().len())))
                }
                _ => Ok(answer),
            }
        })
    }
}

fn current(answer: abi::BindAnswer) -> BindAnswer {
    let annotation = |abi::WitPair { key, value }| Annotation::new(key, value);
    let label = |abi::WitPair { key, value }| Label::new(key, value);
    match answer {
        Ok(metadata) => Ok(BindMetadata {
            annotations: metadata.annotations.into_iter().map(annotation).collect(),
            labels: metadata.labels.into_iter().map(label).collect(),
        }),
        Err(abi::WitNotBound::Refused(reason)) => Err(NotBound::Refused(reason)),
        Err(abi::WitNotBound::Retry(reason)) => Err(NotBound::Retry(reason)),
    }
}

fn former(answer: abi::FormerBindAnswer) -> BindAnswer {
    let annotation = |abi::WitAnnotation { key, value }| Annotation::new(key, value);
    let annotations = answer.map_err(NotBound::Refused)?;
    Ok(annotations.into_iter().map(annotation).collect::<Vec<_>>().into())
}

/// Checks the length of a reason; the first violation ends the call, so that the memory for reasons is bounded.
fn checked(reason: Box<str>) -> Result<Arc<str>, Stop> {
    if reason.len() > MAX_REASON_BYTES { Err(reason_too_long(reason.len())) } else { Ok(reason.into()) }
}
