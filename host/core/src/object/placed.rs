//! Limits of the labels and annotations that are kept of a placed pod.
//!
//! The API server allows annotations of 256 KiB, and labels as large as etcd takes them. Times the pods of a cluster
//! that is more than any gateway has. The values of large annotations are not kept, only their keys: a policy that
//! asks for one gets an error, never the answer that the pod has no such annotation.

use super::{Entries, ObjectError, Owner};

/// The most bytes of annotations that are kept of a placed pod, keys and values together. Beyond, the largest values
/// are left out.
pub const MAX_KEPT_ANNOTATION_BYTES: usize = 16 << 10;

/// The most bytes of labels of a placed pod, of its owner and of its priority class; and of the kept annotations, if
/// their keys alone take more than [`MAX_KEPT_ANNOTATION_BYTES`]. A pod with more cannot be read. These are 170 labels
/// of the largest size.
pub const MAX_KEPT_BYTES: usize = 64 << 10;

/// Stands for a value that is not kept; no pod has it, see [`kept_annotations`].
pub(crate) const NOT_KEPT: &str = "\u{10ffff}<not kept>";

/// A value that equals [`NOT_KEPT`] loses its first character, which is for internal use by Unicode's rules: otherwise a
/// pod could make every policy fail that reads its annotation.
const TAKEN_FOR_KEPT: &str = "<not kept>";

/// The annotations as they are kept.
pub(super) fn kept_annotations(entries: Entries) -> Entries {
    let genuine = |(key, value)| (key, if value == NOT_KEPT { TAKEN_FOR_KEPT } else { value });
    let entries: Entries = if entries.iter().any(|(_, value)| value == NOT_KEPT) {
        entries.iter().map(genuine).collect()
    } else {
        entries
    };
    let mut excess = entries.bytes().saturating_sub(MAX_KEPT_ANNOTATION_BYTES);
    if excess == 0 {
        return entries;
    }
    let mut kept: Vec<(&str, &str)> = entries.iter().collect();
    let mut by_size: Vec<usize> = (0..kept.len()).collect();
    // Equal pods are to be cut equally, whoever reads them.
    by_size.sort_by_key(|at| (std::cmp::Reverse(kept[*at].1.len()), *at));
    for at in by_size {
        let value = &mut kept[at].1;
        if excess == 0 || value.len() <= NOT_KEPT.len() {
            break;
        }
        excess = excess.saturating_sub(value.len() - NOT_KEPT.len());
        *value = NOT_KEPT;
    }
    kept.into_iter().collect()
}

/// Whether labels and annotations can be kept at all.
pub(super) fn check(labels: &Entries, annotations: &Entries) -> Result<(), ObjectError> {
    for (what, bytes) in [("labels", labels.bytes()), ("annotation keys", annotations.bytes())] {
        if bytes > MAX_KEPT_BYTES {
            let detail = format!("has {what} of {bytes} bytes; at most {MAX_KEPT_BYTES} are kept of a placed pod");
            return Err(ObjectError::new("Pod", detail));
        }
    }
    Ok(())
}

/// Whether the texts that are kept beside them can be: the API server bounds neither the name of an owner nor its kind.
pub(super) fn check_owner(owner: Option<&Owner>, priority_class: Option<&str>) -> Result<(), ObjectError> {
    let sizes =
        [("an owner", owner.map_or(0, Owner::text_bytes)), ("a priority class", priority_class.map_or(0, str::len))];
    match sizes.into_iter().find(|(_, bytes)| *bytes > MAX_KEPT_BYTES) {
        Some((what, bytes)) => {
            let detail = format!("has {what} of {bytes} bytes; at most {MAX_KEPT_BYTES} are kept of a placed pod");
            Err(ObjectError::new("Pod", detail))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Pod;

    fn entries(sizes: &[(&str, usize)]) -> Entries {
        sizes.iter().map(|(key, size)| (*key, "v".repeat(*size))).collect()
    }

    #[test]
    fn annotations_within_the_bound_stay_as_they_are() {
        let all = entries(&[("a", MAX_KEPT_ANNOTATION_BYTES - 3), ("b", 1)]);
        assert_eq!(kept_annotations(all.clone()), all);
    }

    #[test]
    fn beyond_the_bound_the_largest_values_are_left_out_and_no_key_is() {
        let kept = kept_annotations(entries(&[("a", 6_000), ("b", 9_000), ("c", 5), ("d", 8_000), ("e", 0)]));
        let sizes: Vec<_> = kept.iter().map(|(key, value)| (key, value.len())).collect();
        assert_eq!(sizes, [("a", 6_000), ("b", NOT_KEPT.len()), ("c", 5), ("d", 8_000), ("e", 0)]);
        assert_eq!(kept.get("b"), Some(NOT_KEPT));
        let huge = kept_annotations(entries(&[("a", 200_000), ("b", 50_000)]));
        assert!(huge.bytes() < 100, "{}", huge.bytes());
    }

    #[test]
    fn a_placed_pod_is_cut_alike_whether_it_was_read_or_bound() {
        let annotations: BTreeMap<Box<str>, Box<str>> =
            [("big".into(), "x".repeat(20_000).into()), ("small".into(), "1".into())].into();
        let json = |annotations: &str| {
            format!(r#"{{"metadata":{{"name":"p","annotations":{annotations}}},"spec":{{"nodeName":"n1"}}}}"#)
        };
        let read = Pod::placed_from_json(json(&serde_json::to_string(&annotations).unwrap()).as_bytes()).unwrap();
        let bound =
            Pod::placed_from_json(json("{}").as_bytes()).unwrap().placed_on("n1", &annotations, &BTreeMap::new());
        assert_eq!(read, bound);
        assert_eq!((read.annotations().get("big"), read.annotations().get("small")), (Some(NOT_KEPT), Some("1")));
    }

    #[test]
    fn a_pod_with_more_labels_or_keys_than_can_be_kept_cannot_be_read() {
        let pod = |field: &str, count: usize| {
            let entries: BTreeMap<String, &str> = (0..count).map(|at| (format!("{at:0>60}"), "")).collect();
            let json = serde_json::json!({"metadata": {"name": "p", field: entries}});
            Pod::placed_from_json(json.to_string().as_bytes()).map(drop).map_err(|error| error.to_string())
        };
        let fits = MAX_KEPT_BYTES / 60;
        assert_eq!((pod("labels", fits), pod("annotations", fits)), (Ok(()), Ok(())));
        assert!(pod("labels", fits + 1).unwrap_err().contains("labels of 65580 bytes"));
        assert!(pod("annotations", fits + 1).unwrap_err().contains("annotation keys of 65580 bytes"));
    }

    #[test]
    fn no_pod_can_say_that_a_value_is_not_kept() {
        let kept = kept_annotations([("a", NOT_KEPT), ("b", "<not kept>")].into_iter().collect());
        assert_eq!((kept.get("a"), kept.get("b")), (Some("<not kept>"), Some("<not kept>")));
    }
}
