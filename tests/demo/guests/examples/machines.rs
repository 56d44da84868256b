//! For the tests: only some nodes, one of them the best, and a mark on each pod that its group binds.

use plimsoll_policy::prelude::*;

/// Some nodes by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machines {
    only: Vec<String>,
    best: String,
    /// The score of the best; all others have 10.
    points: u32,
    /// The value of the annotation `example.com/bound-by`.
    mark: String,
}

impl Filter for Machines {
    fn filter(&self, _pod: &Pod, node: &Node) -> Verdict {
        if self.only.iter().any(|name| name == node.name()) {
            Verdict::Fits
        } else {
            Verdict::unschedulable("node is not one of the machines")
        }
    }
}

impl Score for Machines {
    fn score(&self, _pod: &Pod, node: &Node) -> u32 {
        if node.name() == self.best { self.points } else { 10 }
    }
}

impl Bind for Machines {
    fn bind(&self, _pod: &Pod, _node: &Node) -> Result<BindMetadata, NotBound> {
        Ok(BindMetadata::new().annotation("example.com/bound-by", &*self.mark))
    }
}

export!(Machines: filter, score, bind);
