//! filter: which nodes may the pod run on?

use crate::{Group, Mode, Verb, Verdict};

use super::{
    Caller, DecideError, Rejection, RequestContext,
    call::{failed, or_skip},
    chain::{Chain, Reasons},
    rejection::NOT_SEEN,
    standing::Asked,
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
    let members = || group.answering(Mode::Enforce, Verb::Filter, context.pod());
    let (asked, standing) = Asked::<Verdict>::look_up(caller, members(), group.combined(Verb::Filter), &all);
    let (mut chain, mut left_out) = (Chain::new(standing, &mut reasons), 0);
    for Asked { member, known } in asked {
        if chain.standing.is_empty() {
            break;
        }
        let place = known.as_ref().map_or(0, |known| known.0);
        let verdicts = caller.lookup_or_call(member, Verb::Filter, &all, &chain.standing, known);
        match or_skip(member, Verb::Filter, verdicts)? {
            Some(verdicts) => chain.apply(member, &verdicts, place, &all).map_err(failed(member, Verb::Filter))?,
            None => left_out += 1,
        }
    }
    let mut rejected = context.in_request(chain.finish(&all));
    // A node that no policy can be asked about only matters where one has a say.
    if !context.unknown().is_empty() && members().count() > left_out {
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
