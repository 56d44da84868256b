//! A connection on which nothing is written once the term is over.
//!
//! Between a decision and the socket there are a queue, a pool, a task and TLS, and the process may freeze in
//! any of them. So the term is checked where the bytes are sent: each time, just before the system call.

use std::{
    io::{Error, ErrorKind, Result},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::{
        Client as HttpClient,
        connect::{Connected, Connection, HttpConnector},
    },
    rt::{TokioExecutor, TokioIo},
};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt},
};
use tokio::net::TcpStream;
use tower::{BoxError, ServiceExt};

use crate::term::Term;

/// A transport that writes only while its term lasts.
pub(crate) struct Fenced<Io> {
    io: Io,
    term: Arc<Term>,
}

/// A client whose connections are of this term, and end with it.
///
/// # Errors
/// If the configuration's certificates or credentials cannot be used.
pub(crate) fn fenced_client(config: &Config, term: &Arc<Term>) -> kube::Result<Client> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(term.timings().settle()));
    // The kernel drops bytes that the peer does not acknowledge, even if this process is frozen or dead.
    connector.set_tcp_user_timeout(Some(term.timings().unacknowledged()));
    let term = Arc::clone(term);
    let connector = connector.map_response(move |io: TokioIo<TcpStream>| Fenced { io, term: Arc::clone(&term) });
    let connector = config.rustls_https_connector_with_connector(connector)?;
    // A request is sent once: a caller that repeats it must know that it may have been carried out.
    let client: HttpClient<_, Body> =
        HttpClient::builder(TokioExecutor::new()).retry_canceled_requests(false).build(connector);
    let client = ServiceExt::<http::Request<Body>>::map_err(client, BoxError::from);
    let builder = ClientBuilder::new(client, config.default_namespace.clone());
    let builder = builder.with_layer(&config.extra_headers_layer()?);
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&config.base_uri_layer()).build(),
        None => builder.with_layer(&config.base_uri_layer()).build(),
    })
}

// === impl Fenced ===

impl<Io: Write + Unpin> Write for Fenced<Io> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        if !self.term.may_write() {
            return Poll::Ready(Err(Error::new(ErrorKind::BrokenPipe, "the term as leader is over")));
        }
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl<Io: Read + Unpin> Read for Fenced<Io> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<Io: Connection> Connection for Fenced<Io> {
    fn connected(&self) -> Connected {
        self.io.connected()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        sync::mpsc,
    };

    use super::*;
    use crate::term::LeaseTimings;

    fn term(until: Instant) -> Arc<Term> {
        let timings = LeaseTimings::new(Duration::from_secs(30));
        Arc::new(Term::new(1, timings, Instant::now(), until))
    }

    /// Answers every request on one connection, and sends each to the channel.
    async fn server() -> (Config, mpsc::UnboundedReceiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, came) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = vec![0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                    sender.send(String::from_utf8_lossy(&bytes[..count]).into_owned()).unwrap();
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
                }
                sender.send("end".to_owned()).unwrap();
            }
        });
        (Config::new(url.parse().unwrap()), came)
    }

    fn request(path: &str) -> http::Request<Vec<u8>> {
        http::Request::post(path).body(Vec::new()).unwrap()
    }

    #[tokio::test]
    async fn a_connection_ends_with_its_term_and_nothing_more_is_written() {
        let (config, mut came) = server().await;
        let term = term(Instant::now() + Duration::from_secs(30));
        let client = fenced_client(&config, &term).unwrap();
        client.request_text(request("/first")).await.unwrap();
        assert!(came.recv().await.unwrap().starts_with("POST /first "));
        term.end();
        let refused = client.request_text(request("/second")).await.unwrap_err();
        assert!(plimsoll_system::error_chain(&refused).contains("the term as leader is over"), "{refused:?}");
        // The connection is closed, and no byte arrived.
        drop(client);
        assert_eq!(came.recv().await.unwrap(), "end");
        assert!(came.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_lease_that_is_not_renewed_lets_nothing_be_written_in_its_last_third() {
        let (config, mut came) = server().await;
        let timings = LeaseTimings::new(Duration::from_secs(30));
        let term = term(Instant::now() + timings.settle());
        assert!(!term.may_write());
        let client = fenced_client(&config, &term).unwrap();
        assert!(client.request_text(request("/early")).await.is_err());
        term.extend(Instant::now() + timings.lease());
        assert!(term.may_write());
        client.request_text(request("/renewed")).await.unwrap();
        loop {
            let text = came.recv().await.unwrap();
            assert!(!text.contains("/early"), "{text}");
            if text.contains("/renewed") {
                return;
            }
        }
    }
}
