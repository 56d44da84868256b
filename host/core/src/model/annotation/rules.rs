//! Kubernetes' rules for annotations and labels, and the bounds of one policy.

use super::{Annotation, BindMetadata, Label};

/// The most labels that one policy may give a pod.
pub const MAX_LABELS: usize = 64;

/// The most annotations that one policy may give a pod.
pub const MAX_ANNOTATIONS: usize = 64;

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
pub(crate) fn breach(metadata: &BindMetadata) -> Option<String> {
    annotations_breach(&metadata.annotations).or_else(|| labels_breach(&metadata.labels))
}

/// The API server copies the labels of a Binding without a look at them, so that this is the only check.
///
/// Source: `setPodNodeAndMetadata` in `pkg/registry/core/pod/storage/storage.go`.
fn labels_breach(labels: &[Label]) -> Option<String> {
    let count = labels.len();
    if count > MAX_LABELS {
        return Some(format!("{count} labels; at most {MAX_LABELS} are allowed"));
    }
    for (at, Label { key, value }) in labels.iter().enumerate() {
        if let Some(detail) =
            key_breach("label", key).or_else(|| capital_breach(key)).or_else(|| value_breach(key, value))
        {
            return Some(detail);
        }
        if labels[..at].iter().any(|earlier| earlier.key == *key && earlier.value != *value) {
            return Some(format!("the label {key} twice, with different values"));
        }
    }
    None
}

/// Source: `IsValidLabelValue` in `k8s.io/apimachinery/pkg/util/validation`.
fn value_breach(key: &str, value: &str) -> Option<String> {
    let rule = "it must be empty, or 1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
    (!value.is_empty() && !is_name(value)).then(|| format!("the value '{}' of the label {key}: {rule}", shown(value)))
}

fn annotations_breach(annotations: &[Annotation]) -> Option<String> {
    let count = annotations.len();
    if count > MAX_ANNOTATIONS {
        return Some(format!("{count} annotations; at most {MAX_ANNOTATIONS} are allowed"));
    }
    if let Some(detail) = annotations.iter().find_map(|annotation| key_breach("annotation", &annotation.key)) {
        return Some(detail);
    }
    for (at, annotation) in annotations.iter().enumerate() {
        if annotations[..at].iter().any(|earlier| earlier.key == annotation.key && *earlier != *annotation) {
            return Some(format!("the annotation {} twice, with different values", annotation.key));
        }
    }
    let size: usize = annotations.iter().map(Annotation::size).sum();
    (size > MAX_ANNOTATION_BYTES)
        .then(|| format!("annotations of {size} bytes; at most {MAX_ANNOTATION_BYTES} are allowed"))
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

    fn keyed(key: &str) -> Option<String> {
        annotations_breach(&[Annotation::new(key, "value")])
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
        let many = |count: usize| (0..count).map(|at| Annotation::new(format!("k{at}"), "v")).collect::<Vec<_>>();
        assert_eq!(annotations_breach(&many(MAX_ANNOTATIONS)), None);
        assert_eq!(annotations_breach(&many(MAX_ANNOTATIONS + 1)).unwrap(), "65 annotations; at most 64 are allowed");
    }

    #[test]
    fn the_bytes_of_annotations_are_bounded() {
        let sized =
            |size: usize| [Annotation::new("k", "v".repeat(size / 2)), Annotation::new("l", "v".repeat(size / 2 - 2))];
        assert_eq!(annotations_breach(&sized(MAX_ANNOTATION_BYTES)), None);
        assert!(annotations_breach(&sized(MAX_ANNOTATION_BYTES + 2)).unwrap().contains("at most 262144"));
    }

    #[test]
    fn one_key_has_one_value() {
        let pair = |value| [Annotation::new("k", "1"), Annotation::new("k", value)];
        assert_eq!(annotations_breach(&pair("1")), None);
        assert_eq!(annotations_breach(&pair("2")).unwrap(), "the annotation k twice, with different values");
    }

    #[test]
    fn labels_keep_to_the_rules_that_the_api_server_does_not_check() {
        let breach = |key: &str, value: &str| labels_breach(&[Label::new(key, value)]);
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
        let many = |count: usize| (0..count).map(|at| Label::new(format!("k{at}"), "v")).collect::<Vec<_>>();
        assert_eq!(labels_breach(&many(MAX_LABELS)), None);
        assert_eq!(labels_breach(&many(MAX_LABELS + 1)).unwrap(), "65 labels; at most 64 are allowed");
        let pair = |value| [Label::new("k", "1"), Label::new("k", value)];
        assert_eq!(labels_breach(&pair("1")), None);
        assert_eq!(labels_breach(&pair("2")).unwrap(), "the label k twice, with different values");
        let metadata = BindMetadata { labels: vec![Label::new("", "")], ..BindMetadata::default() };
        assert!(super::breach(&metadata).unwrap().starts_with("the label key ''"));
    }
}
