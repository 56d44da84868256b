//! The first bytes of a connection: a handshake, or a client that should not be here.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::{ClientIdentity, HandshakeRefusal, Tls};

/// What a client of plain HTTP is told.
const PLAIN: &str = "this port speaks TLS: the urlPrefix of the extender should begin with https://\n";

/// How long a refused client may take to hear why, and what it may send meanwhile.
const PARTING: Duration = Duration::from_secs(1);
const PARTING_BYTES: usize = 64 << 10;

// === impl Tls ===

impl Tls {
    /// Makes the handshake of a client's connection, and tells who it is; none if it is refused, or leaves.
    pub(crate) async fn accept(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        patience: Duration,
    ) -> Option<(server::TlsStream<TcpStream>, ClientIdentity)> {
        let deadline = Instant::now() + patience;
        let mut first = [0];
        // A peer that sends nothing has nothing to be told: many probes are like that.
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
            Err(_) => self.refuse(peer, &HandshakeRefusal::TooSlow(patience)),
        }
        None
    }

    /// Makes the handshake of a call to another replica, with our certificate as the client's.
    ///
    /// The replica must show the very certificate that we have, or one for a name of ours by an
    /// authority that we know: it is found by its address, which no certificate has.
    ///
    /// # Errors
    /// If the connection fails, or leads to somebody else.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<client::TlsStream<TcpStream>> {
        let address = ServerName::from(stream.peer_addr()?.ip());
        let connector = TlsConnector::from(self.material.load().client.clone());
        connector.connect(address, stream).await
    }
}

/// What plain HTTP is answered.
fn plain_reply() -> Vec<u8> {
    let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
    format!("{head}Content-Length: {}\r\n\r\n{PLAIN}", PLAIN.len()).into_bytes()
}

/// Says the last words, and reads on a little: closed with bytes unread, they might get lost.
async fn part(stream: &mut TcpStream, words: &[u8]) {
    let parting = async {
        stream.write_all(words).await?;
        stream.shutdown().await?;
        let (mut rest, mut heard) = ([0; 4096], 0);
        while heard < PARTING_BYTES {
            match stream.read(&mut rest).await? {
                0 => break,
                read => heard += read,
            }
        }
        io::Result::Ok(())
    };
    // Nobody waits for how it ends.
    drop(timeout(PARTING, parting).await);
}
