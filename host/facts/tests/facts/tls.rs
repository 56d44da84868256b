//! Servers with certificates.

use std::{
    io::{BufReader, Write},
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
};

use plimsoll_harness::{Authority, Purpose, http::Request};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::World;

/// Answers every request over TLS with this text, until the process ends.
fn serve(authority: &Authority, answer: String) -> SocketAddr {
    serve_in_records(authority, answer, None)
}

/// As [`serve`], in TLS records of at most these bytes.
fn serve_in_records(authority: &Authority, answer: String, record: Option<usize>) -> SocketAddr {
    let pair = authority.issue(Purpose::Server).unwrap();
    let chain = CertificateDer::pem_slice_iter(pair.cert.as_bytes()).collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = config.with_single_cert(chain, key).unwrap();
    config.max_fragment_size = record;
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = BufReader::new(StreamOwned::new(connection, stream));
            // A client that does not trust the certificate breaks off.
            if let Ok(Some(_)) = Request::read(&mut stream) {
                let _ = stream.get_mut().write_all(answer.as_bytes());
                stream.get_mut().conn.send_close_notify();
                let _ = stream.get_mut().flush();
            }
        }
    });
    address
}

fn json(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn source(address: SocketAddr, rest: &str) -> String {
    format!("a: {{http: {{url: 'https://{address}/', every: 1s{rest}}}}}\n")
}

#[test]
fn a_server_is_trusted_by_the_authorities_of_the_ca_file_and_no_others() {
    let (ours, other) = (Authority::new("ours").unwrap(), Authority::new("other").unwrap());
    let address = serve(&ours, json(r#"{"a": 1}"#));
    let world = World::start_with(&source(address, ", caFile: ca.crt"), &[("ca.crt", &other.pem())]);
    let status = world.wait_for_error("a", "the server cannot be reached");
    assert!(status.error.is_some_and(|error| error.contains("certificate")), "the error names the certificate");
    // The file is read each time.
    world.put("ca.crt", &ours.pem());
    world.wait_for("a", "a", Some("1"));
    world.put("ca.crt", "-----BEGIN NOTHING-----\n");
    world.wait_for_error("a", "has no certificate that can be used");
}

#[test]
fn without_a_ca_file_the_authorities_of_the_system_decide() {
    let address = serve(&Authority::new("ours").unwrap(), json(r#"{"a": 1}"#));
    let world = World::start(&source(address, ""));
    let status = world.wait_for_error("a", "certificate");
    assert!(status.is_absent, "{status:?}");
}

#[test]
fn a_redirect_from_https_to_http_is_not_followed() {
    let ours = Authority::new("ours").unwrap();
    let redirect = "HTTP/1.1 301 X\r\nlocation: http://127.0.0.1:1/x?y=z\r\ncontent-length: 0\r\n\r\n";
    let address = serve(&ours, redirect.to_owned());
    let world = World::start_with(&source(address, ", caFile: ca.crt"), &[("ca.crt", &ours.pem())]);
    world.wait_for_error("a", "it leads to another server");
}

#[test]
fn records_count_with_their_framing() {
    let ours = Authority::new("ours").unwrap();
    // 6 MiB without TLS, which no other limit refuses; in records of 32 bytes, the smallest, more than 8 MiB.
    let zeros = "0".repeat(6 << 20);
    let answer = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{zeros}8\r\n{{\"a\": 1}}\r\n0\r\n\r\n");
    let address = serve_in_records(&ours, answer, Some(32));
    let world = World::start_with(&source(address, ", caFile: ca.crt"), &[("ca.crt", &ours.pem())]);
    world.wait_for_error("a", "more than 8 MiB with headers, framing and TLS");
}
