//! filter: which nodes may the pod run on?

use crate::{Group, Mode, Verb, Verdict};

use super::{
    Caller, DecideError, Rejection, RequestContext,
    call::{failed, or_skip},
    chain::{Chain, Reasons},
    feasible::PolicyLookup,
    rejection::NOT_SEEN,
};

/// The outcome of a filter request: every node of the request that is not listed here stays.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FilterOutcome {
    /// The rejected nodes, by ascending index.
    pub rejected: Vec<Rejection>,
    /// Each reason once.
    pub reasons: Vec<Box<str>>,
}

pub(crate) fn filter(caller: &Caller, group: &Group, context: &RequestContext) -> Result<FilterOutcome, DecideError> {
    let (all, mut reasons) = (context.node_set().whole_view(), Reasons::default());
    let members = group.answering(Mode::Enforce, Verb::Filter, context.pod());
    let recent = group.combined(Verb::Filter);
    let (lookups, feasible) = PolicyLookup::<Verdict>::of_all(caller.blocking, members, recent, &all);
    let (mut chain, mut deciding) = (Chain::new(feasible, &mut reasons, context.request_indices()), lookups.len());
    for PolicyLookup { member, cached } in lookups {
        if chain.feasible.is_empty() {
            break;
        }
        let verdicts = caller.lookup_or_call(member, Verb::Filter, &all, &chain.feasible, cached);
        match or_skip(member, Verb::Filter, verdicts)? {
            Some(verdicts) => chain.apply(member, &verdicts, &all).map_err(failed(member, Verb::Filter))?,
            None => deciding -= 1,
        }
    }
    let mut rejected = chain.finish(&all);
    // A node that no policy can be asked about is rejected only if a policy decides about this pod.
    if !context.unknown().is_empty() && deciding > 0 {
        let reason = reasons.number(NOT_SEEN.0, NOT_SEEN.1);
        rejected.extend(context.unknown().iter().map(|node| Rejection { node: *node, reason, unresolvable: false }));
    }
    // Each policy's are in order already, which the stable sort makes use of.
    rejected.sort_by_key(|rejection| rejection.node);
    Ok(FilterOutcome { rejected, reasons: reasons.into_texts() })
}

// === impl FilterOutcome ===

impl FilterOutcome {
    /// The reason of a rejection.
    pub fn reason(&self, rejection: Rejection) -> &str {
        &self.reasons[rejection.reason as usize]
    }
}
