//! A loaded module as core sees it.

use std::sync::Arc;

use plimsoll_core::{
    Annotation, Ask, Fault, FaultKind, MAX_REASON_BYTES, NodeSource, Policy, Preemption, Verb, Verbs, Verdict,
};
use wasmtime::component::{ComponentNamedList, Lift, TypedFunc};

use crate::{
    abi::{self, Exports},
    call::call,
    engine::Host,
    instance::GuestCall,
    instance_pool::InstancePool,
    stop::{Stop, reason_too_long},
};

/// A linked component, instantiated for each call.
pub(crate) struct GuestPolicy {
    host: Arc<Host>,
    instance_pool: Arc<InstancePool>,
    exports: Exports,
    verbs: Verbs,
    imports: Vec<String>,
}

// === impl GuestPolicy ===

impl GuestPolicy {
    pub(crate) fn new(
        host: Arc<Host>,
        instance_pool: Arc<InstancePool>,
        exports: Exports,
        verbs: Verbs,
        imports: Vec<String>,
    ) -> Self {
        Self { host, instance_pool, exports, verbs, imports }
    }

    fn call<R>(&self, ask: &Ask, ask_guest: impl FnOnce(&mut GuestCall) -> wasmtime::Result<R>) -> Result<R, Fault> {
        call(&self.host, &self.instance_pool, ask, ask_guest)
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
            let function: TypedFunc<(u32,), (A,)> = self.exports.function(call, verb)?;
            while let Some(node) = nodes.next() {
                call.about(node);
                let (answer,) = function.call(&mut call.store, (node,))?;
                nodes.answer(accept(node, answer).map_err(wasmtime::Error::new)?);
            }
            Ok(())
        })
    }
}

impl Policy for GuestPolicy {
    fn verbs(&self) -> Verbs {
        self.verbs
    }

    fn imports(&self) -> &[String] {
        &self.imports
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        self.call(ask, |call| {
            let function: TypedFunc<(), (Result<(), String>,)> = self.exports.function(call, Verb::Validate)?;
            let (answer,) = function.call(&mut call.store, ())?;
            Ok(answer)
        })
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
            let function: TypedFunc<(), (Vec<u32>,)> = self.exports.function(call, Verb::Rank)?;
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

    fn bind(&self, ask: &Ask, node: u32) -> Result<Result<Vec<Annotation>, String>, Fault> {
        self.call(ask, |call| {
            type Answer = (Result<Vec<abi::WitAnnotation>, String>,);
            let function: TypedFunc<(u32,), Answer> = self.exports.function(call, Verb::Bind)?;
            call.about(node);
            let (answer,) = function.call(&mut call.store, (node,))?;
            if let Err(reason) = &answer
                && reason.len() > MAX_REASON_BYTES
            {
                return Err(wasmtime::Error::new(reason_too_long(reason.len())));
            }
            let own = |annotation: abi::WitAnnotation| Annotation::new(annotation.key, annotation.value);
            Ok(answer.map(|annotations| annotations.into_iter().map(own).collect()))
        })
    }
}

/// Checks the length of a reason; the first violation ends the call, so that the memory for reasons is bounded.
fn checked(reason: Box<str>) -> Result<Arc<str>, Stop> {
    if reason.len() > MAX_REASON_BYTES { Err(reason_too_long(reason.len())) } else { Ok(reason.into()) }
}
