//! The wire inside of TLS: the clients that are let in, those that are not and why, and the replacement of
//! certificates.

mod clients;
mod files;
mod replicas;
mod rotation;

use std::sync::Arc;

use plimsoll_contract::{
    client::{Client, within},
    secure::{Notices, Site},
    server::Server,
};
use plimsoll_http::{Tls, WireConfig};
use rustls::ClientConfig;

use crate::world::{BY_NAME, BY_NAME_FILTERED, server};

/// A server whose certificates are those of the site.
async fn secure(site: &Site) -> (Server, Arc<Notices>) {
    let (tls, notices) = site.load().unwrap();
    (serve(tls).await, notices)
}

async fn serve(tls: Arc<Tls>) -> Server {
    server(WireConfig { tls: Some(tls), ..WireConfig::default() }).await
}

/// Asks once over a new connection; the error is that of handshake or request.
async fn ask(server: &Server, config: &Arc<ClientConfig>) -> Result<String, String> {
    let mut client =
        Client::connect_tls(server.address, Arc::clone(config)).await.map_err(|error| format!("{error:#}"))?;
    client.post("/filter", BY_NAME).await.map(|reply| reply.text()).map_err(|error| format!("{error:?}"))
}

async fn is_answered(server: &Server, config: &Arc<ClientConfig>) {
    assert_eq!(ask(server, config).await.unwrap(), BY_NAME_FILTERED);
}

/// Waits for a notice.
#[expect(clippy::disallowed_methods, reason = "it asks until the notice is there, with a deadline")]
async fn heard(notices: &Notices, notice: &str, times: usize) {
    let waiting = async {
        while notices.count(notice) < times {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    within(notice, waiting).await.unwrap_or_else(|error| panic!("{error}: {:?}", notices.all()));
}
