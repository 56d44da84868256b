//! Replicas that call each other: found by address, known by certificate.

use std::{fs, sync::Arc};

use plimsoll_contract::{
    secure::{Site, load},
    server::Server,
};
use plimsoll_harness::{Authority, Purpose};
use plimsoll_http::{Tls, TlsFiles};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{heard, serve};
use crate::world::{BY_NAME, BY_NAME_FILTERED};

/// Calls a server as a replica does.
async fn call(from: &Tls, to: &Server) -> std::io::Result<()> {
    let mut stream = from.connect(TcpStream::connect(to.address).await?).await?;
    let head = "POST /filter HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{BY_NAME}", BY_NAME.len()).as_bytes()).await?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await?;
    assert!(reply.ends_with(BY_NAME_FILTERED), "{reply}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_our_certificate_is_a_replica_whatever_it_is_good_for() {
    let site = Site::new().unwrap();
    // It is good for servers alone, and its issuer is not in the client CA.
    let (tls, _) = site.load().unwrap();
    let server = serve(Arc::clone(&tls)).await;
    call(&tls, &server).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_without_a_client_ca_know_each_other_too() {
    let site = Site::new().unwrap();
    let (tls, _) = load(TlsFiles { client_ca: None, ..site.files() }).unwrap();
    let server = serve(Arc::clone(&tls)).await;
    call(&tls, &server).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_not_called_even_with_a_certificate_of_our_authority() {
    let site = Site::new().unwrap();
    fs::write(site.path().join("ca.crt"), site.servers.pem()).unwrap();
    let (tls, _) = site.load().unwrap();
    // The first has the same authority and names, and another key.
    let elsewhere = Site { servers: Authority::new("others").unwrap(), ..Site::new().unwrap() };
    for pair in [site.servers.issue(Purpose::Server).unwrap(), elsewhere.servers.issue(Purpose::Server).unwrap()] {
        pair.write(elsewhere.path(), "tls").unwrap();
        let (stranger, notices) = elsewhere.load().unwrap();
        let server = serve(stranger).await;
        call(&tls, &server).await.unwrap_err();
        heard(&notices, "refused: our_certificate", 1).await;
    }
}
