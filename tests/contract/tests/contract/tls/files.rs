//! An error in the files at the start is reported with the file's name.

use std::fs;

use plimsoll_contract::secure::Site;
use plimsoll_harness::{Authority, Purpose};

/// The error when a file has this text.
fn complaint(site: &Site, file: &str, text: &str) -> String {
    let path = site.path().join(file);
    let good = fs::read(&path).unwrap();
    fs::write(&path, text).unwrap();
    let error = site.load().map(drop).unwrap_err().to_string();
    fs::write(&path, good).unwrap();
    site.load().unwrap();
    error.replace(&format!("{}/", site.path().display()), "")
}

#[test]
fn a_bad_file_at_the_start_is_named() {
    let site = Site::new().unwrap();
    let pair = site.servers.issue(Purpose::Server).unwrap();
    let ended = site.servers.issue_until(Purpose::Server, 2002).unwrap();
    let table = [
        ("tls.crt", "", "tls.crt has no certificate: expected PEM"),
        ("tls.crt", &pair.key, "tls.crt has no certificate: expected PEM"),
        ("tls.key", &pair.cert, "tls.key has no private key without a passphrase: expected PEM"),
        ("ca.crt", "certificates to come", "ca.crt has no certificate: expected PEM"),
        ("tls.crt", &pair.cert, "the key in tls.key is not that of the certificate in tls.crt"),
        ("tls.key", &pair.key, "the key in tls.key is not that of the certificate in tls.crt"),
        ("tls.crt", &ended.cert, "the certificate in tls.crt expired at 2002-01-01T00:00:00Z"),
    ];
    for (file, text, expected) in table {
        assert_eq!(complaint(&site, file, text), expected);
    }
    let half = &pair.cert[..pair.cert.len() / 2];
    let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (file, text) in [("tls.crt", half), ("ca.crt", nonsense), ("tls.crt", nonsense), ("tls.key", key)] {
        let complaint = complaint(&site, file, text);
        assert!(complaint.starts_with(&format!("{file} is malformed: ")), "{complaint}");
    }
}

#[test]
fn a_missing_and_an_enormous_file_are_named() {
    let site = Site::new().unwrap();
    let large = "x".repeat((1 << 20) + 1);
    assert_eq!(complaint(&site, "ca.crt", &large), "ca.crt has more than 1048576 bytes: expected a few certificates");
    fs::remove_file(site.path().join("tls.key")).unwrap();
    let error = site.load().map(drop).unwrap_err().to_string();
    assert!(error.starts_with("cannot read ") && error.ends_with("/tls.key"), "{error}");
}

#[test]
fn a_bundle_of_client_authorities_needs_one_that_is_valid() {
    let site = Site::new().unwrap();
    let ended = Authority::new_until("ended", 2002).unwrap();
    let expected = "the certificate in ca.crt expired at 2002-01-01T00:00:00Z";
    assert_eq!(complaint(&site, "ca.crt", &ended.pem()), expected);
    fs::write(site.path().join("ca.crt"), ended.pem() + &site.clients.pem()).unwrap();
    site.load().unwrap();
}
