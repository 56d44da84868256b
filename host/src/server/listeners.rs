//! The listeners of a server.

use std::{
    io::{Error, ErrorKind},
    net::SocketAddr,
};

use anyhow::{Result, anyhow};
use tokio::{net::TcpListener, runtime::Handle};
use tracing::warn;

/// The end of the error about a port that is in use.
const OTHER_PORT: &str = "; port 0 picks a free port";

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
    let other_port = |error: &Error| if error.kind() == ErrorKind::AddrInUse { OTHER_PORT } else { "" };
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| anyhow!("cannot listen on {address} ({flag}): {error}{}", other_port(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_in_use_is_an_error_that_says_how_to_get_a_free_one() {
        let first = bind("--listen", ([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = first.local_addr().unwrap();
        let error = bind("--admin", address).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot listen on {address} (--admin): Address already in use")), "{error}");
        assert!(error.ends_with(OTHER_PORT), "{error}");
    }
}
