//! plimsoll watches the cluster by itself: its view, its readiness, and the failures that it survives.

use std::{collections::BTreeSet, fs};

use plimsoll_e2e::{ControlPlane, node, pod};
use plimsoll_harness::{Plimsoll, Reply, tempdir, wait_until, workspace};
use serde_json::{Value, json};

use crate::{lay_policies, with_nodes};

#[test]
fn policies_decide_where_pods_land_by_the_watched_cluster() {
    let (cluster, policies) = (with_nodes(), tempdir().unwrap());
    lay_policies(policies.path());
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &[]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &[]).unwrap();
    crate::landing::all_land_where_they_may(&cluster);

    // A zone that was not there when the watch began, and one that goes.
    cluster.create_node(&node("late", "d", "shared")).unwrap();
    wait_for_gauge(&gateway, "plimsoll_cluster_nodes", 7);
    let in_zone_d = json!({"nodeSelector": {"topology.kubernetes.io/zone": "d"}});
    cluster.create(&pod("web", "late", "1", &in_zone_d)).unwrap();
    assert_eq!(cluster.node_of("web", "late").unwrap(), "late");
    cluster.kubectl(&["delete", "pod", "-n", "web", "late"]).unwrap();
    cluster.kubectl(&["delete", "node", "late"]).unwrap();
    wait_for_gauge(&gateway, "plimsoll_cluster_nodes", 6);
    let asked = json!({"Pod": pod("web", "p", "1", &Value::Null), "NodeNames": ["late", "shared-a"]});
    let reply = gateway.ask("/filter", &asked).unwrap();
    assert_eq!(reply["NodeNames"], json!(["shared-a"]), "{reply}");
    assert_eq!(reply["FailedAndUnresolvableNodes"]["late"], "plimsoll: node not seen yet", "{reply}");
    cluster.create_node(&node("late", "d", "shared")).unwrap();
    cluster.create(&pod("web", "again", "1", &in_zone_d)).unwrap();
    assert_eq!(cluster.node_of("web", "again").unwrap(), "late");
}

