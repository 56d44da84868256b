//! The Helm chart: it refuses bad values, and the API server accepts the manifests that it renders.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use plimsoll_e2e::{ControlPlane, chart, helm, objects, of_kind, render, scheduler_config, value_files};
use plimsoll_harness::{binary, policies, tempdir, wait_until, workspace};
use serde_json::{Value, json};

/// The values, and what helm says against them.
const REFUSED: [(&str, &str); 22] = [
    ("replicas=0", "/replicas"),
    ("replica=3", "'replica' not allowed"),
    ("mode=snapshot", "'watch', 'fullNodes'"),
    ("requestTimeout=4", "/requestTimeout"),
    ("image.digest=latest", "/image/digest"),
    ("policies.from=claim", "/policies/claim"),
    ("policies.from=image", "/policies/image"),
    ("policies.from=volume", "/policies/volume"),
    ("policies.configMaps=null", "configMaps"),
    ("policies.configMaps[0].name=p,policies.configMaps[0].group=gpu", "'keys' required"),
    ("policies.subDirectory=../etc", "/policies/subDirectory"),
    ("tls.clientCA.secret=ca", "/tls/secret"),
    // The right to bind does not go with a port that is open to anybody.
    ("bind.enabled=true", "bind.withoutAuthentication if everybody who reaches the extender port"),
    ("mode=fullNodes,bind.enabled=true,bind.withoutAuthentication=true", "with mode: fullNodes plimsoll cannot bind"),
    ("bind.enabled=true,tls.secret=t", "set tls.secret and tls.clientCA.secret"),
    ("bind.clients[0]=a\\,b", "/bind/clients/0"),
    ("podDisruptionBudget.maxUnavailable=half", "/podDisruptionBudget/maxUnavailable"),
    ("schedulerName=plimsoll-scheduler", "without plimsoll it would not place plimsoll's pods"),
    ("schedulers.second.enabled=true,tls.secret=t", "set schedulers.second.tlsSecret"),
    ("facts.secrets[0]=../etc", "/facts/secrets/0"),
    ("facts.sources.a b.file.path=a.csv", "invalid propertyName 'a b'"),
    (
        "mode=fullNodes,facts.sources.a.configMap.namespace=b,facts.sources.a.configMap.name=c",
        "with mode: fullNodes plimsoll has no access to the API",
    ),
];

#[test]
fn lint_finds_nothing_whatever_the_values() {
    let chart = chart().display().to_string();
    helm(&["lint", "--strict", &chart]).unwrap();
    for file in value_files().unwrap() {
        helm(&["lint", "--strict", &chart, "--values", file.to_str().unwrap()]).unwrap();
    }
}

#[test]
fn values_that_break_the_schema_are_refused_by_name() {
    let chart = chart().display().to_string();
    for (set, complaint) in REFUSED {
        let error = helm(&["template", &chart, "--set", set]).unwrap_err().to_string();
        assert!(error.contains(complaint), "{set}: {error}");
    }
}

#[test]
fn every_value_is_described() {
    let values: Value = serde_saphyr::from_str(&fs::read_to_string(chart().join("values.yaml")).unwrap()).unwrap();
    let schema: Value = serde_json::from_slice(&fs::read(chart().join("values.schema.json")).unwrap()).unwrap();
    described("", &values, &schema);
}

/// `UPDATE_MANIFEST=1` rewrites the manifest.
#[test]
fn the_plain_manifest_is_what_the_chart_renders() {
    let file = workspace().join("deploy/plimsoll.yaml");
    let about =
        "# Made by `UPDATE_MANIFEST=1 make e2e` from deploy/chart, for those who do without Helm. Do not edit it.\n";
    // Nobody who applies it with kubectl has Helm manage it.
    let rendered = render(None).unwrap().replace("managed-by: Helm", "managed-by: kubectl");
    let manifest = format!("{about}{rendered}");
    if std::env::var_os("UPDATE_MANIFEST").is_some() {
        fs::write(&file, &manifest).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == manifest, "deploy/plimsoll.yaml is old: UPDATE_MANIFEST=1 writes it");
}

