//! A loaded module as core sees it.

use std::sync::Arc;

use plimsoll_core::{
    Annotation, Ask, BindAnswer, BindMetadata, Fault, Label, NodeSource, NotBound, Policy, Preemption, Verb,
    VerbAnswer, Verbs, Verdict,
};
use wasmtime::component::{ComponentNamedList, Lift, TypedFunc};

use crate::{
    abi::{self, Exports},
    call::call,
    contract::Imports,
    engine::Host,
    instance::GuestCall,
    instance_pool::{InstancePool, Preinitialized},
    stop::Stop,
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

    fn imports(&self) -> &[String] {
        &self.imports.functions
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        call(&self.host, &self.instance_pool, ask, false, GuestCall::validate)
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

fn within_contract<A: VerbAnswer>(answer: A) -> Result<A, Stop> {
    answer.breach().map_or(Ok(answer), |breach| Err(Stop::Output(breach)))
}
