//! Whether the API server copies the labels of a Binding to the pod.

use std::sync::atomic::Ordering;

use plimsoll_core::BindError;

use super::ready::Ready;
use crate::api::error_text;

/// Kubernetes 1.35 switched `PodTopologyLabelsAdmission` on, which does that. Before it labels are dropped without a
/// word: a policy that counts by them would count wrong.
const MINOR: u32 = 35;

/// Asks the API server for its version, once for each term if it is new enough.
pub(super) async fn check(ready: &Ready) -> Result<(), BindError> {
    if ready.takes_labels.load(Ordering::Relaxed) {
        return Ok(());
    }
    let version = ready.client.apiserver_version().await;
    let version =
        version.map_err(|error| BindError::Api(format!("its version is not known: {}", error_text(&error))))?;
    if !is_new_enough(&version.major, &version.minor) {
        let (major, minor) = (version.major, version.minor);
        return Err(BindError::Api(format!(
            "version {major}.{minor} drops the labels of a Binding, and a policy gives the pod labels: that needs 1.{MINOR}"
        )));
    }
    ready.takes_labels.store(true, Ordering::Relaxed);
    Ok(())
}

/// Providers write a minor version such as `36+`.
fn is_new_enough(major: &str, minor: &str) -> bool {
    let number = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or(0);
    (number(major), number(minor)) >= (1, MINOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (minor, is_enough) in [("34", false), ("35", true), ("36+", true), ("9", false), ("100", true), ("", false)]
        {
            assert_eq!(is_new_enough("1", minor), is_enough, "{minor}");
        }
        assert!(is_new_enough("2", "0") && !is_new_enough("", "40"));
    }
}
