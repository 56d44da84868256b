//! PersistentVolumeClaims, as far as they are bound.

use std::{array::from_fn, sync::Arc};

use hashbrown::HashSet;
use plimsoll_decision_cache::Fingerprint;
use serde::Deserialize;

use super::{ObjectError, metadata::MetadataJson, parse};

/// The annotation of a claim that is bound for good; kube-scheduler waits for it before it binds the pod.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// The number of parts: of 100,000 claims each has 400.
const PARTS: usize = 256;

/// One PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    name: Fingerprint,
    is_bound: bool,
}

/// The claims that are bound. A cluster may have 100,000: each takes 16 bytes, and a change copies only one of many parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundClaims([Arc<HashSet<Fingerprint>>; PARTS]);

#[derive(Deserialize)]
struct ClaimJson<'a> {
    #[serde(borrow)]
    metadata: MetadataJson<'a>,
}

// === impl Claim ===

impl Claim {
    /// Reads the JSON of a claim, or of its metadata alone.
    ///
    /// # Errors
    /// If it is not JSON, has no name, or its annotations have another type.
    pub fn from_json(json: &[u8]) -> Result<Self, ObjectError> {
        let ClaimJson { metadata } = parse("PersistentVolumeClaim", json)?;
        if metadata.name.is_empty() {
            return Err(ObjectError::new("PersistentVolumeClaim", "has no metadata.name"));
        }
        let is_bound = metadata.annotations.get(BIND_COMPLETED).is_some();
        Ok(Self { is_bound, ..Self::unbound(metadata.namespace(), &metadata.name) })
    }

    /// A claim that is not bound.
    pub fn unbound(namespace: &str, name: &str) -> Self {
        Self { name: Fingerprint::of(&(namespace, name)), is_bound: false }
    }

    /// Whether it is bound for good.
    pub fn is_bound(&self) -> bool {
        self.is_bound
    }
}

// === impl BoundClaims ===

impl BoundClaims {
    /// Whether a claim is bound, whatever it says itself.
    pub fn contains(&self, claim: &Claim) -> bool {
        self.0[part_of(claim)].contains(&claim.name)
    }

    /// From now on the claim is bound, or not, whatever it says itself.
    pub fn set(&mut self, claim: &Claim, is_bound: bool) {
        let part = Arc::make_mut(&mut self.0[part_of(claim)]);
        if is_bound {
            part.insert(claim.name);
        } else {
            part.remove(&claim.name);
        }
    }
}

impl Default for BoundClaims {
    fn default() -> Self {
        Self(from_fn(|_| Arc::default()))
    }
}

/// By the upper bits: the lowest one is the same for all.
fn part_of(claim: &Claim) -> usize {
    (claim.name.bits() >> 32) as usize % PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_bound_once_its_annotation_says_so_and_needs_a_name() {
        let claim = |metadata: &str| Claim::from_json(format!(r#"{{"metadata":{{{metadata}}}}}"#).as_bytes());
        let mut bound = BoundClaims::default();
        let table = [
            (r#""name":"data","namespace":"web","annotations":{"pv.kubernetes.io/bind-completed":"yes"}"#, true),
            (r#""name":"data","namespace":"web","annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}"#, false),
            (r#""name":"other","namespace":"web","annotations":{"pv.kubernetes.io/bind-completed":"yes"}"#, false),
            (r#""name":"data","namespace":"ml","annotations":{"pv.kubernetes.io/bind-completed":"yes"}"#, false),
            (r#""name":"data","namespace":"web","annotations":{"pv.kubernetes.io/bind-completed":""}"#, true),
            (r#""name":"data","namespace":"web""#, false),
        ];
        for (metadata, is_bound) in table {
            let claim = claim(metadata).unwrap();
            bound.set(&claim, claim.is_bound());
            assert_eq!(bound.contains(&Claim::unbound("web", "data")), is_bound, "{metadata}");
            bound = BoundClaims::default();
        }
        for wrong in ["", r#""name":7"#, r#""name":"data","annotations":[]"#] {
            assert!(claim(wrong).is_err(), "{wrong}");
        }
    }
}
