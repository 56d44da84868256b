//! Image names as kube-scheduler compares them.

use std::borrow::Cow;

/// Adds `:latest` to a name that has neither tag nor digest.
///
/// Source: `normalizedImageName` in `pkg/scheduler/framework/plugins/imagelocality`.
pub(super) fn normalized(name: &str) -> Cow<'_, str> {
    let has_tag = name.rfind(':') > name.rfind('/');
    if has_tag && name.contains(':') { Cow::Borrowed(name) } else { Cow::Owned(format!("{name}:latest")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_tag_means_latest() {
        assert_eq!(normalized("nginx"), "nginx:latest");
        assert_eq!(normalized("localhost:5000/nginx"), "localhost:5000/nginx:latest");
        assert_eq!(normalized("localhost:5000/nginx:1.2"), "localhost:5000/nginx:1.2");
        assert_eq!(normalized("nginx@sha256:ab"), "nginx@sha256:ab");
    }
}
