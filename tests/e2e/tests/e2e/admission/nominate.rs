//! The chart's `nominate.yaml` on a real API server: what plimsoll's account can do to a pod.

use std::{fs, path::PathBuf};

use plimsoll_e2e::{ControlPlane, pod, render};
use plimsoll_harness::{TempDir, tempdir, wait_until};
use serde_json::{Value, json};

const NOTHING_ELSE: &str = "plimsoll changes status.nominatedNodeName and nothing else";
const OF_ITS_OWN: &str = "plimsoll makes, changes or takes back a nomination of its own";
const NOT_WAITING: &str = "plimsoll nominates no pod that has a node or a scheduling gate, or is being deleted";

/// Changes beside a nomination that would be allowed.
const FORBIDDEN: [&str; 15] = [
    r#"{"metadata": {"labels": {"app": "other"}}}"#,
    r#"{"metadata": {"labels": null}}"#,
    r#"{"metadata": {"annotations": {"example.com/gpu-device": "0"}}}"#,
    r#"{"metadata": {"annotations": null}}"#,
    r#"{"metadata": {"finalizers": ["example.com/hold"]}}"#,
    r#"{"status": {"phase": "Running"}}"#,
    r#"{"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}}"#,
    r#"{"status": {"conditions": null}}"#,
    r#"{"status": {"podIPs": [{"ip": "192.0.2.1"}]}}"#,
    r#"{"status": {"hostIP": "192.0.2.1"}}"#,
    r#"{"status": {"startTime": "2026-01-01T00:00:00Z"}}"#,
    r#"{"status": {"message": "m"}}"#,
    r#"{"status": {"reason": "Evicted"}}"#,
    r#"{"status": {"resize": "Proposed"}}"#,
    r#"{"status": {"containerStatuses": [{"name": "main", "image": "i", "imageID": "i", "ready": true, "restartCount": 0,
        "allocatedResources": {"cpu": "64"}, "resources": {"requests": {"cpu": "64"}}}]}}"#,
];

