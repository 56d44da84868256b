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
    let pair = authority.issue(Purpose::Server).unwrap();
    let chain = CertificateDer::pem_slice_iter(pair.cert.as_bytes()).collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(chain, key).unwrap());
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
