//! The limit of the annotations that are kept of a placed pod.
//!
//! The API server allows annotations of 256 KiB. Times the pods of a cluster that is more than any gateway has. The values of large annotations are not kept, only their keys: a policy that
//! asks for one gets an error, never the answer that the pod has no such annotation.

use super::Entries;

/// The most bytes of annotations that are kept of a placed pod, keys and values together. Beyond, the largest values
/// are left out.
pub const MAX_KEPT_ANNOTATION_BYTES: usize = 16 << 10;

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::Pod;

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
    fn no_pod_can_say_that_a_value_is_not_kept() {
        let kept = kept_annotations([("a", NOT_KEPT), ("b", "<not kept>")].into_iter().collect());
        assert_eq!((kept.get("a"), kept.get("b")), (Some("<not kept>"), Some("<not kept>")));
    }
}