#[test]
fn a_heartbeat_of_a_node_is_no_change() {
    let (cluster, policies) = (with_nodes(), tempdir().unwrap());
    lay_policies(policies.path());
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &[]).unwrap();
    let published = gauge(&gateway, "plimsoll_cluster_published_total").unwrap();
    for second in 10..20 {
        let beat = json!({"status": {"conditions": [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": format!("2026-01-01T00:00:{second}Z")}]}});
        let patch = beat.to_string();
        let args = ["patch", "node", "shared-a", "--subresource=status", "--type=merge", "--patch", &patch];
        cluster.kubectl(&args).unwrap();
    }
    let events = "plimsoll_watch_events_total{resource=\"nodes\"}";
    wait_until("ten heartbeats", || gauge(&gateway, events).filter(|events| *events >= 10)).unwrap();
    assert_eq!(gauge(&gateway, "plimsoll_cluster_published_total"), Some(published));
    cluster.kubectl(&["label", "node", "shared-a", "example.com/changed=yes"]).unwrap();
    wait_for_gauge(&gateway, "plimsoll_cluster_published_total", published + 1);
}

#[test]
fn a_claim_is_a_change_once_it_is_bound_and_when_it_is_gone() {
    let (cluster, policies) = (with_nodes(), tempdir().unwrap());
    lay_policies(policies.path());
    let claim = |name: &str, annotations: &Value| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    };
    let bound = json!({"pv.kubernetes.io/bind-completed": "yes"});
    cluster.create(&claim("listed", &bound)).unwrap();
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &[]).unwrap();
    let published = gauge(&gateway, "plimsoll_cluster_published_total").unwrap();
    cluster.create(&claim("data", &Value::Null)).unwrap();
    cluster.kubectl(&["label", "pvc", "data", "listed", "example.com/changed=yes"]).unwrap();
    wait_for_gauge(&gateway, "plimsoll_watch_events_total{resource=\"claims\"}", 3);
    assert_eq!(gauge(&gateway, "plimsoll_cluster_published_total"), Some(published));
    cluster.kubectl(&["annotate", "pvc", "data", "pv.kubernetes.io/bind-completed=yes"]).unwrap();
    wait_for_gauge(&gateway, "plimsoll_cluster_published_total", published + 1);
    // Nothing protects it: no controller runs.
    let finalizers = json!({"metadata": {"finalizers": null}}).to_string();
    cluster.kubectl(&["patch", "pvc", "listed", "--type=merge", "--patch", &finalizers]).unwrap();
    cluster.kubectl(&["delete", "pvc", "listed"]).unwrap();
    wait_for_gauge(&gateway, "plimsoll_cluster_published_total", published + 2);
}

#[test]
fn the_api_server_is_killed_and_comes_back_and_every_pod_is_bound_once() {
    let (mut cluster, policies) = (with_nodes(), tempdir().unwrap());
    lay_policies(policies.path());
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &["--max-staleness", "4s"]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &[]).unwrap();
    let create = |cluster: &ControlPlane, names: &[String]| {
        for name in names {
            // The one before may have been written without an answer.
            let create = || {
                let created = cluster.create(&pod("web", name, "100m", &Value::Null));
                created.map_or_else(|error| error.to_string().contains("AlreadyExists").then_some(()), Some)
            };
            wait_until("a pod to be created", create).unwrap();
        }
    };
    let names = |stage: &str| (0..10).map(|at| format!("{stage}-{at}")).collect::<Vec<_>>();
    create(&cluster, &names("before"));
    cluster.kill_api_server();
    // The gateway goes on answering with what it knows; but not for ever.
    let asked = json!({"Pod": pod("web", "p", "1", &Value::Null), "NodeNames": ["shared-a", "shared-c"]});
    let reply = gateway.ask("/filter", &asked).unwrap();
    assert_eq!(reply["NodeNames"], json!(["shared-a"]), "zone c is being drained: {reply}");
    let says = |reply: &Reply| {
        ["nodes have not", "pods have not"].iter().all(|what| reply.body.contains(&format!("{what} been heard of for")))
    };
    let stale = || gateway.get("/readyz").ok().filter(says);
    let stale = wait_until("plimsoll to say that it is stale", stale).unwrap();
    assert!(stale.status == 503 && stale.body.contains("cannot be reached"), "{stale:?}");

    cluster.start_api_server().unwrap();
    create(&cluster, &names("during"));
    wait_until("plimsoll to be ready", || gateway.get("/readyz").ok().filter(|reply| reply.status == 200)).unwrap();
    create(&cluster, &names("after"));

    let mut landed = BTreeSet::new();
    for name in ["before", "during", "after"].into_iter().flat_map(names) {
        let node = cluster.node_of("web", &name).unwrap();
        assert!(["shared-a", "shared-b"].contains(&node.as_str()), "{name} is on {node}");
        landed.insert(name);
    }
    assert_eq!(landed.len(), 30);
    // kube-scheduler tells of each binding that it made; some of it is lost with the API server.
    let told = [
        "get",
        "events",
        "-n",
        "web",
        "--field-selector=reason=Scheduled",
        "-o",
        "jsonpath={.items[*].involvedObject.name}",
    ];
    let told = cluster.kubectl(&told).unwrap();
    let bound: Vec<&str> = told.split_whitespace().collect();
    assert!(bound.len() >= 20, "{told}");
    assert_eq!(bound.iter().collect::<BTreeSet<_>>().len(), bound.len(), "a pod was bound twice: {told}");
    wait_for_gauge(&gateway, "plimsoll_cluster_pods", 30);
}

