//! The limit of shapes that one policy may name.

use std::sync::Arc;

use hashbrown::HashSet;
use parking_lot::RwLock;

use super::shape::Shape;

/// Maximum shapes of one policy. One that takes its keys from data would otherwise have a walk over all pods made again
/// and again, and displace the tables of other policies.
pub(crate) const MAX_SHAPES: usize = 16;

/// Maximum bytes of a key or of the name of a resource. Kubernetes allows 317: a prefix of 253, a slash and a name of 63.
pub(crate) const MAX_KEY_BYTES: usize = 317;

/// Why a policy may not name a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAdmitted {
    /// It has named [`MAX_SHAPES`] others.
    TooMany,
    /// A key has this many bytes.
    LongKey(usize),
}

/// The shapes that one version of a policy has named.
#[derive(Debug, Default)]
pub struct ShapeLimit {
    named: RwLock<HashSet<Arc<Shape<Box<str>>>, foldhash::fast::RandomState>>,
}

// === impl ShapeLimit ===

impl ShapeLimit {
    /// Notes that the policy names this shape.
    ///
    /// # Errors
    /// If it has named the maximum of others, or a key is longer than any that an object can have.
    pub(crate) fn admit(&self, shape: &Shape<&str>) -> Result<(), NotAdmitted> {
        if self.named.read().contains(shape) {
            return Ok(());
        }
        if let Some(bytes) = shape.texts().map(str::len).find(|bytes| *bytes > MAX_KEY_BYTES) {
            return Err(NotAdmitted::LongKey(bytes));
        }
        let mut named = self.named.write();
        if named.len() >= MAX_SHAPES && !named.contains(shape) {
            return Err(NotAdmitted::TooMany);
        }
        named.insert(Arc::new(shape.to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Selector, tally::Measure};

    fn admit(limit: &ShapeLimit, key: &str, value: &str) -> Result<(), NotAdmitted> {
        let selector = Selector { label: Some((key, value)), ..Selector::all() };
        limit.admit(&Shape::of(&selector, Measure::Pods))
    }

    #[test]
    fn a_policy_may_name_any_value_but_few_keys() {
        let limit = ShapeLimit::default();
        for key in 0..MAX_SHAPES {
            for value in ["a", "b"] {
                assert_eq!(admit(&limit, &key.to_string(), value), Ok(()));
            }
        }
        assert_eq!(admit(&limit, "one more", "a"), Err(NotAdmitted::TooMany));
        assert_eq!(admit(&limit, "0", "c"), Ok(()), "those that it has named stay");
    }

    #[test]
    fn a_key_that_no_object_can_have_is_refused() {
        let limit = ShapeLimit::default();
        assert_eq!(admit(&limit, &"k".repeat(MAX_KEY_BYTES), &"v".repeat(5000)), Ok(()));
        assert_eq!(admit(&limit, &"k".repeat(MAX_KEY_BYTES + 1), "v"), Err(NotAdmitted::LongKey(MAX_KEY_BYTES + 1)));
    }
}
