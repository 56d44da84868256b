//! filter: which nodes may the pod run on?

use crate::{Group, Mode, Verb};

use super::{
    Caller, DecideError, Rejection, Scene,
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

pub(crate) fn filter(caller: &Caller, group: &Group, scene: &Scene) -> Result<FilterOutcome, DecideError> {
    let (stage, mut reasons) = (scene.stage(), Reasons::default());
    let all = stage.whole_view();
    let filtered = if let Some(rejected) = jointly::filter(caller, group, &all, &mut reasons) {
        Filtered { rejected, left_out: 0 }
    } else {
        let (mut standing, view) = (stage.everyone(), |standing: &[u32]| stage.view(standing));
        run_filters(caller, group, scene.pod(), Some(&all), &mut standing, &mut reasons, view)?
    };
    let mut rejected = scene.in_request(filtered.rejected);
    // A node that no policy can be asked about only matters where one has a say.
    let with_a_say = || group.answering(Mode::Enforce, Verb::Filter, scene.pod()).count() - filtered.left_out;
    if !scene.unknown().is_empty() && with_a_say() > 0 {
        let reason = reasons.number(NOT_SEEN.0, NOT_SEEN.1);
        rejected.extend(scene.unknown().iter().map(|node| Rejection { node: *node, reason, unresolvable: false }));
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
