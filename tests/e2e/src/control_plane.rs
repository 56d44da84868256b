//! etcd, the API server and kubectl; and schedulers in front of them.

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use plimsoll_harness::{Plimsoll, ReservedPort, TempDir, tempdir, wait_until, wait_until_every, workspace};
use serde_json::Value;

use crate::{
    component::{Component, program},
    version::Features,
};

/// The pause between two calls of kubectl that wait for something; each takes a tenth of a second of processor time.
const KUBECTL: Duration = Duration::from_millis(200);

/// An API server with its etcd.
pub struct ControlPlane {
    // Dropped in this order: the API server before what it stores in, and the files last.
    api_server: Option<Component>,
    _etcd: Component,
    /// The arguments that the API server is started with, each time.
    api_server_args: Vec<String>,
    /// Arguments of kube-scheduler beside its configuration.
    scheduler_args: Vec<String>,
    /// Of etcd and the API server; each connects to the other by number.
    _ports: [ReservedPort; 3],
    directory: TempDir,
}

/// A kube-scheduler that asks plimsoll.
pub struct Scheduler {
    // Dropped in this order: the port is free when the process is gone.
    _process: Component,
    /// Where it answers `/readyz` and `/metrics`, by HTTPS.
    pub port: ReservedPort,
}

// === impl ControlPlane ===

impl ControlPlane {
    /// Starts everything but a scheduler, with the newest features of scheduling, and waits until it answers.
    pub fn start() -> Result<Self> {
        Self::start_with("AlwaysAllow", Some(Features::of_control_plane()))
    }

    /// As [`ControlPlane::start`]; features are on or off as most clusters have them.
    pub fn start_with_default_features() -> Result<Self> {
        Self::start_with("AlwaysAllow", None)
    }

    /// As [`ControlPlane::start`]; accounts may do what their roles say, and the administrator everything.
    pub fn start_with_rbac() -> Result<Self> {
        Self::start_with("RBAC", Some(Features::of_control_plane()))
    }

    fn start_with(authorization: &str, features: Option<&Features>) -> Result<Self> {
        let directory = tempdir()?;
        let path = directory.path();
        let ports = [ReservedPort::reserve()?, ReservedPort::reserve()?, ReservedPort::reserve()?];
        let [client, peer, secure] = ports.each_ref().map(ReservedPort::address);
        let (client, peer) = (format!("http://{client}"), format!("http://{peer}"));
        let etcd = Component::start("etcd", path, &etcd_args(path, &client, &peer))?;
        write_credentials(path, secure)?;
        let mut api_server_args = api_server_args(path, &client, secure.port(), authorization);
        api_server_args.extend(features.map(Features::api_server_args).unwrap_or_default());
        let scheduler_args = features.map(Features::scheduler_args).unwrap_or_default();
        let mut control_plane =
            Self { api_server: None, _etcd: etcd, api_server_args, scheduler_args, _ports: ports, directory };
        control_plane.start_api_server()?;
        Ok(control_plane)
    }

    /// Kills the API server as SIGKILL does; etcd keeps what it has written.
    pub fn kill_api_server(&mut self) {
        self.api_server.take();
    }

    /// Starts the API server, on the same port and the same etcd each time, and waits until it answers.
    pub fn start_api_server(&mut self) -> Result<()> {
        // The port and the log must be free.
        self.api_server.take();
        self.api_server = Some(Component::start("kube-apiserver", self.directory.path(), &self.api_server_args)?);
        wait_until_every(KUBECTL, "the API server", || self.kubectl(&["get", "--raw", "/readyz"]).ok()).map(drop)
    }

    /// Compiles the policies of a directory for the gateways of this test run: modules of many megabytes take longer than
    /// a start may.
    pub fn compile(policies: &Path) -> Result<()> {
        let checked = plimsoll_harness::command().args(["check", "--compile-cache", cache()]).arg(policies).output()?;
        ensure!(checked.status.success(), "{checked:?}");
        Ok(())
    }

    /// Starts a plimsoll that watches this cluster, and waits until it is ready.
    pub fn gateway_with_kubeconfig(&self, policies: &Path, args: &[&str]) -> Result<Plimsoll> {
        self.gateway_at("127.0.0.1:0", policies, args)
    }