#[test]
fn the_binary_takes_every_argument_that_the_chart_gives_it() {
    for (values, objects) in renderings() {
        let container = &of_kind(&objects, "Deployment").unwrap()["spec"]["template"]["spec"]["containers"][0];
        let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        // Help is printed once everything before it is understood.
        let output = Command::new(binary()).args(args).arg("--help").output().unwrap();
        assert!(output.status.success(), "{values:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_notes_tell_the_command_that_prints_the_stanza() {
    let chart = chart().display().to_string();
    for (set, flags) in [
        ("mode=watch", "--url http://"),
        ("mode=fullNodes", "--full-nodes"),
        ("bind.enabled=false", "--no-bind"),
        ("bind.enabled=true,bind.withoutAuthentication=true", "--url http://"),
        ("bind.enabled=true,tls.secret=t,tls.clientCA.secret=c", "--cert-file=/etc/kubernetes/plimsoll/client.crt"),
        ("tls.secret=t", "--server-name=plimsoll.plimsoll.svc"),
    ] {
        let args = ["install", "plimsoll", &chart, "--dry-run=client", "--namespace", "plimsoll", "--set", set];
        let printed = helm(&args).unwrap();
        let (_, notes) = printed.split_once("NOTES:").unwrap();
        let (_, command) =
            notes.replace("\\\n", " ").split_once("-- plimsoll ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let command = command.lines().next().unwrap();
        assert!(command.contains(flags), "{set}: {command}");
        let binds = set.contains("bind.enabled=true") || set.contains("fullNodes");
        assert_eq!(command.contains("--no-bind"), !binds, "{set}: {command}");
        let words = command.split_whitespace().take_while(|word| !word.contains('$'));
        let output = Command::new(binary()).args(words).args(["http://10.96.0.42:8888", "--help"]).output().unwrap();
        assert!(output.status.success(), "{set}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn sources_of_facts_come_with_the_rights_and_the_file_that_they_need() {
    let objects = objects(&render(Some(&chart().join("ci/facts.yaml"))).unwrap()).unwrap();
    let rules = |object: &Value| object["rules"].as_array().cloned().unwrap_or_default();
    let of_config_maps = |object: &&Value| rules(object).iter().any(|rule| rule["resources"] == json!(["configmaps"]));
    let [role] = objects.iter().filter(of_config_maps).collect::<Vec<_>>()[..] else {
        panic!("one role: {objects:#?}")
    };
    assert_eq!((&role["kind"], &role["metadata"]["namespace"]), (&json!("Role"), &json!("finance")));
    let expected = json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["budgets", "calendar"], "verbs": ["get"]}]);
    assert_eq!(role["rules"], expected);
    // The file is accepted: only the API server is missing here.
    let directory = tempdir().unwrap();
    let (file, policies) = (directory.path().join("facts.yaml"), directory.path().join("policies"));
    let config_map = of_kind(&objects, "ConfigMap").unwrap();
    fs::write(&file, config_map["data"]["facts.yaml"].as_str().unwrap()).unwrap();
    fs::create_dir(&policies).unwrap();
    let mut serve = Command::new(binary());
    serve.args(["serve", "--allow-empty", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--no-compile-cache"]);
    let output = serve.arg("--policies").arg(policies).arg("--facts").arg(file).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains(".configMap: this gateway has no API server"), "{error}");
}

#[test]
fn the_api_server_accepts_every_object() {
    let (cluster, directory) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    // Refuses, not only warns about, pods that could do more than they must.
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    cluster
        .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plimsoll", "labels": labels}}))
        .unwrap();
    // With a ConfigMap that sources of facts name.
    cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "finance"}})).unwrap();
    cluster.create(&service_monitors()).unwrap();
    cluster.create(&prometheus_rules()).unwrap();
    for kind in ["servicemonitors", "prometheusrules"] {
        wait_until("the CRD", || cluster.kubectl(&["get", kind, "-A"]).ok()).unwrap();
    }
    for (values, objects) in renderings() {
        let manifest = render(values.as_deref()).unwrap();
        let lines = dry_run(&cluster, directory.path(), &manifest);
        assert_eq!(lines, objects.len(), "{values:?}");
        let pod = pod_of(of_kind(&objects, "Deployment").unwrap());
        assert_eq!(dry_run(&cluster, directory.path(), &pod.to_string()), 1, "{values:?}");
    }
}

#[test]
fn helm_installs_upgrades_rolls_back_and_leaves_nothing_behind() {
    let cluster = ControlPlane::start().unwrap();
    cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plimsoll"}})).unwrap();
    let (chart, kubeconfig) = (chart().display().to_string(), cluster.kubeconfig().display().to_string());
    let release = |args: &[&str]| {
        helm(&[args, &["--namespace", "plimsoll", "--kubeconfig", &kubeconfig]].concat()).unwrap();
    };
    let replicas = || {
        cluster
            .kubectl(&["get", "deployment", "-n", "plimsoll", "plimsoll", "-o", "jsonpath={.spec.replicas}"])
            .unwrap()
    };
    release(&["install", "plimsoll", &chart, "--set", "bind.enabled=false"]);
    assert_eq!(replicas(), "2");
    let schedulers = "schedulers.second.enabled=true,schedulers.plain.enabled=true";
    release(&["upgrade", "plimsoll", &chart, "--reuse-values", "--set", "replicas=3", "--set", schedulers]);
    assert_eq!(replicas(), "3");
    release(&["rollback", "plimsoll"]);
    assert_eq!(replicas(), "2");
    release(&["uninstall", "plimsoll"]);
    let kinds = "deployments,services,networkpolicies,poddisruptionbudgets,serviceaccounts,roles,rolebindings,\
                 clusterroles,clusterrolebindings,csistoragecapacities,configmaps,resourcequotas,\
                 validatingadmissionpolicies,validatingadmissionpolicybindings";
    let left = ["get", kinds, "-A", "-l", "app.kubernetes.io/instance=plimsoll", "-o", "name"];
    assert_eq!(cluster.kubectl(&left).unwrap(), "");
}

