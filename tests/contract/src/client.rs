//! A small client: HTTP/1.1 or h2 over one connection, every wait with a deadline.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Method, Request, Response, body::Incoming, client::conn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, pki_types::ServerName};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// No wait of a test is longer.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// A kept-alive connection.
#[derive(Debug)]
pub struct Client {
    sender: Sender,
    address: SocketAddr,
    header: Option<(&'static str, &'static str)>,
}

#[derive(Debug)]
enum Sender {
    Http1(conn::http1::SendRequest<Full<Bytes>>),
    Http2(conn::http2::SendRequest<Full<Bytes>>),
}

/// A whole reply.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Waits for something that a broken server would never do.
pub async fn within<T>(what: &str, work: impl Future<Output = T>) -> Result<T> {
    timeout(DEADLINE, work).await.with_context(|| format!("{what} took longer than {DEADLINE:?}"))
}

/// Sends raw bytes, and reads until the server closes the connection.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(bytes).await?;
    Ok(String::from_utf8_lossy(&read_all(&mut stream).await?).into_owned())
}

/// Reads until the server closes the connection.
pub async fn read_all(stream: &mut TcpStream) -> Result<Vec<u8>> {
    let mut reply = Vec::new();
    let end = within("closing the connection", stream.read_to_end(&mut reply)).await?;
    // A server that closes with bytes of ours unread resets the connection: an end like any other.
    if let Err(error) = end
        && error.kind() != std::io::ErrorKind::ConnectionReset
    {
        return Err(error.into());
    }
    Ok(reply)
}

// === impl Client ===

impl Client {
    /// An HTTP/1.1 connection.
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = within("connecting", TcpStream::connect(address)).await??;
        let (sender, connection) = conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender: Sender::Http1(sender), address, header: None })
    }

    /// An h2 connection with prior knowledge.
    pub async fn connect_h2(address: SocketAddr) -> Result<Self> {
        let stream = within("connecting", TcpStream::connect(address)).await??;
        let (sender, connection) = conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender: Sender::Http2(sender), address, header: None })
    }

    /// A TLS connection that speaks what was agreed on by ALPN.
    pub async fn connect_tls(address: SocketAddr, config: Arc<ClientConfig>) -> Result<Self> {
        let stream = within("connecting", TcpStream::connect(address)).await??;
        let name = ServerName::from(address.ip());
        let stream = within("the handshake", TlsConnector::from(config).connect(name, stream)).await??;
        let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let stream = TokioIo::new(stream);
        let sender = if h2 {
            let (sender, connection) = conn::http2::handshake(TokioExecutor::new(), stream).await?;
            tokio::spawn(connection);
            Sender::Http2(sender)
        } else {
            let (sender, connection) = conn::http1::handshake(stream).await?;
            tokio::spawn(connection);
            Sender::Http1(sender)
        };
        Ok(Self { sender, address, header: None })
    }

    /// Whether the connection speaks h2.
    pub fn is_h2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Another handle of an h2 connection, for requests at the same time.
    pub fn another(&self) -> Result<Self> {
        let Sender::Http2(sender) = &self.sender else { bail!("HTTP/1.1 answers one request at a time") };
        Ok(Self { sender: Sender::Http2(sender.clone()), address: self.address, header: self.header })
    }

    /// The same client, which sends one more header.
    #[must_use]
    pub fn with_header(self, name: &'static str, value: &'static str) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// Sends a POST as kube-scheduler does.
    pub async fn post(&mut self, path: &str, body: impl Into<Bytes>) -> Result<Reply> {
        self.request(Method::POST, path, body.into()).await
    }

    /// Sends a GET.
    pub async fn get(&mut self, path: &str) -> Result<Reply> {
        self.request(Method::GET, path, Bytes::new()).await
    }

    /// Sends any request.
    pub async fn request(&mut self, method: Method, path: &str, body: Bytes) -> Result<Reply> {
        self.ready().await?;
        let answering = self.send(method, path, body)?;
        let response = within("the reply", answering).await??;
        let (parts, body) = response.into_parts();
        let body = within("the reply's body", body.collect()).await??.to_bytes();
        Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Whether the server has kept the connection open.
    pub async fn is_open(&mut self) -> bool {
        self.ready().await.is_ok()
    }

    async fn ready(&mut self) -> hyper::Result<()> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await,
            Sender::Http2(sender) => sender.ready().await,
        }
    }

    fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<impl Future<Output = hyper::Result<Response<Incoming>>> + use<>> {
        type Answering = std::pin::Pin<Box<dyn Future<Output = hyper::Result<Response<Incoming>>> + Send>>;
        let mut request = Request::builder().method(method).header("Content-Type", "application/json");
        if let Some((name, value)) = self.header {
            request = request.header(name, value);
        }
        Ok(match &mut self.sender {
            Sender::Http1(sender) => {
                let request = request.uri(path).header("Host", self.address.to_string()).body(Full::new(body))?;
                Box::pin(sender.send_request(request)) as Answering
            }
            Sender::Http2(sender) => {
                let request = request.uri(format!("http://{}{path}", self.address)).body(Full::new(body))?;
                Box::pin(sender.send_request(request)) as Answering
            }
        })
    }
}

// === impl Reply ===

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("the reply is no JSON: {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The text of the body's `Error`, if it has one.
    pub fn error(&self) -> Option<String> {
        Some(self.json().ok()?.get("Error")?.as_str()?.to_owned())
    }
}
