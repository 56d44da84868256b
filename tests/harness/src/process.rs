//! One running `plimsoll serve`.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{command, wait_until};

/// A running gateway; it is killed when dropped.
pub struct Plimsoll {
    child: Child,
    /// Where the extender wire is.
    pub wire: SocketAddr,
    /// Where the admin listener is.
    pub admin: SocketAddr,
    log: Arc<Mutex<Vec<Value>>>,
    agent: ureq::Agent,
}

/// An answer, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: String,
}

// === impl Plimsoll ===

impl Plimsoll {
    /// Starts `plimsoll serve --policies DIR` with more arguments, on free ports; every policy was tried when it returns.
    pub fn serve(policies: &Path, args: &[&str]) -> Result<Self> {
        Self::serve_at("127.0.0.1:0", policies, args)
    }

    /// As [`Plimsoll::serve`], with the wire where an earlier one had it.
    pub fn serve_at(listen: &str, policies: &Path, args: &[&str]) -> Result<Self> {
        let gateway = Self::start(listen, policies, args)?;
        gateway.wait_for_log("the policies to be loaded", |line| line["message"] == "all policies were tried")?;
        Ok(gateway)
    }

    /// As [`Plimsoll::serve`], but returns as soon as it listens: policies are still being loaded.
    pub fn serve_at_once(policies: &Path, args: &[&str]) -> Result<Self> {
        Self::start("127.0.0.1:0", policies, args)
    }

    fn start(listen: &str, policies: &Path, args: &[&str]) -> Result<Self> {
        Self::spawn(
            command()
                .args(["serve", "--listen", listen, "--admin", "127.0.0.1:0", "--log-format", "json", "--policies"])
                .arg(policies)
                .args(args),
        )
    }

    /// Starts it by a command that logs JSON, and returns as soon as it listens.
    pub fn spawn(serve: &mut Command) -> Result<Self> {
        let mut child = serve.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let (started, addresses) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            let log = Arc::clone(&log);
            std::thread::spawn(move || follow(BufReader::new(stderr), &log, &started));
        }
        let Ok((wire, admin)) = addresses.recv_timeout(Duration::from_mins(1)) else {
            let _ = child.kill();
            bail!("plimsoll did not start: {:?}", log.lock().unwrap_or_else(PoisonError::into_inner));
        };
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(Duration::from_mins(1))).build().into();
        Ok(Self { child, wire, admin, log, agent })
    }

    /// Posts JSON to the extender wire: `/filter`, `/gpu/prioritize`, ...
    pub fn post(&self, path: &str, body: &Value) -> Result<Reply> {
        let url = format!("http://{}{path}", self.wire);
        let mut reply = self.agent.post(&url).content_type("application/json").send(body.to_string())?;
        Ok(Reply {
            status: reply.status().as_u16(),
            body: reply.body_mut().with_config().limit(1 << 30).read_to_string()?,
        })
    }

    /// As [`Plimsoll::post`], with a reply of status 200 as JSON.
    pub fn ask(&self, path: &str, body: &Value) -> Result<Value> {
        let reply = self.post(path, body)?;
        anyhow::ensure!(reply.status == 200, "{path} answered {reply:?}");
        serde_json::from_str(&reply.body).with_context(|| reply.body)
    }

    /// Reads a page of the admin listener.
    pub fn get(&self, path: &str) -> Result<Reply> {
        let mut reply = self.agent.get(format!("http://{}{path}", self.admin)).call()?;
        Ok(Reply { status: reply.status().as_u16(), body: reply.body_mut().read_to_string()? })
    }

    /// Posts to the admin listener.
    pub fn post_admin(&self, path: &str, body: &Value) -> Result<Reply> {
        let mut reply = self.agent.post(format!("http://{}{path}", self.admin)).send(body.to_string())?;
        Ok(Reply { status: reply.status().as_u16(), body: reply.body_mut().read_to_string()? })
    }

    /// As [`Plimsoll::get`], of a process that may be frozen: it has half a second.
    pub fn get_quickly(&self, path: &str) -> Result<Reply> {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = config.timeout_global(Some(Duration::from_millis(500))).build().into();
        let mut reply = agent.get(format!("http://{}{path}", self.admin)).call()?;
        Ok(Reply { status: reply.status().as_u16(), body: reply.body_mut().read_to_string()? })
    }

    /// Waits for a log line.
    pub fn wait_for_log(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        let find = || self.log.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|line| fits(line)).cloned();
        wait_until(what, find).with_context(|| format!("{:#?}", self.log))
    }

    /// The number of log lines so far that fit.
    pub fn count_log(&self, fits: impl Fn(&Value) -> bool) -> usize {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|line| fits(line)).count()
    }

    /// The log so far; a line that is no JSON is a text.
    pub fn log(&self) -> Vec<Value> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, by its name: `TERM`, `STOP`, ...
    pub fn signal(&self, name: &str) -> Result<()> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &pid]).status()?;
        anyhow::ensure!(status.success(), "kill -{name} {pid}: {status}");
        Ok(())
    }

    /// Waits for the end of the process.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        wait_until("the end of plimsoll", || self.child.try_wait().ok().flatten())
    }
}

impl Drop for Plimsoll {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keeps every log line, and tells the addresses when they come.
fn follow(lines: impl BufRead, log: &Mutex<Vec<Value>>, started: &mpsc::Sender<(SocketAddr, SocketAddr)>) {
    for line in lines.lines().map_while(Result::ok) {
        let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
        let address = |key: &str| line[key].as_str().and_then(|address| address.parse().ok());
        if let (Some(wire), Some(admin)) = (address("listen"), address("admin")) {
            // The test may have given up.
            let _ = started.send((wire, admin));
        }
        log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}
