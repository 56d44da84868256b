//! The Lease that a gateway asks for, and the values that it writes there.

use super::LeaseTimings;

/// The Lease and the candidate.
#[derive(Debug, Clone)]
pub struct LeaseConfig {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The pod's name, for people. The identity that is written is unique to the process.
    pub identity: String,
    /// The URL to which standbys forward while this process leads.
    pub url: String,
    /// The duration of the Lease.
    pub timings: LeaseTimings,
}

// === impl LeaseConfig ===

impl LeaseConfig {
    pub(super) fn lease(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}
