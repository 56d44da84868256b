//! The clients that may bind. Every client that reaches the port may ask about nodes; a bind needs authorization.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

/// The Common Name of kube-scheduler's certificate in most clusters.
const KUBE_SCHEDULER: &str = "system:kube-scheduler";

/// The clients that may bind.
///
/// Other replicas may bind (they have checked their client themselves), and so may clients on a loopback listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindAccess {
    /// The Common Names of clients that may bind, in certificates signed by the client CA.
    pub clients: Vec<String>,
    /// Whether every client that reaches the listener may bind.
    pub without_authentication: bool,
}

/// The client of one connection; made once, after the TLS handshake.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) identity: ClientIdentity,
    /// Whether both the listener's address and the client's are loopback addresses.
    pub(crate) is_local: bool,
}

/// The client of a connection, as authenticated by the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientIdentity {
    /// It has shown no certificate.
    Anonymous,
    /// Another replica: it has our own certificate and its key.
    Replica,
    /// Its certificate is signed by the client CA. `None` if that has no Common Name, or more than one.
    Client(Option<Arc<str>>),
}

/// Why a client may not bind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denial {
    #[error(
        "plimsoll does not bind for a client without a certificate: start it with --tls-client-ca, which asks for one, and list the client in --bind-clients"
    )]
    NoCertificate,
    #[error("plimsoll does not bind for a client whose certificate has no Common Name, or several")]
    NoName,
    #[error("plimsoll does not bind for the client {0:?}: --bind-clients does not list it")]
    NotListed(Arc<str>),
}

// === impl BindAccess ===

impl BindAccess {
    /// Whether any client can be authorized to bind on such a listener.
    pub fn is_possible(&self, listen: IpAddr, asks_for_certificates: bool) -> bool {
        self.without_authentication || is_loopback(listen) || asks_for_certificates && !self.clients.is_empty()
    }

    /// Whether a client may bind.
    pub(crate) fn check(&self, client: &Client) -> Result<(), Denial> {
        if self.without_authentication || client.is_local {
            return Ok(());
        }
        match &client.identity {
            ClientIdentity::Replica => Ok(()),
            ClientIdentity::Client(Some(name)) if self.clients.iter().any(|listed| **listed == **name) => Ok(()),
            ClientIdentity::Client(Some(name)) => Err(Denial::NotListed(Arc::clone(name))),
            ClientIdentity::Client(None) => Err(Denial::NoName),
            ClientIdentity::Anonymous => Err(Denial::NoCertificate),
        }
    }
}

impl Default for BindAccess {
    fn default() -> Self {
        Self { clients: vec![KUBE_SCHEDULER.to_owned()], without_authentication: false }
    }
}

// === impl Client ===

impl Client {
    /// The client at an address, of a listener that was bound to another.
    pub(crate) fn new(address: SocketAddr, identity: ClientIdentity, listener: IpAddr) -> Self {
        let is_local = is_loopback(listener) && is_loopback(address.ip());
        Self { address, identity, is_local }
    }

    /// The name in its certificate.
    pub(crate) fn subject(&self) -> Option<&str> {
        match &self.identity {
            ClientIdentity::Client(name) => name.as_deref(),
            ClientIdentity::Anonymous | ClientIdentity::Replica => None,
        }
    }
}

// === impl Denial ===

impl Denial {
    /// One word for the metrics.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::NoCertificate => "no_certificate",
            Self::NoName => "no_name",
            Self::NotListed(_) => "not_listed",
        }
    }
}

/// An IPv4 address may come in the form of an IPv6 one.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str, listener: &str, identity: ClientIdentity) -> Client {
        Client::new(SocketAddr::new(address.parse().unwrap(), 40_000), identity, listener.parse().unwrap())
    }

    fn named(name: &str) -> ClientIdentity {
        ClientIdentity::Client(Some(Arc::from(name)))
    }

    #[test]
    fn a_client_binds_by_its_name_as_a_replica_or_where_only_this_machine_can_ask() {
        let access = BindAccess { clients: vec!["system:kube-scheduler".into(), "batch".into()], ..Default::default() };
        let (near, far, everywhere) = ("127.0.0.1", "192.0.2.7", "0.0.0.0");
        let no_certificate = || Err(Denial::NoCertificate);
        let table = [
            (far, everywhere, named("system:kube-scheduler"), Ok(())),
            (far, everywhere, named("batch"), Ok(())),
            (far, everywhere, ClientIdentity::Replica, Ok(())),
            (far, everywhere, named("system:node:n1"), Err(Denial::NotListed("system:node:n1".into()))),
            (far, everywhere, named("System:kube-scheduler"), Err(Denial::NotListed("System:kube-scheduler".into()))),
            (far, everywhere, ClientIdentity::Client(None), Err(Denial::NoName)),
            (far, everywhere, ClientIdentity::Anonymous, no_certificate()),
            // Only the listener's address keeps other machines away, so both addresses count.
            (near, everywhere, ClientIdentity::Anonymous, no_certificate()),
            (near, "192.0.2.1", ClientIdentity::Anonymous, no_certificate()),
            (far, near, ClientIdentity::Anonymous, no_certificate()),
            (near, near, ClientIdentity::Anonymous, Ok(())),
            ("127.0.0.9", near, ClientIdentity::Anonymous, Ok(())),
            ("::1", "::1", ClientIdentity::Anonymous, Ok(())),
            ("::ffff:127.0.0.1", "::ffff:127.0.0.1", ClientIdentity::Anonymous, Ok(())),
            ("::ffff:192.0.2.7", "::", ClientIdentity::Anonymous, no_certificate()),
        ];
        for (address, listener, identity, expected) in table {
            let client = client(address, listener, identity);
            assert_eq!(access.check(&client), expected, "{client:?} at {listener}");
            let open = BindAccess { without_authentication: true, ..access.clone() };
            assert_eq!(open.check(&client), Ok(()));
        }
        let nobody = BindAccess { clients: vec![], ..access };
        assert!(nobody.check(&client(far, everywhere, named("system:kube-scheduler"))).is_err());
    }

    #[test]
    fn a_listener_where_nobody_may_bind_is_known_before_anybody_asks() {
        let access = BindAccess::default();
        let nobody = BindAccess { clients: vec![], ..access.clone() };
        let open = BindAccess { without_authentication: true, ..nobody.clone() };
        let table = [
            (&access, "0.0.0.0", false, false),
            (&access, "0.0.0.0", true, true),
            (&access, "127.0.0.1", false, true),
            (&nobody, "192.0.2.1", true, false),
            (&nobody, "::1", false, true),
            (&open, "::", false, true),
        ];
        for (access, listen, asks, expected) in table {
            assert_eq!(access.is_possible(listen.parse().unwrap(), asks), expected, "{access:?} {listen} {asks}");
        }
    }
}
