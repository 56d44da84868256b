//! The clients that are let in, and those that are not.

use std::sync::Arc;

use plimsoll_contract::{
    client::{Client, exchange, read_all},
    secure::{Site, load},
};
use plimsoll_core::RequestId;
use plimsoll_harness::{Authority, Purpose};
use plimsoll_http::{Forward, Peers, TlsFiles, WireConfig};
use rustls::{
    HandshakeKind, ProtocolVersion,
    pki_types::ServerName,
    version::{TLS12, TLS13},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{ask, heard, is_answered, secure, serve};
use crate::world::{BY_NAME, BY_NAME_FILTERED, server};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_good_certificate_is_answered_over_both_protocols() {
    let site = Site::new().unwrap();
    let (server, _) = secure(&site).await;
    let pair = site.clients.issue(Purpose::Client).unwrap();
    for (protocols, h2) in [(&[&b"h2"[..], b"http/1.1"][..], true), (&[b"http/1.1"], false), (&[], false)] {
        let config = site.client_with(Some(&pair), protocols).unwrap();
        let mut client = Client::connect_tls(server.address, config).await.unwrap();
        assert_eq!(client.is_h2(), h2, "{protocols:?}");
        for _ in 0..3 {
            assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
        }
    }
    server.stopped().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn both_versions_are_spoken_and_each_connection_shows_its_certificate() {
    let site = Site::new().unwrap();
    let (server, _) = secure(&site).await;
    let pair = site.clients.issue(Purpose::Client).unwrap();
    for (version, protocol) in [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)] {
        let config = site.client_of(&[version], Some(&pair), &[]).unwrap();
        // The client would take its session up again, if it were let.
        for _ in 0..3 {
            let connector = tokio_rustls::TlsConnector::from(Arc::clone(&config));
            let stream = TcpStream::connect(server.address).await.unwrap();
            let mut stream = connector.connect(ServerName::from(server.address.ip()), stream).await.unwrap();
            let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut reply = String::new();
            stream.read_to_string(&mut reply).await.unwrap();
            assert!(reply.starts_with("HTTP/1.1 404 "), "{reply}");
            let session = stream.get_ref().1;
            assert_eq!(session.protocol_version(), Some(protocol));
            assert_eq!(session.handshake_kind(), Some(HandshakeKind::Full));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_requests_and_replies_pass_as_they_do_outside_of_tls() {
    let site = Site::new().unwrap();
    let (secure, plain) = (secure(&site).await.0, server(WireConfig::default()).await);
    // Some megabytes in each direction: more than every window and buffer on the way.
    let nodes: Vec<String> = (0..400)
        .map(|number| {
            format!(
                r#"{{"metadata":{{"name":"n{number}","labels":{{"disktype":"ssd"}},"x":"{}"}}}}"#,
                "y".repeat(10_000)
            )
        })
        .collect();
    let pod = r#"{"metadata":{"labels":{"needs":"ssd"}}}"#;
    let body = format!(r#"{{"Pod":{pod},"Nodes":{{"metadata":{{}},"items":[{}]}}}}"#, nodes.join(","));
    let expected = plain.client().await.unwrap().post("/filter", body.clone()).await.unwrap().body;
    assert!(expected.len() > 4_000_000, "{}", expected.len());
    let pair = site.clients.issue(Purpose::Client).unwrap();
    for protocol in [&b"h2"[..], b"http/1.1"] {
        let config = site.client_with(Some(&pair), &[protocol]).unwrap();
        let mut client = Client::connect_tls(secure.address, config).await.unwrap();
        for _ in 0..2 {
            assert!(client.post("/filter", body.clone()).await.unwrap().body == expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_client_ca_no_certificate_is_asked_for() {
    let site = Site::new().unwrap();
    let (tls, _) = load(TlsFiles { client_ca: None, ..site.files() }).unwrap();
    let server = serve(tls).await;
    is_answered(&server, &site.client_with(None, &[]).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_good_certificate_is_refused() {
    let site = Site::new().unwrap();
    let (server, notices) = secure(&site).await;
    let stranger = Authority::new("clients").unwrap();
    let table = [
        (None, 1),
        (Some(site.clients.issue_until(Purpose::Client, 2002).unwrap()), 2),
        // An authority of the same name with another key is unknown all the same.
        (Some(stranger.issue(Purpose::Client).unwrap()), 3),
        (Some(site.servers.issue(Purpose::Client).unwrap()), 4),
        (Some(site.clients.issue(Purpose::Server).unwrap()), 5),
    ];
    for (pair, times) in table {
        let config = site.client_with(pair.as_ref(), &[]).unwrap();
        ask(&server, &config).await.unwrap_err();
        heard(&notices, "refused: certificate", times).await;
    }
    is_answered(&server, &site.client().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_trust_the_server_is_told_apart() {
    let site = Site::new().unwrap();
    let (server, notices) = secure(&site).await;
    let elsewhere = Site::new().unwrap();
    ask(&server, &elsewhere.client().unwrap()).await.unwrap_err();
    heard(&notices, "refused: our_certificate", 1).await;
}

/// A `ClientHello` of TLS 1.1, with and without the extension that 1.2 brought.
fn hello_of_tls_1_1(extension: bool) -> Vec<u8> {
    let mut hello = vec![0x03, 0x02];
    hello.extend([7; 32]);
    // No session, one cipher suite, no compression.
    hello.extend([0, 0, 2, 0x00, 0x2f, 1, 0]);
    if extension {
        hello.extend([0, 10, 0x00, 0x0d, 0, 6, 0, 4, 0x04, 0x01, 0x04, 0x03]);
    }
    let length = hello.len() as u8;
    let mut record = vec![0x16, 0x03, 0x01, 0, length + 4, 0x01, 0, 0, length];
    record.extend(hello);
    record
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_below_1_2_and_what_is_no_tls_are_refused() {
    let site = Site::new().unwrap();
    let (server, notices) = secure(&site).await;
    for (times, extension) in [(1, true), (2, false)] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&hello_of_tls_1_1(extension)).await.unwrap();
        let alert = read_all(&mut stream).await.unwrap();
        assert_eq!(alert[0], 0x15, "{alert:?}");
        heard(&notices, "refused: handshake", times).await;
    }
    exchange(server.address, &[0x16, 0x03, 0x01, 0xff, 0xff, 0, 1, 2, 3]).await.unwrap();
    exchange(server.address, &[0x80, 0x2e, 0x01, 0x00, 0x02]).await.unwrap();
    heard(&notices, "refused: handshake", 3).await;
    exchange(server.address, b"POST /filter HTTP/1.1\r\n\r\n").await.unwrap();
    heard(&notices, "refused: not_tls", 1).await;
    is_answered(&server, &site.client().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bind_is_forwarded_over_tls_with_the_certificate_of_the_listener() {
    let site = Site::new().unwrap();
    let (server, notices) = secure(&site).await;
    let peers = Peers::new(Some(site.load().unwrap().0));
    let send = async |url: String| peers.forward(&url, "/filter", BY_NAME.into(), &RequestId::None).await;
    assert_eq!(send(format!("https://{}", server.address)).await.unwrap(), BY_NAME_FILTERED);
    // A Lease may say http: a bind is not told in the clear, so the listener there hears nothing.
    assert!(send(format!("http://{}", server.address)).await.is_err());
    assert_eq!(notices.count("refused: not_tls"), 0, "{:?}", notices.all());
}
