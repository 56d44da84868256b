//! PersistentVolumeClaims from their watch: which of them are bound.

use std::sync::Arc;

use plimsoll_core::{BoundClaims, Claim};

/// The claims that are bound. All others count as not bound, so nothing is kept of them.
#[derive(Debug, Default)]
pub(super) struct ClaimStore {
    bound: Arc<BoundClaims>,
    /// Those of a list that is not complete; no event arrives meanwhile.
    listing: Option<BoundClaims>,
    /// Whether a list has been complete: before that they are not known.
    is_listed: bool,
    is_changed: bool,
}

// === impl ClaimStore ===

impl ClaimStore {
    /// A list begins.
    pub(super) fn begin(&mut self) {
        self.listing = Some(BoundClaims::default());
    }

    /// A list is complete: claims that it did not contain are gone.
    pub(super) fn end(&mut self) {
        let listed = self.listing.take().unwrap_or_default();
        self.is_changed |= !self.is_listed || *self.bound != listed;
        (self.bound, self.is_listed) = (Arc::new(listed), true);
    }

    /// From now on a claim is bound, or it is not or gone.
    pub(super) fn set(&mut self, claim: &Claim, is_bound: bool) {
        if let Some(listing) = &mut self.listing {
            listing.set(claim, is_bound);
        } else if self.bound.contains(claim) != is_bound {
            Arc::make_mut(&mut self.bound).set(claim, is_bound);
            self.is_changed = true;
        }
    }

    /// Whether they differ from those that were published last.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// The claims that are bound; none before the first list is complete.
    pub(super) fn publish(&mut self) -> Option<Arc<BoundClaims>> {
        self.is_changed = false;
        self.is_listed.then(|| Arc::clone(&self.bound))
    }
}
