//! A policy type behind the port of the host's compiled modules.

use std::{
    any::Any,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
};

use plimsoll_core::{
    Ask, BindAnswer, BindMetadata as CoreMetadata, Fault, FaultKind, MetadataEntry as CoreEntry, NodeSource,
    NotBound as CoreNotBound, Policy, Preemption as CorePreemption, Read, Value, Verb, Verbs, Verdict as CoreVerdict,
};

use crate::{
    __private::Exported,
    BindMetadata, Candidate, Node, Nodes, NotBound, Pod, Preemption, Verdict,
    native::{Clock, HostCalls},
    settings::parse,
};

/// Answers as the compiled module of `P` would, natively.
#[derive(Debug, Clone, Copy, Default)]
pub struct Native<P>(PhantomData<fn() -> P>);

// === impl Native ===

impl<P: Exported> Native<P> {
    /// The policy `P`, which takes its settings from each call.
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// Runs a verb for nodes that are named one after another, as one instance of the module would.
    fn each_node<A>(
        ask: &Ask,
        nodes: &mut dyn NodeSource<A>,
        verb: impl Fn(&P, &Pod<'_>, HostCalls<'_>, u32) -> A,
    ) -> Result<(), Fault> {
        Self::call(ask, |policy, host| {
            while let Some(node) = nodes.next() {
                nodes.answer(verb(policy, &Pod::new(host), host, node));
            }
        })
    }

    fn call<A>(ask: &Ask, verb: impl FnOnce(&P, HostCalls<'_>) -> A) -> Result<A, Fault> {
        let host = HostCalls::new(&ask.view);
        let policy = parse(host.host_settings()).map_err(|error| Fault::new(FaultKind::Panic, error))?;
        let _clock = Clock::of(&ask.view);
        catch_unwind(AssertUnwindSafe(|| verb(&policy, host)))
            .map_err(|panic| Fault::new(FaultKind::Panic, panic_text(panic.as_ref())))
    }
}

fn exported<F>(verb: Option<F>, name: Verb) -> Result<F, Fault> {
    verb.ok_or_else(|| Fault::new(FaultKind::Host, format!("the policy has no verb {name}")))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}

impl<P: Exported> Policy for Native<P> {
    fn verbs(&self) -> Verbs {
        let table = P::VERBS;
        let own = [
            (Verb::Filter, table.filter.is_some()),
            (Verb::Score, table.score.is_some()),
            (Verb::Rank, table.rank.is_some()),
            (Verb::Preempt, table.preempt.is_some()),
            (Verb::Bind, table.bind.is_some()),
            (Verb::Validate, true),
        ];
        own.into_iter().filter_map(|(verb, is_there)| is_there.then_some(verb)).collect()
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        match ask.view.read(Read::HostSettings) {
            Ok(Value::Text(settings)) => Ok(parse::<P>(&settings).map(drop)),
            _ => Err(Fault::new(FaultKind::Host, "a view without settings")),
        }
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<CoreVerdict>) -> Result<(), Fault> {
        let verb = exported(P::VERBS.filter, Verb::Filter)?;
        Self::each_node(ask, nodes, |policy, pod, host, node| verb(policy, pod, &Node::new(host, node)).into())
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        let verb = exported(P::VERBS.score, Verb::Score)?;
        Self::each_node(ask, nodes, |policy, pod, host, node| verb(policy, pod, &Node::new(host, node)))
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        let verb = exported(P::VERBS.rank, Verb::Rank)?;
        Self::call(ask, |policy, host| verb(policy, &Pod::new(host), &Nodes::new(host)))
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<CorePreemption>) -> Result<(), Fault> {
        let verb = exported(P::VERBS.preempt, Verb::Preempt)?;
        Self::each_node(ask, candidates, |policy, pod, host, candidate| {
            verb(policy, pod, &Candidate::new(host, candidate)).into()
        })
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<BindAnswer, Fault> {
        let verb = exported(P::VERBS.bind, Verb::Bind)?;
        let answer = Self::call(ask, |policy, host| verb(policy, &Pod::new(host), &Node::new(host, node)))?;
        Ok(answer.map(Into::into).map_err(Into::into))
    }
}

impl From<Verdict> for CoreVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Fits => Self::Fits,
            Verdict::Unschedulable(reason) => Self::Unschedulable(reason.into()),
            Verdict::Unresolvable(reason) => Self::Unresolvable(reason.into()),
        }
    }
}

impl From<BindMetadata> for CoreMetadata {
    fn from(metadata: BindMetadata) -> Self {
        let BindMetadata { annotations, labels } = metadata;
        Self {
            annotations: annotations.into_iter().map(|own| CoreEntry::new(own.key, own.value)).collect(),
            labels: labels.into_iter().map(|own| CoreEntry::new(own.key, own.value)).collect(),
        }
    }
}

impl From<NotBound> for CoreNotBound {
    fn from(not_bound: NotBound) -> Self {
        match not_bound {
            NotBound::Refused(reason) => Self::Refused(reason.into_owned()),
            NotBound::Retry(reason) => Self::Retry(reason.into_owned()),
        }
    }
}

impl From<Preemption> for CorePreemption {
    fn from(preemption: Preemption) -> Self {
        match preemption {
            Preemption::Keep => Self::Keep,
            Preemption::Reject(reason) => Self::Reject(reason.into()),
            Preemption::Replace(victims) => Self::Replace(victims),
        }
    }
}