    /// As [`ControlPlane::gateway_with_kubeconfig`], with the wire on an address.
    pub fn gateway_at(&self, listen: &str, policies: &Path, args: &[&str]) -> Result<Plimsoll> {
        let kubeconfig = self.kubeconfig();
        let kubeconfig = kubeconfig.to_str().context("the kubeconfig's path is not UTF-8")?;
        let args = [&["--compile-cache", cache(), "--kubeconfig", kubeconfig], args].concat();
        let gateway = Plimsoll::serve_at(listen, policies, &args)?;
        let ready = || gateway.get("/readyz").ok().filter(|reply| reply.status == 200);
        wait_until("plimsoll to be ready", ready).with_context(|| format!("{:?}", gateway.get("/readyz")))?;
        Ok(gateway)
    }

    /// Starts a kube-scheduler with the configuration that `plimsoll scheduler-config` prints.
    pub fn schedule_with(&self, gateway: SocketAddr, policies: &Path, args: &[&str]) -> Result<Scheduler> {
        self.schedule_at(&format!("http://{gateway}"), policies, args)
    }

    /// As [`ControlPlane::schedule_with`], for any URL.
    pub fn schedule_at(&self, url: &str, policies: &Path, args: &[&str]) -> Result<Scheduler> {
        self.start_scheduler(&self.scheduler_config(url, policies, args)?)
    }

    /// What `plimsoll scheduler-config` prints for a burst of pods: with retries that come soon, and without the limit of
    /// 50 requests a second.
    pub fn config_for_burst(&self, url: &str, policies: &Path) -> Result<String> {
        let printed = self.scheduler_config(url, policies, &["--http-timeout", "3s"])?;
        let printed = printed.replace("kubeconfig:", "qps: 5000\n  burst: 5000\n  kubeconfig:");
        Ok(printed + "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 2\n")
    }

    /// The configuration that `plimsoll scheduler-config` prints, for one scheduler.
    fn scheduler_config(&self, url: &str, policies: &Path, args: &[&str]) -> Result<String> {
        let printed = plimsoll_harness::command()
            .args(["scheduler-config", "--compile-cache", cache(), "--url", url])
            .arg("--policies")
            .arg(policies)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(args)
            .output()?;
        ensure!(printed.status.success(), "{printed:?}");
        Ok(format!("{}leaderElection: {{leaderElect: false}}\n", String::from_utf8(printed.stdout)?))
    }

    /// The whole configuration of a kube-scheduler that is given what `plimsoll scheduler-config` prints.
    pub fn complete_config(&self, policies: &Path, args: &[&str]) -> Result<String> {
        let (file, complete) = (self.directory.path().join("given.yaml"), self.directory.path().join("complete.yaml"));
        fs::write(&file, self.scheduler_config("http://127.0.0.1:1", policies, args)?)?;
        let mut scheduler = Command::new(program("kube-scheduler"));
        scheduler.arg("--config").arg(file).arg("--write-config-to").arg(&complete).args(&self.scheduler_args);
        let written = scheduler.output()?;
        ensure!(written.status.success(), "kube-scheduler: {}", String::from_utf8_lossy(&written.stderr));
        Ok(fs::read_to_string(complete)?)
    }

