//! Kubernetes' rules for annotations and labels, and the bounds of one policy.

use super::{BindMetadata, MetadataEntry};

/// The most annotations, and the most labels, that one policy may give a pod.
pub const MAX_ENTRIES: usize = 64;

/// The most bytes that all annotations of a pod may have, keys and values together.
///
/// Source: `TotalAnnotationSizeLimitB` in `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`.
pub const MAX_ANNOTATION_BYTES: usize = 256 << 10;

/// The longest prefix of a key, a DNS subdomain.
const MAX_PREFIX: usize = 253;

/// The longest name of a key.
const MAX_NAME: usize = 63;

/// Domains whose annotations steer Kubernetes itself; not for a policy to write.
const RESERVED: [&str; 2] = ["kubernetes.io", "k8s.io"];

/// Why a policy may not give a pod this.
pub(crate) fn breach(BindMetadata { annotations, labels }: &BindMetadata) -> Option<String> {
    let size: usize = annotations.iter().map(|MetadataEntry { key, value }| key.len() + value.len()).sum();
    let too_large = || {
        (size > MAX_ANNOTATION_BYTES)
            .then(|| format!("annotations of {size} bytes; at most {MAX_ANNOTATION_BYTES} are allowed"))
    };
    entries_breach("annotation", annotations)
        .or_else(too_large)
        .or_else(|| entries_breach("label", labels))
        .or_else(|| labels.iter().find_map(label_breach))
}

fn entries_breach(kind: &str, entries: &[MetadataEntry]) -> Option<String> {
    let count = entries.len();
    if count > MAX_ENTRIES {
        return Some(format!("{count} {kind}s; at most {MAX_ENTRIES} are allowed"));
    }
    entries.iter().enumerate().find_map(|(at, MetadataEntry { key, value })| {
        let is_twice = entries[..at].iter().any(|earlier| earlier.key == *key && earlier.value != *value);
        let twice = || is_twice.then(|| format!("the {kind} {key} twice, with different values"));
        key_breach(kind, key).or_else(twice)
    })
}

/// The API server copies the labels of a Binding without a look at them, so that this is the only check.
///
/// Sources: `setPodNodeAndMetadata` in `pkg/registry/core/pod/storage/storage.go`; `IsValidLabelValue` in
/// `k8s.io/apimachinery/pkg/util/validation`.
fn label_breach(MetadataEntry { key, value }: &MetadataEntry) -> Option<String> {
    let rule = "it must be empty, or 1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
    let is_wrong = !value.is_empty() && !is_name(value);
    let wrong = || is_wrong.then(|| format!("the value '{}' of the label {key}: {rule}", shown(value)));
    capital_breach(key).or_else(wrong)
}

/// Kubernetes lowers the domain of an annotation's key before it validates it, but not that of a label's: with capitals
/// every later update of the pod would be invalid, that of its status too.
fn capital_breach(key: &str) -> Option<String> {
    let (prefix, _) = key.split_once('/')?;
    let has_capital = prefix.chars().any(|c| c.is_ascii_uppercase());
    has_capital.then(|| format!("the label key '{}': its domain must have no capital letters", shown(key)))
}

/// Why a key is none that a policy may write.
///
/// Source: `IsQualifiedName` in `k8s.io/apimachinery/pkg/util/validation`, for the key in lower case.
fn key_breach(kind: &str, key: &str) -> Option<String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let wrong = |what: &str| Some(format!("the {kind} key '{}': {what}", shown(key)));
    if let Some(prefix) = prefix {
        if !is_subdomain(prefix) {
            return wrong("before its slash it must be a domain of at most 253 bytes, such as example.com");
        }
        if is_reserved(prefix) {
            return wrong("kubernetes.io and k8s.io are Kubernetes' own");
        }
    }
    if !is_name(name) {
        return wrong(
            "its name must have 1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
        );
    }
    None
}