#[test]
fn it_is_not_ready_before_the_api_server_answers() {
    let (mut cluster, policies) = (with_nodes(), tempdir().unwrap());
    lay_policies(policies.path());
    cluster.kill_api_server();
    let kubeconfig = cluster.kubeconfig();
    let gateway =
        Plimsoll::serve(policies.path(), &["--no-compile-cache", "--kubeconfig", kubeconfig.to_str().unwrap()])
            .unwrap();
    let refused = || gateway.get("/readyz").ok().filter(|reply| reply.body.contains("cannot be reached"));
    let reply = wait_until("a reason", refused).unwrap();
    assert_eq!(reply.status, 503);
    assert!(reply.body.contains("nodes are not listed yet"), "{reply:?}");
    let asked = json!({"Pod": pod("web", "p", "1", &Value::Null), "NodeNames": ["shared-a"]});
    let early = gateway.ask("/filter", &asked).unwrap();
    assert!(early["Error"].as_str().unwrap().contains("wait until it is ready"), "{early}");

    cluster.start_api_server().unwrap();
    wait_until("plimsoll to be ready", || gateway.get("/readyz").ok().filter(|reply| reply.status == 200)).unwrap();
    let reply = gateway.ask("/filter", &asked).unwrap();
    assert_eq!(reply["NodeNames"], json!(["shared-a"]), "{reply}");
}

/// The role is the one that `docs/operations.md` prints.
#[test]
fn the_documented_role_is_enough_and_what_is_missing_is_said() {
    let (cluster, directory) = (ControlPlane::start_with_rbac().unwrap(), tempdir().unwrap());
    cluster.create_node(&node("n1", "a", "shared")).unwrap();
    let page = fs::read_to_string(workspace().join("docs/operations.md")).unwrap();
    let rules = page.split("```yaml\nrules:").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: watcher}";
    let (file, kubeconfig) = (directory.path().join("role.yaml"), directory.path().join("kubeconfig"));
    fs::write(&file, format!("{role}\nrules:{rules}")).unwrap();
    cluster.kubectl(&["create", "-f", file.to_str().unwrap()]).unwrap();
    cluster.kubectl(&["create", "serviceaccount", "-n", "default", "watcher"]).unwrap();
    let token = cluster.kubectl(&["create", "token", "-n", "default", "watcher"]).unwrap();
    let mut config: Value = serde_json::from_str(&fs::read_to_string(cluster.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = json!({"token": token.trim()});
    fs::write(&kubeconfig, config.to_string()).unwrap();

    let policies = directory.path().join("policies");
    fs::create_dir(&policies).unwrap();
    lay_policies(&policies);
    let gateway =
        Plimsoll::serve(&policies, &["--no-compile-cache", "--kubeconfig", kubeconfig.to_str().unwrap()]).unwrap();
    let refused = || gateway.get("/readyz").ok().filter(|reply| reply.body.contains("answered 403: pods is forbidden"));
    assert_eq!(wait_until("the refusal", refused).unwrap().status, 503);
    let account = "--serviceaccount=default:watcher";
    cluster.kubectl(&["create", "clusterrolebinding", "watcher", "--clusterrole=watcher", account]).unwrap();
    wait_until("plimsoll to be ready", || gateway.get("/readyz").ok().filter(|reply| reply.status == 200)).unwrap();
    assert_eq!(gauge(&gateway, "plimsoll_cluster_nodes"), Some(1));
}

#[test]
fn run_puts_a_pod_to_the_policies_on_the_cluster_as_it_is_now() {
    let (cluster, directory) = (with_nodes(), tempdir().unwrap());
    let (policies, file) = (directory.path().join("policies"), directory.path().join("pod.json"));
    fs::create_dir(&policies).unwrap();
    lay_policies(&policies);
    fs::write(&file, pod("web", "p", "1", &Value::Null).to_string()).unwrap();
    let output = plimsoll_harness::command()
        .args(["run", "--no-compile-cache", "--output", "json", "--kubeconfig"])
        .arg(cluster.kubeconfig())
        .arg("--policies")
        .arg(&policies)
        .arg("--pod")
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    for name in ["shared-a", "team-a-c"] {
        assert!(printed.contains(name), "{printed}");
    }
}

fn gauge(gateway: &Plimsoll, name: &str) -> Option<u64> {
    let metrics = gateway.get("/metrics").ok()?.body;
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.parse().ok()
}

fn wait_for_gauge(gateway: &Plimsoll, name: &str, value: u64) {
    wait_until(&format!("{name} to be {value}"), || (gauge(gateway, name)? == value).then_some(())).unwrap();
}
