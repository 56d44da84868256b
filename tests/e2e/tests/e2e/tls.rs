//! Mutual TLS between a real kube-scheduler and plimsoll, with every certificate renewed in mid-run.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use plimsoll_e2e::{ControlPlane, Scheduler, pod};
use plimsoll_harness::{Authority, Pair, Plimsoll, Purpose, tempdir, wait_until};
use serde_json::Value;

use crate::{lay_policies, with_nodes};

/// The world of the story.
struct Story {
    cluster: ControlPlane,
    gateway: Plimsoll,
    directory: PathBuf,
    servers: Authority,
    pods: usize,
    secrets: usize,
}

impl Story {
    fn start(directory: &Path) -> (Self, Authority) {
        let (servers, clients) = (Authority::new("servers").unwrap(), Authority::new("clients").unwrap());
        let policies = directory.join("policies");
        fs::create_dir(&policies).unwrap();
        lay_policies(&policies);
        let cluster = with_nodes();
        mount(directory, 0, &servers.issue(Purpose::Server).unwrap(), &clients.pem());
        let file = |name: &str| directory.join(name).to_str().unwrap().to_owned();
        for name in ["tls.crt", "tls.key", "ca.crt"] {
            symlink(Path::new("..data").join(name), directory.join(name)).unwrap();
        }
        fs::write(directory.join("servers.crt"), servers.pem()).unwrap();
        let (cert, key, ca) = (file("tls.crt"), file("tls.key"), file("ca.crt"));
        let tls = ["--tls-cert", &cert, "--tls-key", &key, "--tls-client-ca", &ca];
        let gateway = cluster.gateway_with_kubeconfig(&policies, &tls).unwrap();
        (Self { cluster, gateway, directory: directory.to_owned(), servers, pods: 0, secrets: 0 }, clients)
    }

    fn schedule_as(&self, client: &Pair) -> Scheduler {
        client.write(&self.directory, "scheduler").unwrap();
        let file = |name: &str| self.directory.join(name).to_str().unwrap().to_owned();
        let (ca, cert, key) = (file("servers.crt"), file("scheduler.crt"), file("scheduler.key"));
        let args = ["--ca-file", &ca, "--cert-file", &cert, "--key-file", &key];
        let url = format!("https://{}", self.gateway.wire);
        self.cluster.schedule_at(&url, &self.directory.join("policies"), &args).unwrap()
    }

    /// Swaps the mounted Secret for one with a new serving certificate and these client authorities.
    fn renew(&mut self, clients: &str) {
        self.secrets += 1;
        mount(&self.directory, self.secrets, &self.servers.issue(Purpose::Server).unwrap(), clients);
        let loaded = format!("plimsoll_tls_reloads_total{{result=\"loaded\"}} {}", self.secrets);
        wait_until("the new certificates", || self.metrics().contains(&loaded).then_some(())).unwrap();
    }

    /// Creates pods, and waits until each is where the policies let it be.
    fn place(&mut self, count: usize) {
        let names: Vec<String> = (self.pods..self.pods + count).map(|number| format!("pod-{number}")).collect();
        self.pods += count;
        for name in &names {
            self.cluster.create(&pod("web", name, "10m", &Value::Null)).unwrap();
        }
        for name in &names {
            let node = self.cluster.node_of("web", name).unwrap();
            assert!(["shared-a", "shared-b"].contains(&node.as_str()), "{name} is on {node}");
        }
    }

    fn metrics(&self) -> String {
        self.gateway.get("/metrics").unwrap().body
    }
}

/// Lays a Secret's volume out as the kubelet does, or swaps it.
fn mount(directory: &Path, revision: usize, pair: &Pair, clients: &str) {
    let name = format!("..revision-{revision}");
    let data = directory.join(&name);
    fs::create_dir(&data).unwrap();
    pair.write(&data, "tls").unwrap();
    fs::write(data.join("ca.crt"), clients).unwrap();
    symlink(name, directory.join("..data_tmp")).unwrap();
    fs::rename(directory.join("..data_tmp"), directory.join("..data")).unwrap();
}

#[test]
fn every_pod_is_scheduled_over_mutual_tls_while_all_certificates_are_renewed() {
    let directory = tempdir().unwrap();
    let (mut story, old) = Story::start(directory.path());
    let new = Authority::new("new clients").unwrap();
    let scheduler = story.schedule_as(&old.issue(Purpose::Client).unwrap());
    story.place(3);
    // A new serving certificate by the same authority: the scheduler goes on.
    story.renew(&old.pem());
    story.place(3);
    // Both client authorities, while the scheduler still has its old certificate.
    story.renew(&(old.pem() + &new.pem()));
    story.place(3);
    // kube-scheduler reads its client certificate when it starts.
    drop(scheduler);
    let _scheduler = story.schedule_as(&new.issue(Purpose::Client).unwrap());
    story.place(3);
    story.renew(&new.pem());
    story.place(3);

    let events = ["get", "events", "-A", "--field-selector=reason=FailedScheduling", "-o", "name"];
    assert_eq!(story.cluster.kubectl(&events).unwrap(), "");
    let metrics = story.metrics();
    for trouble in ["result=\"error\"", "result=\"refused\"", "plimsoll_tls_refused_total{"] {
        assert!(!metrics.contains(trouble), "{metrics}");
    }
    let filtered = "plimsoll_requests_total{group=\"\",verb=\"filter\",code=\"200\",result=\"ok\"}";
    assert!(metrics.contains(&format!("{filtered} {}\n", story.pods)), "{metrics}");
}

#[test]
fn a_scheduler_with_another_certificate_is_refused_and_the_log_says_why() {
    let directory = tempdir().unwrap();
    let (story, _) = Story::start(directory.path());
    let stranger = Authority::new("strangers").unwrap();
    let _scheduler = story.schedule_as(&stranger.issue(Purpose::Client).unwrap());
    story.cluster.create(&pod("web", "stuck", "10m", &Value::Null)).unwrap();
    let line = story.gateway.wait_for_log("the refusal", |line| line["reason"] == "certificate").unwrap();
    assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    let message = story.cluster.failure_of("web", "stuck").unwrap();
    // With HTTP/2 the scheduler may notice the end of the connection before the alert that says why.
    let said = ["tls: unknown certificate authority", "http2: client conn could not be established"];
    assert!(said.iter().any(|text| message.contains(text)), "{message}");
}
