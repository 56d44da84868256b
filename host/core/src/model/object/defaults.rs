//! The defaults that the API server sets, for objects that people write by hand.

use serde_json::{Map, Value};

use super::pod::is_pod_level;

/// Sets the defaults of a Pod, a Node or a Namespace that policies or kube-scheduler's filters read: limits become
/// requests, ports of a pod in the network of its host become host ports, capacity becomes allocatable, and a namespace has
/// its name as a label.
///
/// Source: `pkg/apis/core/v1/defaults.go` of Kubernetes. What has a wrong type is left to the reader of the object.
pub fn set_defaults(kind: &str, object: &mut Value) {
    match kind {
        "Pod" => pod_defaults(object),
        "Node" => {
            let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
            let capacity = status.get("capacity").cloned().unwrap_or_default();
            if !capacity.is_null() && status.get("allocatable").is_none_or(Value::is_null) {
                status.insert("allocatable".to_owned(), capacity);
            }
        }
        "Namespace" => {
            let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
            let name = metadata.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()).map(Value::from);
            if let Some(name) = name
                && let Some(labels) = member(metadata, "labels")
            {
                labels.insert("kubernetes.io/metadata.name".to_owned(), name);
            }
        }
        _ => {}
    }
}

fn pod_defaults(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec") else { return };
    let is_in_host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    let mut requested = Map::new();
    for key in ["containers", "initContainers"] {
        for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            let requests = container.get_mut("resources").and_then(|resources| requests_of_limits(resources, |_| true));
            requested.extend(requests.into_iter().flatten().map(|(name, amount)| (name.clone(), amount.clone())));
            let ports = container.get_mut("ports").and_then(Value::as_array_mut).filter(|_| is_in_host_network);
            for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
                let port_of_host = port.get("hostPort").and_then(Value::as_i64).filter(|port| *port != 0);
                if let (None, Some(own)) = (port_of_host, port.get("containerPort").cloned()) {
                    port.insert("hostPort".to_owned(), own);
                }
            }
        }
    }
    // Pod-level requests of cpu and memory are by default the sum of the containers, where these name the resource.
    let is_own = |name: &str| is_pod_level(name) && (name.starts_with("hugepages-") || !requested.contains_key(name));
    if let Some(resources) = spec.get_mut("resources") {
        requests_of_limits(resources, is_own);
    }
}

/// Adds the limits that `also` selects to the requests that do not name their resource; returns all requests.
fn requests_of_limits(resources: &mut Value, also: impl Fn(&str) -> bool) -> Option<&Map<String, Value>> {
    let resources = resources.as_object_mut()?;
    let limits = resources.get("limits").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, limit) in limits.into_iter().filter(|(name, _)| also(name)) {
        member(resources, "requests")?.entry(name).or_insert(limit);
    }
    resources.get("requests")?.as_object()
}

/// A member that is an object; an empty one where it is missing.
fn member<'o>(object: &'o mut Map<String, Value>, name: &str) -> Option<&'o mut Map<String, Value>> {
    let member = object.entry(name).or_insert(Value::Null);
    if member.is_null() {
        *member = Value::Object(Map::new());
    }
    member.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn defaulted(kind: &str, mut object: Value) -> Value {
        set_defaults(kind, &mut object);
        let once = object.clone();
        set_defaults(kind, &mut object);
        assert_eq!(object, once, "defaults of defaults");
        object
    }

    #[test]
    fn limits_become_the_requests_that_are_missing() {
        let spec = json!({
            "containers": [{"resources": {"limits": {"cpu": 2, "x/gpu": "1"}, "requests": {"cpu": "500m"}}}, {"name": "b"}],
            "initContainers": [{"resources": {"limits": {"memory": "1Gi"}, "requests": null}}],
            "resources": {"limits": {"cpu": 3, "memory": "2Gi", "hugepages-2Mi": "4Mi", "x/gpu": 1}},
        });
        let spec = &defaulted("Pod", json!({"spec": spec}))["spec"];
        assert_eq!(spec["containers"][0]["resources"]["requests"], json!({"cpu": "500m", "x/gpu": "1"}));
        assert_eq!(spec["containers"][1], json!({"name": "b"}));
        assert_eq!(spec["initContainers"][0]["resources"]["requests"], json!({"memory": "1Gi"}));
        assert_eq!(spec["resources"]["requests"], json!({"hugepages-2Mi": "4Mi"}));
        let alone = json!({"spec": {"resources": {"limits": {"cpu": 3}}, "containers": [{"name": "c"}]}});
        assert_eq!(defaulted("Pod", alone)["spec"]["resources"]["requests"], json!({"cpu": 3}));
    }

    #[test]
    fn ports_in_the_network_of_the_host_are_host_ports() {
        let ports =
            json!([{"containerPort": 80}, {"containerPort": 81, "hostPort": 0}, {"containerPort": 82, "hostPort": 8}]);
        let pod = |network: bool| json!({"spec": {"hostNetwork": network, "containers": [{"ports": ports}]}});
        let of_host = json!([{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 81}, ports[2]]);
        assert_eq!(defaulted("Pod", pod(true))["spec"]["containers"][0]["ports"], of_host);
        assert_eq!(defaulted("Pod", pod(false)), pod(false));
    }

    #[test]
    fn capacity_becomes_allocatable_and_a_namespace_has_its_name_as_a_label() {
        let node = |status: Value| defaulted("Node", json!({"status": status}))["status"]["allocatable"].clone();
        assert_eq!(node(json!({"capacity": {"cpu": "4"}, "allocatable": null})), json!({"cpu": "4"}));
        assert_eq!(node(json!({"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}})), json!({"cpu": "3"}));
        assert_eq!(node(json!({"capacity": {"cpu": "4"}, "allocatable": {}})), json!({}));
        let labels =
            |metadata: Value| defaulted("Namespace", json!({"metadata": metadata}))["metadata"]["labels"].clone();
        assert_eq!(labels(json!({"name": "web"})), json!({"kubernetes.io/metadata.name": "web"}));
        let both = json!({"a": "b", "kubernetes.io/metadata.name": "web"});
        assert_eq!(labels(json!({"name": "web", "labels": {"a": "b"}})), both);
    }

    #[test]
    fn what_has_a_wrong_type_stays_as_it_is() {
        for wrong in [
            json!(null),
            json!([]),
            json!({"spec": 7}),
            json!({"spec": {"containers": [7], "resources": 7}}),
            json!({"spec": {"containers": {}, "resources": {"limits": [], "requests": 1}}}),
            json!({"metadata": {"name": 7, "labels": 7}}),
            json!({"metadata": [], "status": []}),
        ] {
            for kind in ["Pod", "Node", "Namespace", "Service"] {
                assert_eq!(defaulted(kind, wrong.clone()), wrong);
            }
        }
    }
}
