//! The floor: a server on the same stack that reads a request and replies with as many bytes as the path says.

use std::{io::Write, sync::LazyLock, thread::available_parallelism};

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::net::TcpListener;

/// The argument that makes this program the echo.
pub(crate) const ARGUMENT: &str = "--echo";

/// The largest reply.
const MOST: usize = 128 << 20;

/// Replies are slices of it, so that making one costs nothing.
static REPLY: LazyLock<Bytes> = LazyLock::new(|| vec![0; MOST].into());

/// Serves until it is killed; the address is the one line that it prints.
pub(crate) fn serve() -> Result<()> {
    // As few threads as plimsoll gives its connections.
    let threads = available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 8));
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "{{\"listen\":\"{}\"}}", listener.local_addr()?)?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // The client decides when a connection ends, and the bench when the process does.
            tokio::spawn(async move {
                let server = auto::Builder::new(TokioExecutor::new());
                server.serve_connection(TokioIo::new(stream), service_fn(echo)).await.ok();
            });
        }
    })
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let size = request.uri().path().trim_start_matches('/').parse().unwrap_or(0);
    request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new(REPLY.slice(..MOST.min(size)))))
}
