//! Which pods of the cluster a read is about.

use std::fmt;

use crate::model::{Node, Pod, object::NOT_KEPT};

/// The pods for which all given parts hold; every pod where none is given.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Selector<T> {
    /// `metadata.namespace`.
    pub namespace: Option<T>,
    /// A label of the pod, with its value.
    pub label: Option<(T, T)>,
    /// An annotation of the pod, with its value.
    pub annotation: Option<(T, T)>,
    /// A label of the pod's node, with its value.
    pub node_label: Option<(T, T)>,
}

// === impl Selector ===

impl<T> Selector<T> {
    /// Every pod.
    pub const fn all() -> Self {
        Self { namespace: None, label: None, annotation: None, node_label: None }
    }

    /// The same with other texts.
    pub fn map<'s, U>(&'s self, text: &mut impl FnMut(&'s T) -> U) -> Selector<U> {
        let namespace = self.namespace.as_ref().map(&mut *text);
        let mut pair = |pair: &'s Option<(T, T)>| pair.as_ref().map(|(key, value)| (text(key), text(value)));
        let (label, annotation, node_label) = (pair(&self.label), pair(&self.annotation), pair(&self.node_label));
        Selector { namespace, label, annotation, node_label }
    }
}

impl<T: AsRef<str>> Selector<T> {
    /// The same with borrowed texts.
    pub fn borrowed(&self) -> Selector<&str> {
        self.map(&mut AsRef::as_ref)
    }
}

impl Selector<&str> {
    /// Whether it selects a pod on a node; none: a node that is not known.
    pub(crate) fn matches(&self, pod: &Pod, node: Option<&Node>) -> bool {
        let is_annotated = |(key, value): (&str, &str)| {
            pod.annotations().get(key).is_some_and(|given| given == value || given == NOT_KEPT)
        };
        self.namespace.is_none_or(|namespace| pod.namespace() == namespace)
            && self.label.is_none_or(|(key, value)| pod.labels().get(key) == Some(value))
            && self.annotation.is_none_or(is_annotated)
            && self.node_label.is_none_or(|(key, value)| node.is_some_and(|node| node.labels().get(key) == Some(value)))
    }
}

/// The given parts: `{namespace: "web", label: "app"="db"}`.
impl<T: fmt::Debug> fmt::Debug for Selector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "{";
        if let Some(namespace) = &self.namespace {
            write!(f, "{before}namespace: {namespace:?}")?;
            before = ", ";
        }
        let pairs = [("label", &self.label), ("annotation", &self.annotation), ("node-label", &self.node_label)];
        for (part, pair) in pairs {
            if let Some((key, value)) = pair {
                write!(f, "{before}{part}: {key:?}={value:?}")?;
                before = ", ";
            }
        }
        f.write_str(if before == "{" { "{}" } else { "}" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_by_the_parts_that_are_given() {
        assert_eq!(format!("{:?}", Selector::<&str>::all()), "{}");
        let selector = Selector {
            namespace: Some("web"),
            annotation: Some(("licence", "a\"b")),
            node_label: Some(("pool", "gpu")),
            ..Selector::all()
        };
        let shown = r#"{namespace: "web", annotation: "licence"="a\"b", node-label: "pool"="gpu"}"#;
        assert_eq!(format!("{selector:?}"), shown);
        assert_eq!(format!("{:?}", selector.map(&mut |text| Box::<str>::from(*text))), shown);
    }
}
