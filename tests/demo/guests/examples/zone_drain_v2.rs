//! Version 2 of `zone-drain`: keeps pods off zone a.

use plimsoll_policy::prelude::*;

/// Keeps pods off one zone.
#[derive(Deserialize)]
pub struct ZoneDrain;

impl Filter for ZoneDrain {
    fn filter(&self, _pod: &Pod, node: &Node) -> Verdict {
        match node.label("topology.kubernetes.io/zone") {
            Some("a") => Verdict::unschedulable("zone a is being drained"),
            _ => Verdict::Fits,
        }
    }
}

export!(ZoneDrain: filter);
