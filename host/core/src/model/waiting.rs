//! Pods without a node, as their watch shows them.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::model::{ObjectError, Pod, object::parse};

/// The name under which plimsoll writes nominations; `metadata.managedFields` repeats it.
pub const FIELD_MANAGER: &str = "plimsoll";

/// A pod without a node, as its watch shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingPod {
    /// The pod as one that is being scheduled, without its `metadata.managedFields`.
    pub pod: Arc<Pod>,
    /// Its nomination, if `status.nominatedNodeName` names a node.
    pub nominated: Option<NominatedFor>,
}

/// A nomination of a pod for a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NominatedFor {
    /// The node.
    pub node: Arc<str>,
    /// Whether plimsoll nominated it.
    pub is_own: bool,
}

/// What the watch of pods without a node has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingChange {
    /// The pod is new, or as it is now.
    Shown(WaitingPod),
    /// The pod with this UID has a node, has ended or is gone, or cannot be read any more.
    Gone(Box<str>),
    /// The first list, or a new one, is complete.
    Listed,
}

/// A Pod in parts, whose texts stay as they are.
#[derive(Deserialize, Serialize)]
struct PodParts<'a> {
    #[serde(borrow, default)]
    metadata: BTreeMap<Cow<'a, str>, &'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    spec: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    status: Option<&'a RawValue>,
}

// === impl WaitingPod ===

impl WaitingPod {
    /// Reads the JSON of a pod as its watch sends it.
    ///
    /// # Errors
    /// As for [`Pod::from_json`].
    pub fn from_json(json: &str) -> Result<Self, ObjectError> {
        let mut parts: PodParts<'_> = parse("Pod", json.as_bytes())?;
        let managed = parts.metadata.remove("managedFields");
        let json = serde_json::to_vec(&parts).map_err(|error| ObjectError::invalid("Pod", error))?;
        let pod = Pod::from_json(json.into())?;
        let node = pod.field("/status/nominatedNodeName").and_then(|text| serde_json::from_str::<Arc<str>>(text).ok());
        let node = node.filter(|node| !node.is_empty());
        let nominated = node.map(|node| NominatedFor { node, is_own: managed.is_some_and(is_nominated_by_plimsoll) });
        Ok(Self { pod: Arc::new(pod), nominated })
    }
}

/// Whether `metadata.managedFields` says that plimsoll wrote the nomination last.
fn is_nominated_by_plimsoll(managed: &RawValue) -> bool {
    let entries: Vec<Value> = serde_json::from_str(managed.get()).unwrap_or_default();
    entries.iter().any(|entry| {
        let is_of_status = entry["manager"] == FIELD_MANAGER && entry["subresource"] == "status";
        is_of_status && entry["fieldsV1"]["f:status"]["f:nominatedNodeName"].is_object()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn managed(manager: &str, subresource: &str, fields: &Value) -> Value {
        json!([{"manager": "kubelet", "fieldsV1": {}}, {"manager": manager, "subresource": subresource, "fieldsV1": fields}])
    }

    #[test]
    fn a_nomination_is_plimsolls_own_if_its_manager_owns_the_field_in_the_status() {
        let (own, other) =
            (json!({"f:status": {"f:nominatedNodeName": {}}}), json!({"f:status": {"f:conditions": {}}}));
        let table = [
            ("n1", managed("plimsoll", "status", &own), Some(true)),
            ("n1", managed("plimsoll", "status", &other), Some(false)),
            ("n1", managed("plimsoll", "", &own), Some(false)),
            ("n1", managed("kube-scheduler", "status", &own), Some(false)),
            ("n1", Value::Null, Some(false)),
            ("", managed("plimsoll", "status", &own), None),
        ];
        for (node, managed, expected) in table {
            let pod = json!({"metadata": {"managedFields": managed}, "status": {"nominatedNodeName": node}});
            let read = WaitingPod::from_json(&pod.to_string()).unwrap();
            assert_eq!(read.nominated.as_ref().map(|nominated| nominated.is_own), expected, "{pod}");
            assert!(read.nominated.is_none_or(|nominated| &*nominated.node == "n1"));
        }
    }

    #[test]
    fn a_waiting_pod_keeps_its_text_but_for_its_managed_fields() {
        let json = r#"{"kind":"Pod","metadata":{"name":"p","managedFields":[{"manager":"é"}],"annotations":{"a":"\u00e9"}},"spec":{"b":1.50,"a":[ ]}}"#;
        let read = WaitingPod::from_json(json).unwrap();
        let text = r#"{"metadata":{"annotations":{"a":"\u00e9"},"name":"p"},"spec":{"b":1.50,"a":[ ]}}"#;
        assert_eq!((read.pod.json().map(AsRef::as_ref), read.nominated), (Some(text.as_bytes()), None));
        for wrong in ["[]", "7", r#"{"metadata":{"name":7}}"#] {
            assert!(WaitingPod::from_json(wrong).is_err(), "{wrong}");
        }
    }
}
