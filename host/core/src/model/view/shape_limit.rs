//! The limit of the keys by which one policy may read the whole cluster.

use hashbrown::HashSet;
use parking_lot::RwLock;
use plimsoll_decision_cache::Fingerprint;

use crate::model::{
    ReadError,
    tally::{MAX_KEY_BYTES, MAX_SHAPES},
};

/// The sets of keys that one version of a policy has named.
#[derive(Debug, Default)]
pub struct ShapeLimit(RwLock<HashSet<Fingerprint, foldhash::fast::RandomState>>);

// === impl ShapeLimit ===

impl ShapeLimit {
    /// Notes that the policy names these keys, the longest of which has this many bytes.
    ///
    /// # Errors
    /// If it has named the maximum of others, or a key is longer than any that an object can have.
    pub(super) fn admit(&self, keys: Fingerprint, longest: usize) -> Result<(), ReadError> {
        if self.0.read().contains(&keys) {
            return Ok(());
        }
        if longest > MAX_KEY_BYTES {
            return Err(ReadError::LongKey(longest));
        }
        let mut named = self.0.write();
        if named.len() >= MAX_SHAPES && !named.contains(&keys) {
            return Err(ReadError::TooManyShapes);
        }
        named.insert(keys);
        Ok(())
    }
}
