//! The peer: a server on the same stack that sends back what it got, and so cannot be beaten.

use std::io::Write;

use anyhow::Result;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::net::TcpListener;

/// The argument that makes this program the echo.
pub(crate) const ARGUMENT: &str = "--echo";

/// Serves until it is killed; the address is the one line that it prints.
pub(crate) fn serve() -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
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

async fn echo(request: Request<Incoming>) -> Result<Response<Full<bytes::Bytes>>, hyper::Error> {
    Ok(Response::new(Full::new(request.into_body().collect().await?.to_bytes())))
}
