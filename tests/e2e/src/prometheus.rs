//! A Prometheus that scrapes one server every second.

use std::{
    fs::{self, File},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use anyhow::Result;
use plimsoll_harness::{ReservedPort, TempDir, get, tempdir, wait_until};

/// A running Prometheus; it is killed when dropped.
pub struct Prometheus {
    child: Child,
    port: ReservedPort,
    target: SocketAddr,
    directory: TempDir,
}

// === impl Prometheus ===

impl Prometheus {
    /// Whether this machine has one.
    pub fn is_installed() -> bool {
        let version = Command::new("prometheus").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    }

    /// Starts one that scrapes `/metrics` of this server, and waits until it is ready.
    pub fn start(target: SocketAddr) -> Result<Self> {
        let (directory, port) = (tempdir()?, ReservedPort::reserve()?);
        let child = spawn(&directory, &port, target)?;
        let prometheus = Self { child, port, target, directory };
        prometheus.wait_until_ready()?;
        Ok(prometheus)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.port.address())
    }

    /// Kills it.
    pub fn stop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again after [`Prometheus::stop`], on its port and without its samples.
    pub fn start_again(&mut self) -> Result<()> {
        fs::remove_dir_all(self.directory.path().join("data"))?;
        self.child = spawn(&self.directory, &self.port, self.target)?;
        self.wait_until_ready()
    }

    fn wait_until_ready(&self) -> Result<()> {
        let ready = || get(self.port.address(), "/-/ready").ok().filter(|(status, _)| *status == 200);
        wait_until("Prometheus to be ready", ready).map(drop)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(directory: &TempDir, port: &ReservedPort, target: SocketAddr) -> Result<Child> {
    let (config, data) = (directory.path().join("prometheus.yml"), directory.path().join("data"));
    let text = format!(
        "global: {{scrape_interval: 1s}}\n\
         scrape_configs: [{{job_name: nodes, honor_labels: true, static_configs: [{{targets: ['{target}']}}]}}]\n"
    );
    fs::write(&config, text)?;
    let log = File::create(directory.path().join("log"))?;
    Ok(Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", data.display()))
        .arg(format!("--web.listen-address={}", port.address()))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?)
}
