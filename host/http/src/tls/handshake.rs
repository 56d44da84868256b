//! The TLS handshake, and the refusal of clients that do not speak TLS.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::{ClientIdentity, HandshakeRefusal, Tls};

/// The reply to a client that speaks plain HTTP.
const PLAIN: &str = "this port speaks TLS: the urlPrefix of the extender should begin with https://\n";

/// Time and bytes that are spent on a refused client, so that it receives the reason.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_CLOSE_BYTES: usize = 64 << 10;

// === impl Tls ===

impl Tls {
    /// Performs the server handshake and identifies the client; `None` if it is refused or leaves.
    pub(crate) async fn accept(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        limit: Duration,
    ) -> Option<(server::TlsStream<TcpStream>, ClientIdentity)> {
        let deadline = Instant::now() + limit;
        let mut first = [0];
        // Many probes connect and send nothing: close silently.
        let read = timeout_at(deadline, stream.peek(&mut first)).await.ok()?.ok()?;
        if read == 0 {
            return None;
        }
        // Every method begins with a letter, and so does the preface of h2.
        if first[0].is_ascii_alphabetic() {
            self.refuse(peer, &HandshakeRefusal::PlainHttp);
            part(&mut stream, &plain_reply()).await;
            return None;
        }
        let material = self.material.load_full();
        let acceptor = TlsAcceptor::from(Arc::clone(&material.server));
        match timeout_at(deadline, acceptor.accept(stream).into_fallible()).await {
            Ok(Ok(stream)) => {
                let identity = material.identify(stream.get_ref().1.peer_certificates());
                return Some((stream, identity));
            }
            Ok(Err((error, mut stream))) => {
                if let Some(refusal) = HandshakeRefusal::of(&error) {
                    self.refuse(peer, &refusal);
                    // The alert that says why has been sent.
                    part(&mut stream, &[]).await;
                } else {
                    tracing::debug!(%peer, %error, "TLS: a client left during its handshake");
                }
            }
            Err(_) => self.refuse(peer, &HandshakeRefusal::TooSlow(limit)),
        }
        None
    }

    /// Performs the client handshake of a call to another replica, with our certificate as the client's.
    ///
    /// The replica must show our own certificate, or one for one of our names by an authority that we know. Its address
    /// is in no certificate.
    ///
    /// # Errors
    /// If the connection fails, or leads to somebody else.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<client::TlsStream<TcpStream>> {
        let address = ServerName::from(stream.peer_addr()?.ip());
        let connector = TlsConnector::from(self.material.load().client.clone());
        connector.connect(address, stream).await
    }
}

/// The HTTP response to a plain request.
fn plain_reply() -> Vec<u8> {
    let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
    format!("{head}Content-Length: {}\r\n\r\n{PLAIN}", PLAIN.len()).into_bytes()
}

/// Sends a final message and drains the input: closing with unread bytes sends a reset, which could discard the
/// message.
async fn part(stream: &mut TcpStream, words: &[u8]) {
    let parting = async {
        stream.write_all(words).await?;
        stream.shutdown().await?;
        let (mut rest, mut heard) = ([0; 4096], 0);
        while heard < MAX_CLOSE_BYTES {
            match stream.read(&mut rest).await? {
                0 => break,
                read => heard += read,
            }
        }
        io::Result::Ok(())
    };
    // The result is irrelevant: the client is refused either way.
    drop(timeout(CLOSE_TIMEOUT, parting).await);
}
