//! Merges the annotations and labels that policies give a pod in the write that binds it.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, btree_map::Entry},
};

use super::Unbound;
use crate::{
    decide::Member,
    model::{Additions, BindMetadata, MAX_ANNOTATION_BYTES, Pod},
};

/// Annotations and labels by key, each with its author.
#[derive(Default)]
pub(super) struct Merged<'g> {
    annotations: ByKey<'g>,
    labels: ByKey<'g>,
}

type ByKey<'g> = BTreeMap<Box<str>, (Box<str>, &'g Member)>;

// === impl Merged ===

impl<'g> Merged<'g> {
    /// Adds the metadata of one policy.
    pub(super) fn add(&mut self, metadata: BindMetadata, member: &'g Member) -> Result<(), Unbound> {
        for annotation in metadata.annotations {
            insert("annotation", &mut self.annotations, annotation.key, annotation.value, member)?;
        }
        for label in metadata.labels {
            insert("label", &mut self.labels, label.key, label.value, member)?;
        }
        Ok(())
    }

    /// All of it, if the pod can carry it.
    pub(super) fn for_pod(self, pod: &Pod) -> Result<Additions, Unbound> {
        check_labels(pod, self.labels.iter().map(|(key, (value, member))| (&**key, &**value, member.id())))?;
        let texts = |all: ByKey<'_>| all.into_iter().map(|(key, (value, _))| (key, value)).collect();
        let additions = Additions { annotations: texts(self.annotations), labels: texts(self.labels) };
        check_size(pod, &additions.annotations)?;
        Ok(additions)
    }
}

// === impl BindMetadata ===

impl BindMetadata {
    /// Whether the pod can carry what this policy alone gives it: the check that follows the answers of all policies.
    ///
    /// # Errors
    /// Why the pod is not bound.
    pub fn check_for_pod(&self, policy: &str, pod: &Pod) -> Result<(), Unbound> {
        check_labels(pod, self.labels.iter().map(|label| (&*label.key, &*label.value, policy)))?;
        let annotations: BTreeMap<&str, &str> = self.annotations.iter().map(|own| (&*own.key, &*own.value)).collect();
        check_size(pod, &annotations)
    }
}

fn insert<'g>(
    kind: &'static str,
    all: &mut ByKey<'g>,
    key: Box<str>,
    value: Box<str>,
    member: &'g Member,
) -> Result<(), Unbound> {
    match all.entry(key) {
        Entry::Vacant(free) => {
            free.insert((value, member));
            Ok(())
        }
        Entry::Occupied(taken) if taken.get().0 == value => Ok(()),
        Entry::Occupied(taken) => {
            let (first, second) = (taken.get().1.id().to_owned(), member.id().to_owned());
            Err(Unbound::Clash { kind, key: taken.key().clone(), first, second })
        }
    }
}

/// A label that is overwritten may take the pod away from its `ReplicaSet`, or from a Service.
///
/// Each label has its key, its value and its policy.
fn check_labels<'l>(pod: &Pod, labels: impl Iterator<Item = (&'l str, &'l str, &'l str)>) -> Result<(), Unbound> {
    for (key, value, policy) in labels {
        if pod.labels().get(key).is_some_and(|own| own != value) {
            return Err(Unbound::OwnLabel { pod: name(pod), key: key.into(), policy: policy.to_owned() });
        }
    }
    Ok(())
}

fn check_size<T: Borrow<str> + Ord>(pod: &Pod, annotations: &BTreeMap<T, T>) -> Result<(), Unbound> {
    let stays = pod.annotations().iter().filter(|(key, _)| !annotations.contains_key::<str>(key));
    let own: usize = stays.map(|(key, value)| key.len() + value.len()).sum();
    let size = own + annotations.iter().map(|(key, value)| key.borrow().len() + value.borrow().len()).sum::<usize>();
    // The pod's own annotations are the API server's business.
    if annotations.is_empty() || size <= MAX_ANNOTATION_BYTES {
        return Ok(());
    }
    Err(Unbound::TooLarge { pod: name(pod), size })
}

fn name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace(), pod.name())
}
