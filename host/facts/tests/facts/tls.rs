//! Servers with certificates.

use std::{
    io::{BufReader, Write},
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
};

use plimsoll_harness::{Authority, Purpose, http::Request};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};

use crate::World;

/// Answers every request over TLS with this text, until the process ends; with `clients`, only their certificates.
fn serve(authority: &Authority, clients: Option<&Authority>, answer: String) -> SocketAddr {
    let pair = authority.issue(Purpose::Server).unwrap();
    let chain = CertificateDer::pem_slice_iter(pair.cert.as_bytes()).collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = match clients {
        None => config.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(clients.pem().as_bytes()).unwrap()).unwrap();
            let provider = Arc::new(ring::default_provider());
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
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
    let address = serve(&ours, None, json(r#"{"a": 1}"#));
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
    let address = serve(&Authority::new("ours").unwrap(), None, json(r#"{"a": 1}"#));
    let world = World::start(&source(address, ""));
    let status = world.wait_for_error("a", "certificate");
    assert!(status.is_absent, "{status:?}");
}

#[test]
fn a_server_that_asks_for_a_certificate_of_the_client_gets_it() {
    let (ours, clients) = (Authority::new("ours").unwrap(), Authority::new("clients").unwrap());
    let address = serve(&ours, Some(&clients), json(r#"{"a": 1}"#));
    let pair = clients.issue(Purpose::Client).unwrap();
    let files = [("ca.crt", &*ours.pem()), ("tls.crt", &pair.cert), ("tls.key", &pair.key)];
    let source = source(address, ", caFile: ca.crt, certFile: tls.crt, keyFile: tls.key");
    let world = World::start_with(&source, &files);
    world.wait_for("a", "a", Some("1"));
    world.put("tls.key", "nothing");
    world.wait_for_error("a", "tls.key cannot be used: expected a client's certificate and its key in PEM");
}
