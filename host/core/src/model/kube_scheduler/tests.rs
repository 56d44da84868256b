use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::model::{DeviceClass, DeviceClasses, Namespace, Node, UnlistedNode};

fn pod(spec: &Value) -> Pod {
    Pod::from_json(Bytes::from(json!({"metadata": {"name": "p"}, "spec": spec}).to_string())).unwrap()
}

/// A node of 2 CPUs and one GPU, with a pod that has one CPU, the GPU and some ports.
fn slot(spec: &Value, allocatable: &Value) -> Slot {
    let labels = json!({"zone": "a", "gen": "7"});
    let node =
        json!({"metadata": {"name": "n1", "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}});
    let ports =
        json!([{"hostPort": 80}, {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}, {"containerPort": 90}]);
    let requests = json!({"requests": {"cpu": "1", "x/gpu": "1"}});
    let spec = json!({"nodeName": "n1", "containers": [{"ports": ports, "resources": requests}],
        "initContainers": [{"ports": [{"hostPort": 70}]}, {"restartPolicy": "Always", "ports": [{"hostPort": 71}]}]});
    let placed = Pod::placed_from_json(json!({"spec": spec}).to_string().as_bytes()).unwrap();
    Slot {
        node: Arc::new(Node::from_json(Bytes::from(node.to_string())).unwrap()),
        placed: Some(Arc::new(Placed::new(vec![Arc::new(placed)]))),
    }
}

fn reasons(pod: &Value, slot: &Slot) -> String {
    let (pod, ignored) = (self::pod(pod), ["x/ignored".to_owned()]);
    let class = br#"{"metadata":{"name":"c"},"spec":{"extendedResourceName":"x/dra"}}"#;
    let classes = DeviceClasses::new([&DeviceClass::from_json(class).unwrap()]);
    let cluster = Cluster::default().with_device_classes(Arc::new(classes));
    let filters = SchedulerFilters::new(&pod, &cluster, &ignored).unwrap();
    filters.rejection(slot).map_or_else(String::new, |rejection| {
        format!("{}{}", rejection.reasons.join(", "), if rejection.unresolvable { "" } else { " (preempt)" })
    })
}

#[test]
fn a_pod_is_rejected_by_the_first_plugin_and_in_its_words() {
    let allocatable = json!({"cpu": "2", "memory": "1Gi", "pods": "2", "x/gpu": "1"});
    let (node, full) = (slot(&json!({}), &allocatable), slot(&json!({}), &json!({"cpu": "2", "pods": "1"})));
    let cordoned = slot(&json!({"unschedulable": true}), &allocatable);
    let tainted = |key: &str, value: &str, effect: &str| {
        slot(&json!({"taints": [{"key": key, "value": value, "effect": effect}]}), &allocatable)
    };
    let tolerating =
        |operator: &str, value: &str| json!({"tolerations": [{"key": "k", "operator": operator, "value": value}]});
    let affine = |terms: Value| {
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        json!({"affinity": {"nodeAffinity": required}})
    };
    let label = |key: &str, operator: &str, values: &[&str]| {
        affine(json!([{}, {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]))
    };
    let named = |operator: &str, values: &[&str]| {
        affine(json!([{"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]}]))
    };
    let asking = |requests: Value| json!({"containers": [{"resources": {"requests": requests}}]});
    let port = |port: Value| json!({"containers": [{"ports": [port]}]});
    let (taint, selector) = ("node(s) had untolerated taint(s)", "node(s) didn't match Pod's node affinity/selector");
    let ports = "node(s) didn't have free ports for the requested pod ports (preempt)";
    let table = [
        (json!({}), &node, ""),
        (json!({"nodeName": "n2"}), &node, "node(s) didn't match the requested node name"),
        (json!({}), &cordoned, "node(s) were unschedulable"),
        (json!({"tolerations": [{"operator": "Exists"}], "nodeName": "n1"}), &cordoned, ""),
        (json!({}), &tainted("k", "v", "PreferNoSchedule"), ""),
        (json!({"tolerations": [{"key": "k", "effect": "NoExecute"}]}), &tainted("k", "", "NoSchedule"), taint),
        (tolerating("Equal", "v"), &tainted("k", "v", "NoExecute"), ""),
        (tolerating("", "w"), &tainted("k", "v", "NoExecute"), taint),
        (tolerating("Exists", ""), &tainted("other", "", "NoExecute"), taint),
        (tolerating("Gt", "5"), &tainted("k", "6", "NoSchedule"), ""),
        (tolerating("Lt", "5"), &tainted("k", "06", "NoSchedule"), taint),
        (tolerating("Lt", "-5"), &tainted("k", "-6", "NoSchedule"), ""),
        (json!({"nodeSelector": {"zone": "a", "gen": "7"}}), &node, ""),
        (json!({"nodeSelector": {"zone": "b"}}), &node, selector),
        (affine(Value::Null), &node, selector),
        (label("zone", "In", &["b", "a"]), &node, ""),
        (label("zone", "In", &[]), &node, selector),
        (label("zone", "NotIn", &["a"]), &node, selector),
        (label("absent", "NotIn", &["a"]), &node, ""),
        (label("zone", "Exists", &[]), &node, ""),
        (label("zone", "DoesNotExist", &[]), &node, selector),
        (label("gen", "Gt", &["6"]), &node, ""),
        (label("gen", "Lt", &["7"]), &node, selector),
        (label("zone", "Lt", &["7"]), &node, selector),
        (label("zone", "Like", &["a"]), &node, selector),
        (named("In", &["n1"]), &node, ""),
        (named("NotIn", &["n1"]), &node, selector),
        (named("In", &["n1", "n2"]), &node, selector),
        (port(json!({"hostPort": 80})), &node, ports),
        (port(json!({"hostPort": 80, "hostIP": "10.0.0.9", "protocol": "TCP"})), &node, ports),
        (port(json!({"hostPort": 80, "protocol": "UDP"})), &node, ""),
        (port(json!({"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.2"})), &node, ""),
        (port(json!({"hostPort": 53, "protocol": "UDP"})), &node, ports),
        (port(json!({"hostPort": 71})), &node, ports),
        (port(json!({"hostPort": 70})), &node, ""),
        (asking(json!({"cpu": "1", "memory": "1Gi", "x/ignored": "9", "x/none": "0"})), &node, ""),
        (asking(json!({"cpu": "1001m"})), &node, "Insufficient cpu (preempt)"),
        (asking(json!({"memory": "2Gi", "x/gpu": "1"})), &node, "Insufficient memory, Insufficient x/gpu"),
        (asking(json!({"x/none": "1"})), &node, "Insufficient x/none"),
        (asking(json!({"cpu": "2", "memory": "9Gi"})), &full, "Too many pods, Insufficient cpu (preempt)"),
        (asking(json!({"cpu": "9"})), &slot(&json!({}), &json!({})), ""),
        (asking(json!({"x/dra": "9"})), &node, ""),
        (asking(json!({"x/dra": "9"})), &slot(&json!({}), &json!({"x/dra": "1"})), "Insufficient x/dra"),
    ];
    for (pod, slot, expected) in table {
        assert_eq!(reasons(&pod, slot), expected, "{pod} on {:?}", slot.node);
    }
}

#[test]
fn plugins_that_are_not_modelled_are_named_where_the_pod_uses_them() {
    let rule = |action: &str| json!({"containers": [{"restartPolicyRules": [{"action": action}]}]});
    let table = [
        (json!({"volumes": [{"name": "tmp", "emptyDir": {}}, {"configMap": null}], "affinity": null}), &[][..]),
        (json!({"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}), &["VolumeBinding"]),
        (json!({"volumes": [{"ephemeral": {}}], "resourceClaims": [{}]}), &["VolumeBinding", "DynamicResources"]),
        (rule("Restart"), &[]),
        (rule("RestartAllContainers"), &["NodeDeclaredFeatures"]),
    ];
    let cluster = Cluster::default();
    for (spec, expected) in table {
        assert_eq!(SchedulerFilters::new(&pod(&spec), &cluster, &[]).unwrap().not_modelled(), expected, "{spec}");
    }
    let wrong = pod(&json!({"tolerations": [7]}));
    let error = SchedulerFilters::new(&wrong, &cluster, &[]).unwrap_err().to_string();
    assert!(error.starts_with("Pod: spec.tolerations[0]: invalid type"), "{error}");
}

#[test]
fn a_pod_with_a_gate_and_one_that_is_deleted_are_not_tried() {
    let (gate, deleted) = ("it has a scheduling gate", "it is being deleted");
    let table = [
        (json!({"metadata": {"deletionTimestamp": null}, "spec": {"schedulingGates": []}}), None),
        (json!({"spec": {"schedulingGates": [{"name": "a.com/quota"}]}}), Some(gate)),
        (json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), Some(deleted)),
    ];
    for (pod, expected) in table {
        let pod = Pod::from_json(Bytes::from(pod.to_string())).unwrap();
        assert_eq!(SchedulerFilters::new(&pod, &Cluster::default(), &[]).unwrap().not_tried(), expected);
    }
}

/// Nodes a1 and a2 in zone a, b1 in zone b, and `none` in no zone. `placed` has a node with the pods there, each as a
/// namespace with the pod's metadata and spec.
fn cluster(placed: &[(&str, Value)]) -> Cluster {
    let node = |(name, zone): (&str, Value)| {
        let labels = json!({"zone": zone, "kubernetes.io/hostname": name});
        let taints = if name == "b1" { json!([{"key": "k", "effect": "NoExecute"}]) } else { json!([]) };
        let mut node = json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}});
        if zone.is_null() {
            node["metadata"]["labels"].as_object_mut().unwrap().remove("zone");
        }
        Node::from_json(Bytes::from(node.to_string())).unwrap()
    };
    let nodes = [("a1", json!("a")), ("a2", json!("a")), ("b1", json!("b")), ("none", Value::Null)].map(node).into();
    let pods = placed.iter().zip(0..).map(|((node, pod), at)| {
        let mut pod = pod.clone();
        pod["metadata"]["uid"] = at.to_string().into();
        pod["spec"]["nodeName"] = (*node).into();
        Pod::placed_from_json(pod.to_string().as_bytes()).unwrap()
    });
    let namespace = |(name, tenant): (&str, &str)| {
        let json = json!({"metadata": {"name": name, "labels": {"tenant": tenant}}}).to_string();
        (name.into(), Arc::new(Namespace::from_json(json.as_bytes()).unwrap()))
    };
    let namespaces = [("default", "us"), ("web", "us"), ("other", "them")].map(namespace).into_iter().collect();
    Cluster::from_objects(nodes, pods.collect()).with_namespaces(Some(Arc::new(namespaces)))
}

fn labelled(namespace: &str, app: &str) -> Value {
    json!({"metadata": {"namespace": namespace, "labels": {"app": app}}})
}

fn spread_by(key: &str, more: &Value) -> Value {
    let selector = json!({"matchLabels": {"app": "web"}});
    let mut constraint =
        json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector});
    constraint.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([constraint])
}

/// The nodes that the plugin rejects for a pod with the label `app=web`; `!` where preemption cannot help.
fn rejected(plugin: &str, spec: &Value, cluster: &Cluster) -> String {
    let mut pod = labelled("default", "web");
    pod["spec"] = json!({"tolerations": [{"operator": "Exists"}]});
    pod["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let pod = Pod::from_json(Bytes::from(pod.to_string())).unwrap();
    let filters = SchedulerFilters::new(&pod, cluster, &[]).unwrap();
    let name = |slot: &Slot| {
        let rejection = filters.rejection(slot).filter(|rejection| rejection.plugin == plugin)?;
        Some(format!("{}{}", slot.node.name(), if rejection.unresolvable { "!" } else { "" }))
    };
    cluster.slots().iter().filter_map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_pod_is_spread_by_its_hard_constraints() {
    let web = || labelled("default", "web");
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"app": "web"}}});
    let one = [("a1", web())];
    let spread = [("a1", web()), ("a2", web()), ("b1", web())];
    let ignored = [("a1", labelled("other", "web")), ("a1", labelled("default", "db")), ("a1", deleted)];
    let on_none = [("none", web()), ("none", web())];
    let zone = |more: Value| spread_by("zone", &more);
    let mut both = zone(json!({}));
    both.as_array_mut().unwrap().extend(spread_by("kubernetes.io/hostname", &json!({})).as_array().unwrap().clone());
    let keys = |label: &str| json!({"labelSelector": {}, "matchLabelKeys": [label]});
    let table = [
        (zone(json!({})), &one[..], "a1 a2 none!"),
        (zone(json!({"maxSkew": 2})), &one, "none!"),
        (zone(json!({"whenUnsatisfiable": "ScheduleAnyway"})), &one, ""),
        (zone(json!({})), &spread, "a1 a2 none!"),
        (zone(json!({})), &ignored, "none!"),
        (zone(json!({})), &on_none, "none!"),
        (spread_by("kubernetes.io/hostname", &json!({})), &on_none, "none"),
        // A node without one of the keys counts for no constraint.
        (both.clone(), &on_none, "none!"),
        (both, &spread, "a1 a2 none!"),
        (zone(json!({"labelSelector": null})), &one, "none!"),
        (zone(json!({"labelSelector": {}})), &spread, "none!"),
        (zone(json!({"labelSelector": {"matchLabels": {"app": "db"}}})), &ignored, "none!"),
        (zone(keys("app")), &one, "a1 a2 none!"),
        (zone(keys("absent")), &one, "none!"),
        (zone(json!({"minDomains": 2})), &spread, "a1 a2 none!"),
        (zone(json!({"minDomains": 3})), &spread, "a1 a2 b1 none!"),
    ];
    for (constraints, placed, expected) in table {
        let spec = json!({"topologySpreadConstraints": constraints});
        assert_eq!(rejected("PodTopologySpread", &spec, &cluster(placed)), expected, "{spec}");
    }
}

/// Zone b has no pod. Where it does not count, zone a is the emptiest.
#[test]
fn nodes_that_the_pod_may_not_use_count_by_the_policies_of_a_constraint() {
    let cluster = cluster(&[("a1", labelled("default", "web"))]);
    let (in_a, intolerant) = (json!({"nodeSelector": {"zone": "a"}}), json!({"tolerations": null}));
    let honor = json!({"nodeTaintsPolicy": "Honor"});
    let table = [
        (json!({}), in_a.clone(), ""),
        (json!({"nodeAffinityPolicy": "Ignore"}), in_a, "a1 a2"),
        (json!({}), intolerant.clone(), "a1 a2 none!"),
        (honor.clone(), intolerant, "none!"),
        (honor, json!({}), "a1 a2 none!"),
    ];
    for (policies, mut spec, expected) in table {
        spec["topologySpreadConstraints"] = spread_by("zone", &policies);
        assert_eq!(rejected("PodTopologySpread", &spec, &cluster), expected, "{spec}");
    }
}

#[test]
fn a_pod_is_near_and_apart_from_the_pods_that_its_terms_select() {
    let web = |namespace: &str| labelled(namespace, "web");
    let term = |key: &str, more: Value| {
        let mut term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}});
        term.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        term
    };
    let (zone, host) = (|more| term("zone", more), |more| term("kubernetes.io/hostname", more));
    let near = |terms: &[Value]| json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    let apart = |terms: &[Value]| json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    let (own, other) = ([("a1", web("default"))], [("a1", web("other"))]);
    let none = json!({});
    let (them, all) =
        (json!({"namespaceSelector": {"matchLabels": {"tenant": "them"}}}), json!({"namespaceSelector": {}}));
    let db = json!({"labelSelector": {"matchLabels": {"app": "db"}}});
    let table = [
        (near(&[zone(none.clone())]), &own[..], "b1! none!"),
        (near(&[host(none.clone())]), &own, "a2! b1! none!"),
        (near(&[zone(none.clone()), host(none.clone())]), &own, "a2! b1! none!"),
        // One pod must be selected by all terms.
        (near(&[zone(none.clone()), host(db.clone())]), &own, "a1! a2! b1! none!"),
        (near(&[zone(json!({"labelSelector": null}))]), &own, "a1! a2! b1! none!"),
        // The first pod of a group may be anywhere.
        (near(&[zone(none.clone())]), &other, "none!"),
        (near(&[zone(db.clone())]), &[], "a1! a2! b1! none!"),
        (near(&[zone(none.clone())]), &[("none", web("default"))], "none!"),
        (near(&[zone(none.clone()), host(none.clone())]), &[("none", web("default"))], "a1! a2! b1! none!"),
        (near(&[zone(json!({"namespaces": ["web"]}))]), &[], "a1! a2! b1! none!"),
        (near(&[zone(json!({"namespaces": ["other"]}))]), &other, "b1! none!"),
        (near(&[zone(them.clone())]), &other, "b1! none!"),
        (near(&[zone(all.clone())]), &other, "b1! none!"),
        (apart(&[zone(none.clone())]), &own, "a1 a2"),
        (apart(&[host(none.clone())]), &own, "a1"),
        (apart(&[zone(none.clone())]), &other, ""),
        (apart(&[zone(db.clone()), host(none.clone())]), &own, "a1"),
        (apart(&[zone(them.clone())]), &other, "a1 a2"),
        (apart(&[zone(them)]), &own, ""),
        (apart(&[zone(all)]), &other, "a1 a2"),
        (apart(&[zone(json!({"labelSelector": null}))]), &own, ""),
    ];
    for (affinity, placed, expected) in table {
        let spec = json!({"affinity": affinity});
        assert_eq!(rejected("InterPodAffinity", &spec, &cluster(placed)), expected, "{spec}");
    }
    let lonely = |namespace: &str, terms: Value| {
        let mut pod = labelled(namespace, "db");
        pod["spec"] =
            json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}});
        cluster(&[("a1", pod)])
    };
    let us = json!({"namespaceSelector": {"matchLabels": {"tenant": "us"}}});
    let table = [
        (lonely("default", json!([zone(none.clone())])), "a1 a2"),
        (lonely("default", json!([host(none.clone())])), "a1"),
        (lonely("default", json!([zone(db)])), ""),
        (lonely("other", json!([zone(none.clone())])), ""),
        (lonely("other", json!([zone(json!({"namespaces": ["default"]}))])), "a1 a2"),
        (lonely("other", json!([zone(us.clone())])), "a1 a2"),
        // Whoever does not know the namespaces knows their names.
        (lonely("other", json!([zone(us)])).with_namespaces(None), ""),
        (
            lonely(
                "other",
                json!([zone(
                    json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}})
                )]),
            )
            .with_namespaces(None),
            "a1 a2",
        ),
        // kube-scheduler, too, ignores all terms if it cannot read one.
        (
            lonely(
                "default",
                json!([zone(none.clone()), {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "?"}]}}]),
            ),
            "",
        ),
        (lonely("default", json!(7)), ""),
    ];
    for (cluster, expected) in table {
        assert_eq!(rejected("InterPodAffinity", &json!({}), &cluster), expected, "{:?}", cluster.nodes().next());
    }
}

#[test]
fn pods_on_a_node_without_a_slot_count_where_the_node_is_known() {
    let mut lonely = labelled("default", "web");
    lonely["spec"] = json!({"nodeName": "a3", "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        [{"topologyKey": "zone", "labelSelector": {}}]}}});
    let placed = Arc::new(Pod::placed_from_json(lonely.to_string().as_bytes()).unwrap());
    let node = br#"{"metadata":{"name":"a3","labels":{"zone":"a"}}}"#;
    let node = Some(Arc::new(Node::from_json(Bytes::from_static(node)).unwrap()));
    let spread = json!({"topologySpreadConstraints": spread_by("zone", &json!({}))});
    for (node, expected) in [(node, ["a1 a2", "a1 a2 none!"]), (None, ["", "none!"])] {
        let unlisted = UnlistedNode { node, placed: Arc::new(Placed::new(vec![Arc::clone(&placed)])) };
        let cluster = cluster(&[]).with_unlisted(Arc::new([(Arc::from("a3"), unlisted)].into_iter().collect()));
        assert_eq!(rejected("InterPodAffinity", &json!({}), &cluster), expected[0]);
        assert_eq!(rejected("PodTopologySpread", &spread, &cluster), expected[1]);
    }
}
