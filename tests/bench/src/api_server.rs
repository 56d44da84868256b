//! As much of an API server as a first list needs: large objects in pages, made while they are sent.

use std::{io, net::SocketAddr};

use plimsoll_harness::http::{self, Request};
use serde_json::{Value, json};

use crate::world;

/// About what kubelet reports of a node; most of it are images.
const NODE_BYTES: usize = 15_000;

/// Pods of one deployment have their labels in common.
const REPLICAS: usize = 100;

/// A cluster of this many nodes and placed pods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) nodes: usize,
    pub(crate) pods: usize,
}

/// Serves lists until the process ends; watches are opened and say nothing.
pub(crate) fn serve(size: Size) -> io::Result<SocketAddr> {
    http::serve(move |request, stream| {
        if request.parameter("watch") == Some("true") {
            http::open_reply(stream)?;
            return http::stay_silent(stream);
        }
        http::reply(stream, 200, &page(request, size))
    })
}

/// The page that a URL asks for; its token is where the next one begins.
fn page(request: &Request, size: Size) -> String {
    let (from, limit) = (request.number("continue").unwrap_or(0), request.number("limit").unwrap_or(usize::MAX));
    let is_nodes = request.path() == "/api/v1/nodes";
    let all = if is_nodes { size.nodes } else { size.pods };
    let to = all.min(from.saturating_add(limit));
    let next = if to < all { to.to_string() } else { String::new() };
    let items = if is_nodes { (from..to).map(node).collect() } else { pods(from, to, size.nodes) };
    let metadata = json!({"resourceVersion": "1000000", "continue": next});
    format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{metadata},"items":[{}]}}"#, items.join(","))
}

fn node(number: usize) -> String {
    let mut node = world::node(number, NODE_BYTES);
    node["metadata"]["resourceVersion"] = json!(number.to_string());
    node["metadata"]["managedFields"] = managed_fields();
    node.to_string()
}

/// Pods by number; those of one deployment differ in a few places of one text.
fn pods(from: usize, to: usize, nodes: usize) -> Vec<String> {
    let mut pods = Vec::with_capacity(to - from);
    let mut template = (usize::MAX, String::new());
    for number in from..to {
        let app = number / REPLICAS;
        if template.0 != app {
            template = (app, pod(app).to_string());
        }
        let address = format!("10.{}.{}.{}", number >> 16, (number >> 8) & 255, number & 255);
        let text = template.1.replace("{node}", &world::name(number % nodes)).replace("{address}", &address);
        pods.push(text.replace("{short}", &format!("{number:08x}")).replace("{long}", &format!("{number:064x}")));
    }
    pods
}

/// A pod as a deployment, admission plugins, the network plugin and kubelet leave it: some 7,000 bytes. Its own values
/// stand in braces.
fn pod(app: usize) -> Value {
    json!({
        "metadata": pod_metadata(app),
        "spec": {
            "nodeName": "{node}", "priority": app % 3 * 1000, "schedulerName": "default-scheduler",
            "containers": [container("main", app), container("proxy", app)],
            "volumes": [
                {"name": "config", "configMap": {"name": format!("service-{app}"), "defaultMode": 420}},
                {"name": "kube-api-access", "projected": {"sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}], "defaultMode": 420}}],
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
            "serviceAccountName": "default", "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30, "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": pod_status(app),
    })
}

/// Labels are those of the deployment; the values of the network plugin are of this pod alone.
fn pod_metadata(app: usize) -> Value {
    json!({
        "name": format!("service-{app}-6d8f7c9b5d-{{short}}"), "generateName": format!("service-{app}-6d8f7c9b5d-"),
        "namespace": format!("team-{}", app % 200), "uid": "{short}-1111-4222-8333-444444444444",
        "resourceVersion": "1000000", "creationTimestamp": time(app),
        "labels": {
            "app.kubernetes.io/name": format!("service-{app}"), "app.kubernetes.io/instance": format!("service-{app}-prod"),
            "app.kubernetes.io/version": format!("1.{}", app % 40), "app.kubernetes.io/managed-by": "Helm",
            "pod-template-hash": "6d8f7c9b5d"},
        "annotations": {
            "checksum/config": format!("{app:064x}"), "prometheus.io/port": "8080", "prometheus.io/scrape": "true",
            "cni.projectcalico.org/containerID": "{long}",
            "cni.projectcalico.org/podIP": "{address}/32", "cni.projectcalico.org/podIPs": "{address}/32"},
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("service-{app}-6d8f7c9b5d"),
            "uid": format!("{app:08x}-aaaa-4222-8333-444444444444"), "controller": true, "blockOwnerDeletion": true}],
        "managedFields": managed_fields(),
    })
}

fn container(name: &str, app: usize) -> Value {
    json!({
        "name": name, "image": image(name, app), "args": ["--config=/etc/service/config.yaml", "--log-format=json"],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "REGION", "value": "eu-1"}],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": format!("{}m", 50 + app % 16 * 50), "memory": format!("{}Mi", 64 + app % 8 * 64)},
            "limits": {"memory": "1Gi"}},
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/service"},
            {"name": "kube-api-access", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true},
    })
}

fn pod_status(app: usize) -> Value {
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": time(app)});
    let kinds = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    let container = |name: &str| {
        json!({
            "name": name, "ready": true, "restartCount": 0, "started": true, "image": image(name, app),
            "imageID": format!("registry.example.com/team/{name}-{app}@sha256:{app:064x}"),
            "containerID": "containerd://{long}", "state": {"running": {"startedAt": time(app)}}})
    };
    let (conditions, containers) = (kinds.map(condition), ["main", "proxy"].map(container));
    json!({
        "phase": "Running", "qosClass": "Burstable", "hostIP": "192.168.1.1", "startTime": time(app),
        "conditions": conditions, "containerStatuses": containers,
    })
}

fn image(name: &str, app: usize) -> String {
    format!("registry.example.com/team/{name}-{app}:1.{}", app % 40)
}

fn time(number: usize) -> String {
    format!("2026-0{}-1{}T0{}:00:00Z", 1 + number % 9, number / 9 % 10, number / 90 % 10)
}

/// The managers of the fields: about as long as for a Deployment's pod.
fn managed_fields() -> Value {
    let fields: serde_json::Map<String, Value> =
        (0..24).map(|at| (format!("f:field-number-{at}"), json!({".": {}, "f:type": {}}))).collect();
    json!([{"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": fields}, "subresource": "status"}])
}
