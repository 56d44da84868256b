//! DeviceClasses: the resources that DRA provides where no device plugin does.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap, sync::Arc};

use serde::Deserialize;

use super::{Node, ObjectError, Pod, Quantities, metadata::MetadataJson, parse};

/// The name of a resource that each class provides, before its own name.
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";

/// One DeviceClass by the resource that it provides.
#[derive(Debug, PartialEq, Eq)]
pub struct DeviceClass {
    name: Arc<str>,
    /// As the API server writes it, so that the text has the order of the time.
    created: Box<str>,
    resource: Option<Box<str>>,
}

/// The class that provides each resource.
///
/// Source: `extendedresourcecache` in k8s.io/dynamic-resource-allocation, and `shouldDelegateResourceToDRA` of
/// kube-scheduler's plugin NodeResourcesFit (KEP-5004).
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceClasses(BTreeMap<Box<str>, Arc<str>>);

#[derive(Deserialize)]
struct DeviceClassJson<'a> {
    #[serde(borrow)]
    metadata: MetadataJson<'a>,
    #[serde(borrow, default)]
    spec: SpecJson<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpecJson<'a> {
    #[serde(borrow)]
    extended_resource_name: Option<Cow<'a, str>>,
}

// === impl DeviceClass ===

impl DeviceClass {
    /// Reads the JSON of one DeviceClass; its selectors are not kept.
    ///
    /// # Errors
    /// If it is not JSON, has no name, or one of its fields has another type.
    pub fn from_json(json: &[u8]) -> Result<Self, ObjectError> {
        let DeviceClassJson { metadata, spec } = parse("DeviceClass", json)?;
        if metadata.name.is_empty() {
            return Err(ObjectError::new("DeviceClass", "has no metadata.name"));
        }
        let created = metadata.creation_timestamp.unwrap_or_default().into();
        Ok(Self { name: metadata.name.into(), created, resource: spec.extended_resource_name.map(Into::into) })
    }

    /// `metadata.name`.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
}

// === impl DeviceClasses ===

impl DeviceClasses {
    /// All classes; of two with one resource the newer provides it, or the one whose name comes first.
    pub fn new<'c>(classes: impl IntoIterator<Item = &'c DeviceClass>) -> Self {
        let mut classes: Vec<_> = classes.into_iter().collect();
        classes.sort_by_key(|class| (&class.created, Reverse(&class.name)));
        let resources =
            |class: &DeviceClass| [Some(format!("{IMPLICIT}{}", class.name).into()), class.resource.clone()];
        let provided =
            |class| resources(class).into_iter().flatten().map(|resource| (resource, Arc::clone(&class.name)));
        Self(classes.into_iter().flat_map(provided).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The class that provides a resource on a node with this `status.allocatable`; none where that has the resource, or no
    /// class provides it.
    pub fn provider(&self, resource: &str, allocatable: &Quantities) -> Option<&str> {
        if allocatable.get(resource) > 0 { None } else { self.0.get(resource).map(AsRef::as_ref) }
    }

    /// The resources that a pod requests and that a node has only by a class, for people: kube-scheduler counts the devices.
    /// Empty where there are none.
    pub fn remark(&self, pod: &Pod, node: &Node) -> String {
        let requested = pod.requests().iter().filter(|(_, amount)| *amount > 0);
        let provided = requested.filter_map(|(name, _)| Some((name, self.provider(name, node.allocatable())?)));
        let texts =
            provided.map(|(name, class)| format!("DeviceClass {class} provides {name}: devices are not modelled"));
        texts.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_class_of_a_resource_provides_it_where_the_node_has_none() {
        let class = |name: &str, created: &str, resource: &str| {
            let json = format!(
                r#"{{"metadata":{{"name":"{name}","creationTimestamp":"{created}"}},"spec":{{"extendedResourceName":"{resource}"}}}}"#
            );
            DeviceClass::from_json(json.as_bytes()).unwrap()
        };
        let (old, new) = ("2026-01-31T12:00:00Z", "2026-02-01T00:00:00Z");
        let all =
            [class("b", old, "x/gpu"), class("a", old, "x/gpu"), class("z", new, "x/nic"), class("y", old, "x/nic")];
        let plain = DeviceClass::from_json(br#"{"metadata":{"name":"plain"}}"#).unwrap();
        let classes = DeviceClasses::new(all.iter().chain([&plain]));
        let allocatable: Quantities = serde_json::from_str(r#"{"cpu":"4","x/gpu":"0","x/nic":"2"}"#).unwrap();
        let none = Quantities::default();
        for (resource, on, expected) in [
            ("x/gpu", &none, Some("a")),
            ("x/gpu", &allocatable, Some("a")),
            ("x/nic", &none, Some("z")),
            ("x/nic", &allocatable, None),
            ("x/fpga", &none, None),
            ("cpu", &none, None),
            ("deviceclass.resource.kubernetes.io/plain", &none, Some("plain")),
            ("deviceclass.resource.kubernetes.io/other", &none, None),
        ] {
            assert_eq!(classes.provider(resource, on), expected, "{resource}");
        }
        for json in ["{}", "[]", r#"{"metadata":{}}"#, r#"{"metadata":{"name":"a"},"spec":{"extendedResourceName":7}}"#]
        {
            assert!(DeviceClass::from_json(json.as_bytes()).is_err(), "{json}");
        }
    }
}