#[test]
fn the_container_can_write_to_its_cache_and_nothing_else() {
    for (values, objects) in renderings() {
        let container = &of_kind(&objects, "Deployment").unwrap()["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true, "{values:?}");
        for mount in container["volumeMounts"].as_array().unwrap() {
            assert_eq!(mount["name"] != "cache", mount["readOnly"] == true, "{values:?}: {mount}");
        }
    }
}

#[test]
fn no_service_leads_to_the_admin_port() {
    for (values, objects) in renderings() {
        for service in objects.iter().filter(|object| object["kind"] == "Service") {
            let is_scraped = service["metadata"]["name"].as_str().unwrap().ends_with("-metrics");
            let ports = service["spec"]["ports"].as_array().unwrap();
            let target = if is_scraped { "probes" } else { "extender" };
            assert!(ports.len() == 1 && ports[0]["targetPort"] == target, "{values:?}: {service}");
        }
    }
}

#[test]
fn strangers_get_neither_the_admin_listener_nor_the_right_to_bind() {
    for (values, objects) in renderings() {
        let pod = &of_kind(&objects, "Deployment").unwrap()["spec"]["template"]["spec"];
        let args: Vec<&str> =
            pod["containers"][0]["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let has = |flag: &str| args.iter().any(|arg| *arg == flag || arg.starts_with(&format!("{flag}=")));
        // Its default is loopback.
        assert!(!has("--admin") && has("--probes"), "{values:?}: {args:?}");
        let ports = pod["containers"][0]["ports"].as_array().unwrap();
        assert!(ports.iter().all(|port| port["name"] != "admin"), "{values:?}: {ports:?}");
        let may_bind = grants(&objects, "pods/binding");
        let authenticates = has("--tls-client-ca") && has("--bind-clients");
        assert!(!may_bind || authenticates || has("--bind-without-authentication"), "{values:?}: {args:?}");
        assert!(values.is_some() || (!may_bind && has("--no-bind")), "{args:?}");
    }
}

#[test]
fn the_right_to_nominate_comes_with_the_policy_that_bounds_it() {
    for (values, objects) in renderings() {
        let is_bounded = of_kind(&objects, "ValidatingAdmissionPolicyBinding").is_ok();
        assert!(is_bounded || !grants(&objects, "pods/status"), "{values:?}");
        // Without a watch it has no access to the API at all.
        let args = &of_kind(&objects, "Deployment").unwrap()["spec"]["template"]["spec"]["containers"][0]["args"];
        let has = |flag: &str| args.as_array().unwrap().iter().any(|arg| arg == flag);
        let watches = has("--body-limit=16Mi");
        assert_eq!(has("--no-nominate"), watches && !is_bounded, "{values:?}: {args}");
    }
}

/// Where an API server limits these classes, as GKE's does, no other pod of them is made.
#[test]
fn pods_of_a_system_class_come_with_the_quota_that_admits_them() {
    for (values, objects) in renderings() {
        let quota = of_kind(&objects, "ResourceQuota");
        for deployment in objects.iter().filter(|object| object["kind"] == "Deployment") {
            let class = &deployment["spec"]["template"]["spec"]["priorityClassName"];
            assert_eq!(class.is_string(), quota.is_ok(), "{values:?}");
            if let Ok(quota) = &quota {
                assert_eq!(quota["spec"]["scopeSelector"]["matchExpressions"][0]["values"], json!([class]));
            }
        }
    }
}

#[test]
fn a_platform_may_assign_the_users_of_all_pods() {
    let objects = objects(&render(Some(&chart().join("ci/openshift.yaml"))).unwrap()).unwrap();
    let deployments: Vec<&Value> = objects.iter().filter(|object| object["kind"] == "Deployment").collect();
    assert_eq!(deployments.len(), 2);
    for deployment in deployments {
        let context = &deployment["spec"]["template"]["spec"]["securityContext"];
        assert_eq!(*context, json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}));
    }
}

