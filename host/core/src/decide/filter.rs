//! filter: which nodes may the pod run on?

use crate::{Group, Mode, Verb};

use super::{
    Caller, DecideError, Rejection, RequestContext,
    chain::{Filtered, Reasons, run_filters},
    jointly,
    rejection::NOT_SEEN,
};

/// What a filter request comes to: every node of the request that is not listed here stays.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FilterOutcome {
    /// The nodes turned down, by ascending index.
    pub rejected: Vec<Rejection>,
    /// Each reason once.
    pub reasons: Vec<Box<str>>,
}

pub(crate) fn filter(caller: &Caller, group: &Group, context: &RequestContext) -> Result<FilterOutcome, DecideError> {
    let (node_set, mut reasons) = (context.node_set(), Reasons::default());
    let all = node_set.whole_view();
    let filtered = if let Some(rejected) = jointly::filter(caller, group, &all, &mut reasons) {
        Filtered { rejected, left_out: 0 }
    } else {
        let (mut standing, view) = (node_set.everyone(), |standing: &[u32]| node_set.view(standing));
        run_filters(caller, group, context.pod(), Some(&all), &mut standing, &mut reasons, view)?
    };
    let mut rejected = context.in_request(filtered.rejected);
    // A node that no policy can be asked about only matters where one has a say.
    let with_a_say = || group.answering(Mode::Enforce, Verb::Filter, context.pod()).count() - filtered.left_out;
    if !context.unknown().is_empty() && with_a_say() > 0 {
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