/// Claims nominations for plimsoll.
const CLAIM: &str = r#"{"metadata": {"managedFields": [
    {"manager": "plimsoll", "operation": "Update", "subresource": "status", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:nominatedNodeName": {}}}},
    {"manager": "plimsoll", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:nominatedNodeName": {}}}}]}}"#;

/// The API server ignores it in a request to `pods/status`.
const IGNORED: &str = r#"{"spec": {"nodeName": "node-1", "schedulingGates": [{"name": "example.com/gate"}]},
    "metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}}"#;

/// The pod, a merge patch, and the words of the refusal.
const REFUSED: [(&str, &str, &str); 9] = [
    // New API servers say it themselves.
    ("placed", r#"{"status": {"nominatedNodeName": "node-1"}}"#, " a node"),
    ("gated", r#"{"status": {"nominatedNodeName": "node-1"}}"#, NOT_WAITING),
    ("leaves", r#"{"status": {"nominatedNodeName": "node-1"}}"#, NOT_WAITING),
    ("preempts", r#"{"status": {"nominatedNodeName": "node-1"}}"#, OF_ITS_OWN),
    ("preempts", r#"{"status": {"nominatedNodeName": null}}"#, OF_ITS_OWN),
    ("preempts", r#"{"metadata": {"managedFields": [{}]}}"#, OF_ITS_OWN),
    ("preempts", CLAIM, OF_ITS_OWN),
    ("waits", IGNORED, OF_ITS_OWN),
    ("waits", r#"{"status": {"nominatedNodeName": ""}}"#, OF_ITS_OWN),
];

#[test]
fn plimsolls_account_nominates_waiting_pods_and_changes_nothing_else() {
    let cluster = ControlPlane::start_with_rbac().unwrap();
    let account = Account::install(&cluster);
    wait_until("the policy to be in force", || {
        let change = json!({"metadata": {"labels": {"changed": "yes"}}});
        account.write("merge", "probe", &change).err().filter(|error| error.contains("plimsoll makes"))
    })
    .unwrap();
    // The same as kube-scheduler: the policy is about one account.
    as_scheduler(&cluster, "preempts", &json!("node-9"));

    let before = read(&cluster, "waits");
    for change in FORBIDDEN {
        let mut change: Value = serde_json::from_str(change).unwrap();
        change["status"]["nominatedNodeName"] = "node-1".into();
        let ways = ["merge", "strategic", "json", "replace"].into_iter();
        for way in ways.chain((!change.to_string().contains("null")).then_some("apply")) {
            let refused = account.write(way, "waits", &change);
            assert!(matches!(&refused, Err(error) if error.contains(NOTHING_ELSE)), "{way} {change}: {refused:?}");
        }
    }
    for (pod, change, expected) in REFUSED {
        let refused = account.write("merge", pod, &serde_json::from_str(change).unwrap());
        assert!(matches!(&refused, Err(error) if error.contains(expected)), "{pod} {change}: {refused:?}");
    }
    // Nothing of these requests has stayed.
    assert_eq!(read(&cluster, "waits"), before);

    // Own nominations are made, changed and taken back; another's is left alone, whatever was claimed before.
    for more in ["{}", CLAIM, IGNORED] {
        let mut change: Value = serde_json::from_str(more).unwrap();
        for (by_scheduler, nomination, is_allowed) in [
            (false, json!("node-1"), true),
            (false, json!("node-2"), true),
            (false, Value::Null, true),
            (false, json!("node-1"), true),
            (true, json!("node-2"), true),
            (false, json!("node-1"), false),
            (false, Value::Null, false),
            (true, Value::Null, true),
            (false, json!("node-1"), true),
            (false, Value::Null, true),
        ] {
            if by_scheduler {
                as_scheduler(&cluster, "waits", &nomination);
            } else {
                change["status"]["nominatedNodeName"] = nomination;
                let written = account.write("json", "waits", &change);
                assert_eq!(written.is_ok(), is_allowed, "{change}: {written:?}");
            }
        }
    }
    assert_eq!(read(&cluster, "waits"), before);
}

/// plimsoll's account, as the chart makes it.
struct Account<'c> {
    cluster: &'c ControlPlane,
    kubeconfig: PathBuf,
    directory: TempDir,
}

// === impl Account ===

impl<'c> Account<'c> {
    /// Applies the plain chart, and creates a pod of each kind in the namespace `plimsoll`.
    fn install(cluster: &'c ControlPlane) -> Self {
        let directory = tempdir().unwrap();
        cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plimsoll"}})).unwrap();
        let manifest = directory.path().join("plimsoll.yaml");
        fs::write(&manifest, render(None).unwrap()).unwrap();
        cluster.kubectl(&["apply", "--server-side", "-f", manifest.to_str().unwrap()]).unwrap();
        // More than the chart grants: kubectl reads before it patches, and the policy is also to hold for PUT.
        let role = ["create", "clusterrole", "more", "--verb=get,update", "--resource=pods/status"];
        cluster.kubectl(&role).unwrap();
        let bound =
            ["create", "clusterrolebinding", "more", "--clusterrole=more", "--serviceaccount=plimsoll:plimsoll"];
        cluster.kubectl(&bound).unwrap();
        for (name, spec) in [
            ("probe", json!({})),
            ("waits", json!({})),
            ("preempts", json!({})),
            ("placed", json!({"nodeName": "node-1"})),
            ("gated", json!({"schedulingGates": [{"name": "example.com/gate"}]})),
            ("leaves", json!({})),
        ] {
            let mut pod = pod("plimsoll", name, "1", &spec);
            // The policy compares all of it, within the API server's bound of CEL.
            pod["metadata"]["annotations"] = json!({"example.com/large": "x".repeat(200_000)});
            if name == "leaves" {
                pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
            }
            cluster.create(&pod).unwrap();
        }
        cluster.kubectl(&["delete", "pod", "-n", "plimsoll", "leaves", "--wait=false"]).unwrap();
        let condition = json!({"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}).to_string();
        let of_status = ["--subresource=status", "--type=merge", "--patch", &condition];
        cluster.kubectl(&[&["patch", "pod", "-n", "plimsoll", "waits"], &of_status[..]].concat()).unwrap();
        let kubeconfig = cluster.kubeconfig_of("plimsoll", "plimsoll").unwrap();
        Self { cluster, kubeconfig, directory }
    }

    /// Writes fields of the metadata, the spec or the status through `pods/status`; `null` removes one.
    fn write(&self, way: &str, pod: &str, change: &Value) -> Result<String, String> {
        let object = match way {
            "json" => return self.patch(way, pod, &json_patch(change)),
            "merge" | "strategic" => return self.patch(way, pod, change),
            "apply" => json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}}),
            "replace" => serde_json::from_str(
                &self.cluster.kubectl(&["get", "pod", "-n", "plimsoll", pod, "-o", "json"]).unwrap(),
            )
            .unwrap(),
            other => panic!("there is no way {other}"),
        };
        let file = self.directory.path().join("object.json");
        fs::write(&file, changed(object, pod, change).to_string()).unwrap();
        let file = ["-f", file.to_str().unwrap()];
        match way {
            "apply" => self
                .kubectl(&[&["apply", "--server-side", "--force-conflicts", "--validate=false"], &file[..]].concat()),
            _ => self.kubectl(&[&["replace", "--validate=false"], &file[..]].concat()),
        }
    }

    fn patch(&self, kind: &str, pod: &str, patch: &Value) -> Result<String, String> {
        self.kubectl(&["patch", "pod", pod, "--type", kind, "--patch", &patch.to_string()])
    }

    fn kubectl(&self, args: &[&str]) -> Result<String, String> {
        let kubeconfig = self.kubeconfig.to_str().unwrap();
        let of_all = ["--kubeconfig", kubeconfig, "-n", "plimsoll", "--subresource=status", "--field-manager=plimsoll"];
        self.cluster.kubectl(&[args, &of_all].concat()).map_err(|error| format!("{error:#}"))
    }
}

/// Fields of two levels, and their values.
fn fields(change: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let sections = change.as_object().into_iter().flatten();
    sections.flat_map(|(section, fields)| {
        fields.as_object().into_iter().flatten().map(move |(key, value)| (section, key, value))
    })
}

fn json_patch(change: &Value) -> Value {
    let operation = |(section, key, value): (&String, &String, &Value)| {
        let operation = if value.is_null() { "remove" } else { "add" };
        json!({"op": operation, "path": format!("/{section}/{key}"), "value": value})
    };
    fields(change).map(operation).collect()
}

fn changed(mut object: Value, pod: &str, change: &Value) -> Value {
    object["metadata"]["name"] = pod.into();
    for (section, key, value) in fields(change) {
        if value.is_null() {
            object[section].as_object_mut().unwrap().remove(key);
        } else {
            object[section][key] = value.clone();
        }
    }
    object
}

/// Sets the nomination of a pod as kube-scheduler does.
fn as_scheduler(cluster: &ControlPlane, pod: &str, nomination: &Value) {
    let patch = json!({"status": {"nominatedNodeName": nomination}}).to_string();
    let args = ["--subresource=status", "--field-manager=kube-scheduler", "--type=strategic", "--patch", &patch];
    cluster.kubectl(&[&["patch", "pod", "-n", "plimsoll", pod], &args[..]].concat()).unwrap();
}

/// A pod, without what every write changes.
fn read(cluster: &ControlPlane, pod: &str) -> Value {
    let printed = cluster.kubectl(&["get", "pod", "-n", "plimsoll", pod, "-o", "json"]).unwrap();
    let mut pod: Value = serde_json::from_str(&printed).unwrap();
    pod["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    pod
}
