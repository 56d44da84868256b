//! Reads a page of the admin listener of a gateway, for the commands that ask one.

use std::{io, time::Duration};

use axum::http::{Request, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

/// Time limit of a page.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum bytes of a page: 20,000 pods.
const MAX_PAGE: usize = 64 << 20;

/// Reads `{server}{path}`: whether its status is 200, and its text.
///
/// # Errors
/// If there is no answer, or it is neither 200 nor 404.
pub async fn read_admin_page(server: &str, path: &str) -> io::Result<(bool, Bytes)> {
    let read = timeout(TIMEOUT, read(server.trim_end_matches('/'), path)).await;
    read?.map_err(|error| io::Error::new(error.kind(), format!("{server} (--server): {error}")))
}

async fn read(server: &str, path: &str) -> io::Result<(bool, Bytes)> {
    let uri: Uri = format!("{server}{path}").parse().map_err(io::Error::other)?;
    let wrong = || io::Error::other("expected http://HOST:PORT, the address of an admin listener");
    let (host, authority) = uri.host().zip(uri.authority()).ok_or_else(wrong)?;
    if uri.scheme_str() != Some("http") {
        return Err(wrong());
    }
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), uri.port_u16().unwrap_or(80))).await?;
    let request = Request::get(path).header(header::HOST, authority.as_str()).body(Empty::<Bytes>::new());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // It ends with the sender; an error is the request's, too.
    tokio::spawn(connection);
    let reply = sender.send_request(request.map_err(io::Error::other)?).await.map_err(io::Error::other)?;
    let status = reply.status();
    let body = Limited::new(reply.into_body(), MAX_PAGE).collect().await.map_err(io::Error::other)?.to_bytes();
    match status {
        StatusCode::OK | StatusCode::NOT_FOUND => Ok((status == StatusCode::OK, body)),
        status => Err(io::Error::other(format!("status {status}: {}", String::from_utf8_lossy(&body).trim_end()))),
    }
}