fn is_name(name: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= MAX_NAME
        && ends(name.chars().next())
        && ends(name.chars().next_back())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn is_subdomain(prefix: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    prefix.len() <= MAX_PREFIX && prefix.split('.').all(is_label)
}

fn is_reserved(prefix: &str) -> bool {
    let prefix = prefix.to_ascii_lowercase();
    RESERVED.iter().any(|domain| prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// The beginning of a key that may be long and strange.
fn shown(key: &str) -> String {
    let start: String = key.chars().take(80).flat_map(char::escape_debug).collect();
    if key.chars().count() > 80 { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_annotations(annotations: &[MetadataEntry]) -> Option<String> {
        breach(&annotations.to_vec().into())
    }

    fn of_labels(labels: &[MetadataEntry]) -> Option<String> {
        breach(&BindMetadata { labels: labels.to_vec(), ..BindMetadata::default() })
    }

    fn keyed(key: &str) -> Option<String> {
        of_annotations(&[MetadataEntry::new(key, "value")])
    }

    #[test]
    fn a_key_is_a_qualified_name() {
        let longest_name = "n".repeat(63);
        let longest_prefix = [&*"p".repeat(63), &"p".repeat(63), &"p".repeat(63), &"p".repeat(61)].join(".");
        for key in ["a", "A.b-c_9", "example.com/device", "Example.com/Device", "e/d", &longest_name] {
            assert_eq!(keyed(key), None, "{key}");
        }
        assert_eq!(longest_prefix.len(), 253);
        assert_eq!(keyed(&format!("{longest_prefix}/{longest_name}")), None);
        let bad = [
            "",
            "/",
            "a/",
            "/a",
            "a/b/c",
            "-a",
            "a-",
            "a b",
            "ä",
            "a\n",
            "example..com/a",
            "-e.com/a",
            "e_x.com/a",
            &format!("{longest_name}n"),
            &format!("{longest_prefix}p/a"),
        ]
        .map(str::to_owned);
        for key in bad {
            assert!(keyed(&key).is_some(), "{key}");
        }
    }

    #[test]
    fn kubernetes_own_domains_are_not_for_policies() {
        for key in ["kubernetes.io/config.mirror", "x.kubernetes.io/a", "K8S.io/a", "a.b.k8s.io/c"] {
            assert!(keyed(key).unwrap().contains("Kubernetes' own"), "{key}");
        }
        for key in ["kubernetes.io", "notkubernetes.io/a", "k8s.io.example.com/a"] {
            assert_eq!(keyed(key), None, "{key}");
        }
    }

    #[test]
    fn the_number_of_annotations_is_bounded() {
        let many = |count: usize| (0..count).map(|at| MetadataEntry::new(format!("k{at}"), "v")).collect::<Vec<_>>();
        assert_eq!(of_annotations(&many(MAX_ENTRIES)), None);
        assert_eq!(of_annotations(&many(MAX_ENTRIES + 1)).unwrap(), "65 annotations; at most 64 are allowed");
    }

    #[test]
    fn the_bytes_of_annotations_are_bounded() {
        let sized = |size: usize| {
            [MetadataEntry::new("k", "v".repeat(size / 2)), MetadataEntry::new("l", "v".repeat(size / 2 - 2))]
        };
        assert_eq!(of_annotations(&sized(MAX_ANNOTATION_BYTES)), None);
        assert!(of_annotations(&sized(MAX_ANNOTATION_BYTES + 2)).unwrap().contains("at most 262144"));
    }

    #[test]
    fn one_key_has_one_value() {
        let pair = |value| [MetadataEntry::new("k", "1"), MetadataEntry::new("k", value)];
        assert_eq!(of_annotations(&pair("1")), None);
        assert_eq!(of_annotations(&pair("2")).unwrap(), "the annotation k twice, with different values");
    }

    #[test]
    fn labels_keep_to_the_rules_that_the_api_server_does_not_check() {
        let breach = |key: &str, value: &str| of_labels(&[MetadataEntry::new(key, value)]);
        for (key, value) in [("a", ""), ("example.com/rack", "r-1_2.b"), ("a", &"v".repeat(63))] {
            assert_eq!(breach(key, value), None, "{key}={value}");
        }
        let long = "v".repeat(64);
        for value in ["-", "a b", "ä", "a/b", "a\n", &long] {
            assert!(breach("a", value).unwrap().contains("of the label a: it must be empty, or 1 to 63"), "{value}");
        }
        assert!(breach("Example.COM/rack", "r1").unwrap().ends_with("its domain must have no capital letters"));
        assert_eq!(breach("example.com/Rack", "r1"), None);
        assert!(breach("kubernetes.io/a", "").unwrap().starts_with("the label key 'kubernetes.io/a'"));
        let many = |count: usize| (0..count).map(|at| MetadataEntry::new(format!("k{at}"), "v")).collect::<Vec<_>>();
        assert_eq!(of_labels(&many(MAX_ENTRIES)), None);
        assert_eq!(of_labels(&many(MAX_ENTRIES + 1)).unwrap(), "65 labels; at most 64 are allowed");
        let pair = |value| [MetadataEntry::new("k", "1"), MetadataEntry::new("k", value)];
        assert_eq!(of_labels(&pair("1")), None);
        assert_eq!(of_labels(&pair("2")).unwrap(), "the label k twice, with different values");
        assert!(breach("", "").unwrap().starts_with("the label key ''"));
    }
}
