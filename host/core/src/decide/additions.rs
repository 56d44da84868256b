//! Merges the annotations and labels that policies give a pod in the write that binds it.

use std::collections::{BTreeMap, btree_map::Entry};

use super::Unbound;
use crate::model::{Additions, BindMetadata, MAX_ANNOTATION_BYTES, Pod};

/// Annotations and labels by key, each with its value and the policy that gives it.
#[derive(Default)]
pub(super) struct Merged<'g> {
    annotations: ByKey<'g>,
    labels: ByKey<'g>,
}

type ByKey<'g> = BTreeMap<Box<str>, (Box<str>, &'g str)>;

// === impl Merged ===

impl<'g> Merged<'g> {
    /// Adds the metadata of one policy.
    pub(super) fn add(&mut self, metadata: BindMetadata, policy: &'g str) -> Result<(), Unbound> {
        for annotation in metadata.annotations {
            insert("annotation", &mut self.annotations, annotation.key, annotation.value, policy)?;
        }
        for label in metadata.labels {
            insert("label", &mut self.labels, label.key, label.value, policy)?;
        }
        Ok(())
    }

    /// All of it, if the pod can carry it.
    pub(super) fn for_pod(self, pod: &Pod) -> Result<Additions, Unbound> {
        let name = || format!("{}/{}", pod.namespace(), pod.name());
        for (key, (value, policy)) in &self.labels {
            // A label that is overwritten may take the pod away from its ReplicaSet, or from a Service.
            if pod.labels().get(key).is_some_and(|given| *given != **value) {
                return Err(Unbound::Metadata(format!(
                    "policy {policy} gives the pod {} the label {key}, which it has already with another value",
                    name()
                )));
            }
        }
        let stays = pod.annotations().iter().filter(|(key, _)| !self.annotations.contains_key::<str>(key));
        let own: usize = stays.map(|(key, value)| key.len() + value.len()).sum();
        let size = own + self.annotations.iter().map(|(key, (value, _))| key.len() + value.len()).sum::<usize>();
        // The pod's own annotations are the API server's business.
        if !self.annotations.is_empty() && size > MAX_ANNOTATION_BYTES {
            return Err(Unbound::Metadata(format!(
                "pod {} would have annotations of {size} bytes; Kubernetes allows {MAX_ANNOTATION_BYTES}",
                name()
            )));
        }
        let texts = |all: ByKey<'_>| all.into_iter().map(|(key, (value, _))| (key, value)).collect();
        Ok(Additions { annotations: texts(self.annotations), labels: texts(self.labels) })
    }
}

// === impl BindMetadata ===

impl BindMetadata {
    /// Whether the pod can carry what this policy alone gives it: the check that follows the answers of all policies.
    ///
    /// # Errors
    /// Why the pod is not bound.
    pub fn check_for_pod(&self, policy: &str, pod: &Pod) -> Result<(), Unbound> {
        let mut merged = Merged::default();
        merged.add(self.clone(), policy)?;
        merged.for_pod(pod).map(drop)
    }
}

fn insert<'g>(kind: &str, all: &mut ByKey<'g>, key: Box<str>, value: Box<str>, policy: &'g str) -> Result<(), Unbound> {
    match all.entry(key) {
        Entry::Vacant(free) => {
            free.insert((value, policy));
        }
        Entry::Occupied(taken) if taken.get().0 == value => {}
        Entry::Occupied(taken) => {
            let (first, key) = (taken.get().1, taken.key());
            let text = format!("policies {first} and {policy} give the {kind} {key} different values");
            return Err(Unbound::Metadata(text));
        }
    }
    Ok(())
}