    /// Starts a kube-scheduler with a configuration.
    pub fn start_scheduler(&self, config: &str) -> Result<Scheduler> {
        let file = self.directory.path().join("scheduler.yaml");
        fs::write(&file, config)?;
        let port = ReservedPort::reserve()?;
        let scheduler = [
            format!("--config={}", file.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", port.number),
            "--cert-dir=certificates".to_owned(),
            "--authorization-always-allow-paths=/readyz,/metrics".to_owned(),
        ];
        let scheduler = [&scheduler[..], &self.scheduler_args].concat();
        let process = Component::start("kube-scheduler", self.directory.path(), &scheduler)?;
        Ok(Scheduler { _process: process, port })
    }

    /// A kubeconfig with a token of a service account.
    pub fn kubeconfig_of(&self, namespace: &str, account: &str) -> Result<PathBuf> {
        let token = self.kubectl(&["create", "token", "-n", namespace, account])?;
        let mut kubeconfig: Value = serde_json::from_slice(&fs::read(self.kubeconfig())?)?;
        kubeconfig["users"][0]["user"] = serde_json::json!({"token": token.trim()});
        let file = self.directory.path().join(format!("{namespace}-{account}.kubeconfig"));
        fs::write(&file, kubeconfig.to_string())?;
        Ok(file)
    }

    /// Creates objects.
    pub fn create(&self, object: &Value) -> Result<()> {
        self.pipe(&["create", "-f", "-"], object).map(drop)
    }

    /// Creates a node with its status, which `create` leaves out.
    pub fn create_node(&self, node: &Value) -> Result<()> {
        self.create(node)?;
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        let patch = serde_json::json!({"status": node["status"]}).to_string();
        self.kubectl(&["patch", "node", name, "--subresource=status", "--type=merge", "--patch", &patch]).map(drop)
    }

    /// Waits until a pod is bound, and tells where.
    pub fn node_of(&self, namespace: &str, pod: &str) -> Result<String> {
        // One kubectl that watches: a kubectl for each look would take a core from what it waits for.
        let (name, path) = (format!("pod/{pod}"), "jsonpath={.spec.nodeName}");
        let wait = ["wait", "-n", namespace, &name, &format!("--for={path}"), "--timeout=1m", "-o", path];
        // It fails if the API server goes away meanwhile.
        let bound = || self.kubectl(&wait).ok();
        wait_until(&format!("pod {namespace}/{pod} to be bound"), bound).with_context(|| self.logs())
    }

    /// Waits for a `FailedScheduling` event of a pod, and tells its message.
    pub fn failure_of(&self, namespace: &str, pod: &str) -> Result<String> {
        let selector = format!("--field-selector=involvedObject.name={pod},reason=FailedScheduling");
        let event = || {
            let args = ["get", "events", "-n", namespace, &selector, "-o", "jsonpath={.items[*].message}"];
            self.kubectl(&args).ok().filter(|message| !message.is_empty())
        };
        wait_until_every(KUBECTL, &format!("pod {namespace}/{pod} to fail"), event).with_context(|| self.logs())
    }

    /// Writes what plimsoll reads in names mode.
    pub fn write_snapshot(&self, file: &Path) -> Result<()> {
        let list = self.kubectl(&["get", "nodes,pods", "--all-namespaces", "-o", "json"])?;
        let unfinished = file.with_extension("new");
        fs::write(&unfinished, list)?;
        Ok(fs::rename(unfinished, file)?)
    }

    /// Runs kubectl, and tells what it prints.
    pub fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.pipe(args, &Value::Null)
    }

    fn pipe(&self, args: &[&str], input: &Value) -> Result<String> {
        let mut kubectl = Command::new(program("kubectl"))
            .args(args)
            .env("KUBECONFIG", self.kubeconfig())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        kubectl.stdin.take().context("kubectl has no input")?.write_all(input.to_string().as_bytes())?;
        let output = kubectl.wait_with_output()?;
        ensure!(output.status.success(), "kubectl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A client with the rights of the administrator.
    pub async fn client(&self) -> Result<Client> {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    fn logs(&self) -> String {
        fs::read_to_string(self.directory.path().join("kube-scheduler.log")).unwrap_or_default()
    }
}

/// Where the gateways of one test run cache what they compile: nearly all of them have the same policies.
fn cache() -> &'static str {
    static CACHE: LazyLock<String> = LazyLock::new(|| {
        let directory = workspace().join("target/e2e/cache");
        // Compiled by another build, perhaps.
        let _ = fs::remove_dir_all(&directory);
        directory.display().to_string()
    });
    &CACHE
}

fn etcd_args(directory: &Path, client: &str, peer: &str) -> Vec<String> {
    vec![
        "--name=test".to_owned(),
        format!("--data-dir={}", directory.join("etcd").display()),
        "--unsafe-no-fsync".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=test={peer}"),
    ]
}

fn api_server_args(directory: &Path, etcd: &str, port: u16, authorization: &str) -> Vec<String> {
    let file = |name: &str| directory.join(name).display().to_string();
    vec![
        format!("--etcd-servers={etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        "--cert-dir=certificates".to_owned(),
        "--external-hostname=127.0.0.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--authorization-mode={authorization}"),
        format!("--token-auth-file={}", file("tokens")),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", file("service-account.key")),
        format!("--service-account-signing-key-file={}", file("service-account.key")),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        // The first wants a controller manager, the second would taint nodes that have no kubelet.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".to_owned(),
    ]
}

/// A token for everything, a key for service accounts, and a kubeconfig.
fn write_credentials(directory: &Path, api_server: SocketAddr) -> Result<()> {
    fs::write(directory.join("tokens"), "token,admin,admin,\"system:masters\"\n")?;
    let key = directory.join("service-account.key");
    let made = Command::new("openssl").args(["genrsa", "-out"]).arg(&key).arg("2048").output().context("openssl")?;
    ensure!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://{api_server}"), "insecure-skip-tls-verify": true}}],
        "users": [{"name": "admin", "user": {"token": "token"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    });
    Ok(fs::write(directory.join("kubeconfig"), kubeconfig.to_string())?)
}
