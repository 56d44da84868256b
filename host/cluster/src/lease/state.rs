//! The state of the election, for this process.

use std::{sync::Arc, time::Instant};

use tracing::{info, warn};

use super::Term;
use crate::clock;

/// The state of the election, for this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadershipState {
    /// It holds the Lease.
    Leads(Arc<Term>),
    /// Another process holds the Lease.
    Follows {
        /// Its identity.
        holder: Arc<str>,
        /// Its URL, if the Lease has one.
        url: Option<Arc<str>>,
    },
    /// A process with this one's URL holds it: usually the predecessor of this process.
    Awaits {
        /// Its identity.
        holder: Arc<str>,
        /// When the Lease expires, unless it is renewed.
        until: Instant,
    },
    /// No holder is known; the text says why.
    Vacant(Arc<str>),
}

// === impl LeadershipState ===

impl LeadershipState {
    /// Why nobody binds, if that is so.
    pub fn vacancy(&self) -> Option<String> {
        match self {
            Self::Leads(_) | Self::Follows { .. } => None,
            Self::Awaits { holder, until } => {
                let left = until.saturating_duration_since(clock::now()).as_secs_f64().ceil();
                Some(format!("the Lease of this gateway's predecessor ({holder}) runs out in {left} s"))
            }
            Self::Vacant(why) => Some(why.as_ref().to_owned()),
        }
    }

    pub(super) fn log(&self, before: &Self) {
        match (self, before) {
            (Self::Leads(term), _) => info!(term = term.number(), "this gateway leads"),
            (Self::Follows { holder, url }, Self::Leads(_)) => {
                warn!(holder = &**holder, url = url.as_deref(), "this gateway leads no more: another took the Lease");
            }
            // It has this gateway's URL, so it is not asked: see `vacancy`.
            (Self::Awaits { holder, .. }, Self::Awaits { .. }) => {
                warn!(
                    holder = &**holder,
                    "the Lease with this gateway's URL was renewed: does another replica have the same --advertise?"
                );
            }
            (Self::Awaits { holder, .. }, _) => {
                info!(holder = &**holder, why = self.vacancy(), "no gateway leads");
            }
            (Self::Vacant(why), Self::Leads(_)) => warn!(why = &**why, "this gateway leads no more"),
            (Self::Follows { holder, url }, _) => {
                info!(holder = &**holder, url = url.as_deref(), "another gateway leads");
            }
            (Self::Vacant(why), _) => info!(why = &**why, "no gateway leads"),
        }
    }
}
