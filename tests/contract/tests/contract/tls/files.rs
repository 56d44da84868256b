//! An error in the files at the start is reported with the file's name.

use std::fs;

use plimsoll_contract::secure::Site;
use plimsoll_harness::Purpose;

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
    let table = [
        ("tls.crt", "", "tls.crt"),
        ("tls.crt", &pair.key, "tls.crt"),
        ("tls.key", &pair.cert, "tls.key"),
        ("ca.crt", "certificates to come", "ca.crt"),
        ("tls.crt", &pair.cert, "tls.key"),
        ("tls.key", &pair.key, "tls.key"),
    ];
    for (file, text, named) in table {
        let complaint = complaint(&site, file, text);
        assert!(complaint.starts_with(&format!("{named} cannot be used: ")), "{complaint}");
    }
    let half = &pair.cert[..pair.cert.len() / 2];
    let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (file, text) in [("tls.crt", half), ("ca.crt", nonsense), ("tls.crt", nonsense), ("tls.key", key)] {
        let complaint = complaint(&site, file, text);
        assert!(complaint.starts_with(&format!("{file} cannot be used: ")), "{complaint}");
    }
}

#[test]
fn a_certificate_that_no_client_accepts_is_refused_with_the_remedy() {
    let site = Site::new().unwrap();
    let load = |names: &[&str], purpose| {
        site.servers.issue_for("plimsoll.test", names, purpose, 2099).unwrap().write(site.path(), "tls").unwrap();
        site.load().map(drop).map_err(|error| error.to_string())
    };
    let (by_name, by_usage) = ("make one with subjectAltName=DNS:NAME", "make one with extendedKeyUsage=serverAuth");
    let table = [
        (&["plimsoll.test"][..], Purpose::Server, None),
        (&["127.0.0.1"], Purpose::Replica, None),
        (&[], Purpose::Server, Some(by_name)),
        (&["plimsoll.test"], Purpose::Client, Some(by_usage)),
    ];
    for (names, purpose, remedy) in table {
        let error = load(names, purpose).err();
        assert_eq!(error.is_some(), remedy.is_some(), "{names:?}: {error:?}");
        let error = error.unwrap_or_default();
        assert!(error.contains(remedy.unwrap_or_default()), "{names:?}: {error}");
        assert!(error.is_empty() || error.contains("tls.crt cannot be used: "), "{error}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let site = Site::new().unwrap();
    fs::remove_file(site.path().join("tls.key")).unwrap();
    let error = site.load().map(drop).unwrap_err().to_string();
    assert!(error.starts_with("cannot read ") && error.ends_with("/tls.key"), "{error}");
}
