//! `plimsoll serve` with certificates: its output at the start, its log and its metrics.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
};

use plimsoll_commands::plimsoll;
use plimsoll_harness::{Authority, Plimsoll, Purpose, tempdir, wait_until};
use serde_json::Value;

use crate::text;

/// `tls.crt`, `tls.key` and `ca.crt` in a directory.
fn lay(directory: &Path) -> Authority {
    let authority = Authority::new("plimsoll-test").unwrap();
    authority.issue(Purpose::Server).unwrap().write(directory, "tls").unwrap();
    fs::write(directory.join("ca.crt"), authority.pem()).unwrap();
    authority
}

fn serve(directory: &Path) -> Plimsoll {
    let file = |name: &str| text(&directory.join(name)).to_owned();
    let (cert, key, ca) = (file("tls.crt"), file("tls.key"), file("ca.crt"));
    let args = ["--no-compile-cache", "--tls-cert", &cert, "--tls-key", &key, "--tls-client-ca", &ca];
    Plimsoll::serve(directory, &args).unwrap()
}

fn has(gateway: &Plimsoll, metric: &str) -> bool {
    gateway.get("/metrics").unwrap().body.lines().any(|line| line == metric)
}

fn message(line: &Value) -> &str {
    line["message"].as_str().unwrap_or_default()
}

#[test]
fn a_certificate_that_cannot_be_used_ends_the_start_and_names_its_file() {
    let directory = tempdir().unwrap();
    let authority = lay(directory.path());
    let start = || {
        let args = ["serve", "--no-compile-cache", "--policies", ".", "--tls-cert", "tls.crt", "--tls-key", "tls.key"];
        let printed = plimsoll(directory.path(), &[&args[..], &["--tls-client-ca", "ca.crt"]].concat()).unwrap();
        assert_eq!(printed.code, Some(2), "{printed:?}");
        printed.err
    };
    authority.issue_until(Purpose::Server, 2002).unwrap().write(directory.path(), "tls").unwrap();
    assert_eq!(start(), "plimsoll: tls.crt cannot be used: it expired at 2002-01-01T00:00:00Z\n");
    fs::write(directory.path().join("tls.key"), authority.issue(Purpose::Server).unwrap().key).unwrap();
    fs::write(directory.path().join("tls.crt"), authority.issue(Purpose::Server).unwrap().cert).unwrap();
    let said = start();
    assert!(said.starts_with("plimsoll: tls.key cannot be used: "), "{said}");
    fs::remove_file(directory.path().join("ca.crt")).unwrap();
    assert_eq!(start(), "plimsoll: cannot read ca.crt: No such file or directory (os error 2)\n");
}

#[test]
fn a_refusal_is_logged_with_its_reason_and_counted_and_a_flood_is_not() {
    let directory = tempdir().unwrap();
    lay(directory.path());
    let gateway = serve(directory.path());
    for _ in 0..40 {
        let mut plain = TcpStream::connect(gateway.wire).unwrap();
        plain.write_all(b"POST /filter HTTP/1.1\r\n\r\n").unwrap();
        // An alert, or a reset with bytes of ours unread.
        drop(plain.read_to_end(&mut Vec::new()));
    }
    let line = gateway.wait_for_log("the refusal", |line| line["reason"] == "not_tls").unwrap();
    assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    assert!(message(&line).ends_with("its urlPrefix should begin with https://"), "{line}");
    assert!(has(&gateway, "plimsoll_tls_refused_total{reason=\"not_tls\"} 40"));
    let lines = gateway.count_log(|line| line["reason"] == "not_tls");
    assert!(lines <= 15, "{lines} lines");
    // The admin side stays plain.
    assert_eq!(gateway.get("/healthz").unwrap().status, 200);
}

#[test]
fn a_renewed_certificate_is_taken_up_and_a_broken_one_is_not() {
    let directory = tempdir().unwrap();
    let authority = lay(directory.path());
    let gateway = serve(directory.path());
    assert!(has(&gateway, "plimsoll_tls_certificate_expiry_timestamp_seconds 4070908800"));
    authority.issue_until(Purpose::Server, 2050).unwrap().write(directory.path(), "tls").unwrap();
    let line = gateway.wait_for_log("new certificates", |line| message(line).contains("are in force")).unwrap();
    assert_eq!(line["expires"], "2050-01-01T00:00:00Z");
    assert!(has(&gateway, "plimsoll_tls_certificate_expiry_timestamp_seconds 2524608000"));
    fs::write(directory.path().join("tls.key"), authority.issue(Purpose::Server).unwrap().key).unwrap();
    let line =
        gateway.wait_for_log("the complaint", |line| message(line).contains("the certificates in force stay")).unwrap();
    assert!(line["error"].as_str().unwrap().contains("tls.key cannot be used: "), "{line}");
    let refused = "plimsoll_tls_reloads_total{result=\"refused\"} 1";
    wait_until("the count", || has(&gateway, refused).then_some(())).unwrap();
    assert!(has(&gateway, "plimsoll_tls_files_refused 1"));
    assert!(has(&gateway, "plimsoll_tls_certificate_expiry_timestamp_seconds 2524608000"));
}
