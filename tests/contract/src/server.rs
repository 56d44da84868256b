//! A gateway behind a real server on a free port.

use std::{
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use plimsoll_core::{Gateway, NoObserver, Roster, SystemClock};
use plimsoll_http::{Admin, Forward, Peers, WireConfig, WireObserver, serve_admin, serve_probes, serve_wire};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::client::{Client, within};

/// A running server; it stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// The notices that its observer heard.
    pub heard: Arc<Heard>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

/// Keeps what a [`WireObserver`] is told.
#[derive(Debug, Default)]
pub struct Heard {
    answers: Mutex<Vec<String>>,
    post_reply_work_dropped: AtomicUsize,
    denials: Mutex<Vec<&'static str>>,
}

/// A gateway with these policies and nothing else.
pub fn gateway(roster: Roster) -> Gateway {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    gateway.set_roster(Arc::new(roster));
    gateway
}

// === impl Server ===

impl Server {
    /// Serves the wire.
    pub async fn start(gateway: impl Into<Arc<Gateway>>, config: WireConfig) -> Result<Self> {
        Self::start_with_peers(gateway, Arc::new(Peers::new(None)), config).await
    }

    /// Serves the wire as one of several replicas.
    pub async fn start_with_peers(
        gateway: impl Into<Arc<Gateway>>,
        peers: Arc<dyn Forward>,
        config: WireConfig,
    ) -> Result<Self> {
        let (heard, gateway): (Arc<Heard>, Arc<Gateway>) = (Arc::default(), gateway.into());
        let observer = Arc::clone(&heard);
        let serve = |listener, shutdown| serve_wire(listener, gateway, observer, peers, config, shutdown);
        Self::spawn(Ipv4Addr::LOCALHOST, heard, serve).await
    }

    /// As [`Server::start_with_peers`], on every address of the machine.
    pub async fn start_in_the_open(gateway: Gateway, peers: Arc<dyn Forward>, config: WireConfig) -> Result<Self> {
        let heard: Arc<Heard> = Arc::default();
        let observer = Arc::clone(&heard);
        let serve = |listener, shutdown| serve_wire(listener, Arc::new(gateway), observer, peers, config, shutdown);
        Self::spawn(Ipv4Addr::UNSPECIFIED, heard, serve).await
    }

    /// Serves the admin pages.
    pub async fn start_admin(admin: impl Admin) -> Result<Self> {
        let serve = |listener, shutdown| serve_admin(listener, Arc::new(admin), shutdown);
        Self::spawn(Ipv4Addr::LOCALHOST, Arc::default(), serve).await
    }

    /// Serves the probes.
    pub async fn start_probes(admin: Arc<impl Admin>) -> Result<Self> {
        let serve = |listener, shutdown| serve_probes(listener, admin, shutdown);
        Self::spawn(Ipv4Addr::LOCALHOST, Arc::default(), serve).await
    }

    /// A new connection to it.
    pub async fn client(&self) -> Result<Client> {
        Client::connect(self.address).await
    }

    /// Tells it to stop; the task ends when it has.
    pub fn stop(self) -> JoinHandle<io::Result<()>> {
        drop(self.stop);
        self.task
    }

    /// Tells it to stop, and waits until it has.
    pub async fn stopped(self) -> Result<()> {
        Ok(within("stopping", self.stop()).await???)
    }

    async fn spawn<F>(
        on: Ipv4Addr,
        heard: Arc<Heard>,
        serve: impl FnOnce(TcpListener, Box<dyn Future<Output = ()> + Send + Unpin>) -> F,
    ) -> Result<Self>
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind((on, 0)).await?;
        let address = (Ipv4Addr::LOCALHOST, listener.local_addr()?.port()).into();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = Box::new(Box::pin(async { drop(stopped.await) }));
        let task = tokio::spawn(serve(listener, shutdown));
        Ok(Self { address, heard, stop, task })
    }
}

// === impl Heard ===

impl Heard {
    /// One line for each answer: group, verb, status, whether it failed, and nodes.
    pub fn answers(&self) -> Vec<String> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why binds were refused to those who asked.
    pub fn denials(&self) -> Vec<&'static str> {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Work after replies that was dropped.
    pub fn post_reply_work_dropped(&self) -> usize {
        self.post_reply_work_dropped.load(Ordering::SeqCst)
    }
}

impl WireObserver for Heard {
    fn answered(&self, group: &str, verb: &'static str, status: u16, failed: bool, nodes: usize, _: Duration) {
        let outcome = if failed { "failed" } else { "decided" };
        let line = format!("{group}/{verb} {status} {outcome} {nodes}");
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn bind_denied(&self, reason: &'static str) {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).push(reason);
    }

    fn post_reply_work_dropped(&self) {
        self.post_reply_work_dropped.fetch_add(1, Ordering::SeqCst);
    }
}
