//! The clients that are let in, and those that are not.

use std::{sync::Arc, time::Duration};

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

const SHORT: Duration = Duration::from_millis(200);

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
async fn a_client_without_a_good_certificate_is_refused_and_the_reason_is_told() {
    let site = Site::new().unwrap();
    let (server, notices) = secure(&site).await;
    let stranger = Authority::new("clients").unwrap();
    let table = [
        (None, "no_certificate"),
        (Some(site.clients.issue_until(Purpose::Client, 2002).unwrap()), "expired"),
        // An authority of the same name with another key is unknown all the same.
        (Some(stranger.issue(Purpose::Client).unwrap()), "unknown_ca"),
        (Some(site.servers.issue(Purpose::Client).unwrap()), "unknown_ca"),
        (Some(site.clients.issue(Purpose::Server).unwrap()), "bad_certificate"),
    ];
    for (pair, reason) in table {
        let before = notices.all().len();
        let config = site.client_with(pair.as_ref(), &[]).unwrap();
        ask(&server, &config).await.unwrap_err();
        heard(&notices, &format!("refused: {reason}"), 1).await;
        assert_eq!(notices.all().len(), before + 1, "{:?}", notices.all());
    }
    is_answered(&server, &site.client().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_client_hears_why_whatever_it_has_sent_already() {
    let site = Site::new().unwrap();
    let (server, _) = secure(&site).await;
    let ended = site.clients.issue_until(Purpose::Client, 2002).unwrap();
    for (pair, alert) in [(None, "CertificateRequired"), (Some(&ended), "CertificateExpired")] {
        let connector = tokio_rustls::TlsConnector::from(site.client_with(pair, &[]).unwrap());
        let stream = TcpStream::connect(server.address).await.unwrap();
        // TLS 1.3 lets the client go on before its certificate was looked at.
        let mut stream = connector.connect(ServerName::from(server.address.ip()), stream).await.unwrap();
        stream.write_all(&[b'x'; 10_000]).await.unwrap();
        let error = stream.read(&mut [0]).await.unwrap_err().to_string();
        assert!(error.contains(alert), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_trust_the_server_is_told_apart() {
    let site = Site::new().unwrap();
    let (server, notices) = secure(&site).await;
    let elsewhere = Site::new().unwrap();
    ask(&server, &elsewhere.client().unwrap()).await.unwrap_err();
    heard(&notices, "refused: our_certificate", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_is_told_that_the_port_speaks_tls() {
    let site = Site::new().unwrap();
    let (server, notices) = secure(&site).await;
    let mut plain = server.client().await.unwrap();
    let reply = plain.post("/filter", BY_NAME).await.unwrap();
    assert_eq!(reply.status, 400);
    assert_eq!(reply.text(), "this port speaks TLS: the urlPrefix of the extender should begin with https://\n");
    heard(&notices, "refused: plain_http", 1).await;
    // A large body, or h2 with prior knowledge, fares no better and harms nobody.
    let large = format!("POST /filter HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n{}", "x".repeat(40_000));
    for bytes in [large.as_bytes(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let reply = exchange(server.address, bytes).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{reply}");
    }
    is_answered(&server, &site.client().unwrap()).await;
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
        heard(&notices, "refused: version", times).await;
    }
    exchange(server.address, &[0x16, 0x03, 0x01, 0xff, 0xff, 0, 1, 2, 3]).await.unwrap();
    exchange(server.address, &[0x80, 0x2e, 0x01, 0x00, 0x02]).await.unwrap();
    heard(&notices, "refused: not_tls", 2).await;
    is_answered(&server, &site.client().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_handshake_is_cut_and_an_unused_connection_too() {
    let site = Site::new().unwrap();
    let (tls, notices) = site.load().unwrap();
    let config = WireConfig { header_timeout: SHORT, tls: Some(tls), ..WireConfig::default() };
    let server = server(config).await;
    for bytes in [&b""[..], &[0x16], &hello_of_tls_1_1(true)[..20]] {
        exchange(server.address, bytes).await.unwrap();
    }
    // A client that sent nothing is not worth a line.
    heard(&notices, "refused: too_slow", 2).await;
    let mut unused = Client::connect_tls(server.address, site.client().unwrap()).await.unwrap();
    plimsoll_contract::client::within("closing", async { while unused.is_open().await {} }).await.unwrap();
    is_answered(&server, &site.client().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_handshakes_make_room_for_others() {
    let site = Site::new().unwrap();
    let (tls, _) = site.load().unwrap();
    let server = server(WireConfig { max_connections: 4, tls: Some(tls), ..WireConfig::default() }).await;
    let mut kept = Client::connect_tls(server.address, site.client().unwrap()).await.unwrap();
    let mut halves = Vec::new();
    for _ in 0..20 {
        let mut half = TcpStream::connect(server.address).await.unwrap();
        half.write_all(&hello_of_tls_1_1(true)[..20]).await.unwrap();
        halves.push(half);
        assert_eq!(kept.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    }
    is_answered(&server, &site.client().unwrap()).await;
    assert!(read_all(&mut halves[0]).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_nobody_reads_is_cut_off_inside_of_tls_too() {
    let site = Site::new().unwrap();
    let (tls, _) = site.load().unwrap();
    let config = WireConfig { body_timeout: SHORT, tls: Some(tls), ..WireConfig::default() };
    let server = server(config).await;
    let connector = tokio_rustls::TlsConnector::from(site.client().unwrap());
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::from(server.address.ip());
    let mut stream = connector.connect(name, stream).await.unwrap();
    // Requests whose replies fill every buffer between us; nothing is read.
    let names = vec!["\"absent-node-with-a-name-that-takes-some-room\""; 20_000].join(",");
    let body = format!(r#"{{"Pod":{{}},"NodeNames":[{names}]}}"#);
    let request = format!("POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let flood = async { while stream.write_all(request.as_bytes()).await.is_ok() {} };
    plimsoll_contract::client::within("being cut off", flood).await.unwrap();
    let mut rest = Vec::new();
    drop(stream.read_to_end(&mut rest).await);
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
    assert_eq!(notices.count("refused: plain_http"), 0, "{:?}", notices.all());
}