#[test]
fn the_second_scheduler_has_the_extenders_that_the_command_prints() {
    for (values, args) in [
        ("trusted-network.yaml", "http://plimsoll.plimsoll.svc:8888"),
        (
            "schedulers.yaml",
            "https://plimsoll.plimsoll.svc:8888 --ca-file=/tls/ca.crt --cert-file=/tls/tls.crt --key-file=/tls/tls.key",
        ),
    ] {
        let objects = objects(&render(Some(&chart().join("ci").join(values))).unwrap()).unwrap();
        let mut command = Command::new(binary());
        command.args(["scheduler-config", "--no-compile-cache", "--policies"]).arg(policies());
        command.arg("--url").args(args.split(' '));
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let printed: Value = serde_saphyr::from_str(&printed).unwrap();
        assert_eq!(scheduler_config(&objects)["extenders"], printed["extenders"]);
    }
}

#[test]
fn a_plain_scheduler_asks_nobody_and_places_the_pods_of_plimsoll() {
    let objects = objects(&render(Some(&chart().join("ci/schedulers.yaml"))).unwrap()).unwrap();
    let pod = |at: usize| {
        let deployments: Vec<&Value> = objects.iter().filter(|object| object["kind"] == "Deployment").collect();
        deployments[at]["spec"]["template"]["spec"]["schedulerName"].clone()
    };
    assert_eq!([pod(0), pod(1), pod(2)], [json!("plimsoll-plain-scheduler"), Value::Null, Value::Null]);
    let of_plain = |object: &&Value| object["kind"] == "ConfigMap" && object["metadata"]["name"] == pod(0);
    let plain = objects.iter().find(of_plain).unwrap()["data"]["config.yaml"].as_str().unwrap();
    assert!(!plain.contains("extenders") && plain.contains("schedulerName: plimsoll-plain-scheduler"), "{plain}");
}

/// Whether a role grants something about a resource.
fn grants(objects: &[Value], resource: &str) -> bool {
    let rules = objects.iter().flat_map(|object| object["rules"].as_array().into_iter().flatten());
    rules.flat_map(|rule| rule["resources"].as_array().into_iter().flatten()).any(|name| name == resource)
}

/// The objects of the chart, with its defaults and with each set of values.
fn renderings() -> Vec<(Option<PathBuf>, Vec<Value>)> {
    let values = std::iter::once(None).chain(value_files().unwrap().into_iter().map(Some));
    values.map(|values| (values.clone(), objects(&render(values.as_deref()).unwrap()).unwrap())).collect()
}

/// Every key of the values has a description, and no list or map of the user's own is looked into.
fn described(path: &str, values: &Value, schema: &Value) {
    assert!(schema["description"].is_string(), "{path} has no description in values.schema.json");
    for (key, value) in values.as_object().into_iter().flatten() {
        if let Some(properties) = schema["properties"].as_object() {
            described(&format!("{path}/{key}"), value, &properties[key]);
        }
    }
}

/// Puts objects to the API server without storing them; answers how many it took.
fn dry_run(cluster: &ControlPlane, directory: &Path, manifest: &str) -> usize {
    let file = directory.join("manifest.yaml");
    fs::write(&file, manifest).unwrap();
    let args = ["apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", file.to_str().unwrap()];
    cluster.kubectl(&args).unwrap().lines().count()
}

/// The pod that the Deployment would make.
fn pod_of(deployment: &Value) -> Value {
    let mut pod = deployment["spec"]["template"].clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "plimsoll-0".into();
    pod["metadata"]["namespace"] = "plimsoll".into();
    pod
}

/// The CRD of the Prometheus operator, with the fields that the chart uses and no others.
fn prometheus_rules() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let rule = json!({"type": "object", "required": ["alert", "expr"], "properties": {
        "alert": text, "expr": text, "for": text, "labels": texts, "annotations": texts,
    }});
    let group = json!({"type": "object", "required": ["name", "rules"], "properties": {
        "name": text, "rules": {"type": "array", "items": rule},
    }});
    let spec = json!({"type": "object", "properties": {"groups": {"type": "array", "items": group}}});
    crd("PrometheusRule", &spec)
}

/// As [`prometheus_rules`].
fn service_monitors() -> Value {
    let text = json!({"type": "string"});
    let endpoint = json!({"type": "object", "properties": {"port": text, "path": text, "interval": text}});
    let labels = json!({"type": "object", "additionalProperties": text});
    let spec = json!({"type": "object", "required": ["selector", "endpoints"], "properties": {
        "selector": {"type": "object", "properties": {"matchLabels": labels}},
        "endpoints": {"type": "array", "items": endpoint},
    }});
    crd("ServiceMonitor", &spec)
}

fn crd(kind: &str, spec: &Value) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.monitoring.coreos.com")},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": singular},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec},
            }}}],
        },
    })
}
