//! Claims, and a provisioner for them.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tokio::time::interval;

use crate::api::{Api, Task};

/// The driver of all volumes.
pub(crate) const DRIVER: &str = "disk.example.com";

/// The interval at which the provisioner looks at the claims.
const LOOK: Duration = Duration::from_millis(200);

fn claims(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}

fn claim(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "disk",
        "resources": {"requests": {"storage": "1Gi"}}}})
}

/// What a pod with a claim has in its spec.
pub(crate) fn mounts(claim: &str) -> Value {
    json!([{"name": "disk", "persistentVolumeClaim": {"claimName": claim}}])
}

/// Creates claims with a volume each that every node reaches.
pub(crate) async fn create_bound(api: &Api, namespace: &str, names: &[String]) -> Result<()> {
    api.create(&claims(namespace), names.iter().map(|name| claim(name))).await?;
    let provision = async |name: &String| provision(api, namespace, name, None).await;
    stream::iter(names).map(provision).buffer_unordered(16).try_collect().await
}

/// Creates claims that bind late: to a volume that is made for the node of their pod.
pub(crate) async fn create_late(api: &Api, namespace: &str, names: &[String]) -> Result<()> {
    api.create(&claims(namespace), names.iter().map(|name| claim(name))).await
}

/// Provisions what claims of `default` wait for as soon as kube-scheduler has chosen a node, until the task is dropped;
/// `reach` tells the label of the nodes that reach a volume for a node.
pub(crate) async fn provisioner(api: &Api, reach: fn(&str) -> Option<(&'static str, String)>) -> Result<Task> {
    let class =
        json!({"metadata": {"name": "disk"}, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"});
    api.create("/apis/storage.k8s.io/v1/storageclasses", [class]).await?;
    let api = api.clone();
    Ok(Task::spawn(async move {
        let mut ticks = interval(LOOK);
        loop {
            ticks.tick().await;
            for (claim, node) in selected(&api).await? {
                let label = reach(&node);
                let label = label.as_ref().map(|(key, value)| (*key, value.as_str()));
                provision(&api, "default", &claim, label).await?;
            }
        }
    }))
}

/// The claims that have a node and no volume yet, with it.
async fn selected(api: &Api) -> Result<Vec<(String, String)>> {
    let list = api.get(&claims("default")).await?;
    let waiting = list["items"].as_array().into_iter().flatten().filter(|claim| claim["spec"]["volumeName"].is_null());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let selected = waiting.filter_map(|claim| {
        let node = text(&claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"])?;
        Some((text(&claim["metadata"]["name"])?, node))
    });
    Ok(selected.collect())
}

/// The claims of `default` that have a volume.
pub(crate) async fn provisioned(api: &Api) -> Result<BTreeSet<String>> {
    let list = api.get(&claims("default")).await?;
    let bound = list["items"].as_array().into_iter().flatten().filter(|claim| !claim["spec"]["volumeName"].is_null());
    Ok(bound.filter_map(|claim| claim["metadata"]["name"].as_str().map(str::to_owned)).collect())
}

/// Binds a claim to a new volume, as provisioner and controller would; nodes reach it that have the label, if one is
/// given.
async fn provision(api: &Api, namespace: &str, claim: &str, label: Option<(&str, &str)>) -> Result<()> {
    let path = format!("{}/{claim}", claims(namespace));
    let object = api.get(&path).await?;
    let claimed = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace, "name": claim,
        "uid": object["metadata"]["uid"]});
    let name = format!("{namespace}-{claim}");
    let mut volume = json!({"metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "disk",
            "csi": {"driver": DRIVER, "volumeHandle": name}, "claimRef": claimed}});
    if let Some((key, value)) = label {
        let term = json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]});
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [term]}});
    }
    api.create("/api/v1/persistentvolumes", [volume]).await?;
    let bound = json!({"status": {"phase": "Bound"}});
    api.patch(&format!("/api/v1/persistentvolumes/{name}/status"), &bound).await?;
    let done = json!({"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"});
    api.patch(&path, &json!({"metadata": {"annotations": done}, "spec": {"volumeName": name}})).await?;
    let status = json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}});
    api.patch(&format!("{path}/status"), &json!({"status": status})).await
}
