//! The listeners of a server.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::{net::TcpListener, runtime::Handle};
use tracing::warn;

/// The listeners, each with its address.
pub(super) struct Listeners {
    pub(super) wire: TcpListener,
    pub(super) wire_address: SocketAddr,
    pub(super) admin: TcpListener,
    pub(super) admin_address: SocketAddr,
    pub(super) probes: Option<TcpListener>,
    pub(super) probes_address: Option<SocketAddr>,
}

// === impl Listeners ===

impl Listeners {
    /// Opens the listeners: that of the wire on the runtime `on`.
    pub(super) async fn open(
        wire: SocketAddr,
        admin: SocketAddr,
        probes: Option<SocketAddr>,
        on: &Handle,
    ) -> Result<Self> {
        let wire = on.spawn(bind("--listen", wire)).await??;
        let admin = bind("--admin", admin).await?;
        let probes = match probes {
            Some(address) => Some(bind("--probes", address).await?),
            None => None,
        };
        let (wire_address, admin_address) = (wire.local_addr()?, admin.local_addr()?);
        let probes_address = probes.as_ref().map(TcpListener::local_addr).transpose()?;
        if !admin_address.ip().to_canonical().is_loopback() {
            warn!(admin = %admin_address, "the admin listener is open to the network: whoever reaches it may ask policies, and sees labels and annotations that they read, and all facts; --probes is made for strangers");
        }
        Ok(Self { wire, wire_address, admin, admin_address, probes, probes_address })
    }
}

async fn bind(flag: &str, address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address} ({flag})"))
}
