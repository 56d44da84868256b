//! Certificates change while requests are under way.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use plimsoll_contract::{
    client::Client,
    secure::{LOOK, Notices, Site, files_in, load},
    server::Server,
};
use plimsoll_harness::{Authority, Pair, Purpose, tempdir};
use plimsoll_http::Tls;
use tokio::task::{JoinHandle, JoinSet};

use super::{ask, heard, is_answered, serve};
use crate::world::{BY_NAME, BY_NAME_FILTERED};

/// A server that follows the site's files.
async fn following(site: &Site) -> (Server, Arc<Notices>) {
    let (tls, notices) = site.load().unwrap();
    follow(&tls);
    (serve(tls).await, notices)
}

/// The task ends with the test's runtime.
fn follow(tls: &Arc<Tls>) -> JoinHandle<()> {
    tokio::spawn(Arc::clone(tls).follow(LOOK))
}

/// The certificate that the server shows now.
async fn shown(server: &Server, site: &Site) -> Vec<u8> {
    let connector = tokio_rustls::TlsConnector::from(site.client().unwrap());
    let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let name = rustls::pki_types::ServerName::from(server.address.ip());
    let stream = connector.connect(name, stream).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

fn der(pair: &Pair) -> Vec<u8> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    CertificateDer::from_pem_slice(pair.cert.as_bytes()).unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_fails_while_certificates_rotate() {
    let site = Site::new().unwrap();
    let (server, notices) = following(&site).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let answered: [Arc<AtomicUsize>; 3] = Default::default();
    let mut load = JoinSet::new();
    for (fresh, answered) in [false, true, true].into_iter().zip(answered.clone()) {
        let (address, config, stopped) = (server.address, site.client().unwrap(), stopped.clone());
        load.spawn(async move {
            let connect = async || Client::connect_tls(address, Arc::clone(&config)).await.unwrap();
            let mut client = connect().await;
            while !*stopped.borrow() {
                if fresh {
                    client = connect().await;
                }
                assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
                answered.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    let mut last = None;
    for rotation in 1..=10 {
        let pair = site.servers.issue(Purpose::Server).unwrap();
        pair.write(site.path(), "tls").unwrap();
        heard(&notices, "loaded", rotation).await;
        last = Some(pair);
        // Each of them gets a request through that began after the change.
        let counts = || answered.each_ref().map(|answered| answered.load(Ordering::SeqCst));
        let before = counts();
        while counts().iter().zip(before).any(|(now, before)| *now < before + 2) {
            #[expect(clippy::disallowed_methods, reason = "it asks until each client was answered twice")]
            tokio::time::sleep(LOOK).await;
            assert!(load.try_join_next().is_none(), "a client gave up");
        }
    }
    stop.send_replace(true);
    load.join_all().await;
    assert_eq!(shown(&server, &site).await, der(&last.unwrap()));
    let trouble: Vec<_> = notices.all().into_iter().filter(|notice| notice.starts_with("refused")).collect();
    assert_eq!(trouble, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pair_that_does_not_fit_keeps_the_last_good_one() {
    let site = Site::new().unwrap();
    let (server, notices) = following(&site).await;
    let before = shown(&server, &site).await;
    let renewed = site.servers.issue(Purpose::Server).unwrap();
    fs::write(site.path().join("tls.crt"), &renewed.cert).unwrap();
    heard(&notices, "kept", 1).await;
    assert_eq!(shown(&server, &site).await, before);
    // The other half comes: the pair is whole.
    fs::write(site.path().join("tls.key"), &renewed.key).unwrap();
    heard(&notices, "loaded", 1).await;
    assert_eq!(shown(&server, &site).await, der(&renewed));
    fs::write(site.path().join("tls.crt"), &renewed.cert[..100]).unwrap();
    heard(&notices, "kept", 2).await;
    fs::remove_file(site.path().join("tls.key")).unwrap();
    heard(&notices, "kept", 3).await;
    assert_eq!(shown(&server, &site).await, der(&renewed));
    is_answered(&server, &site.client().unwrap()).await;
    assert_eq!(notices.count("loaded"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_ca_is_replaced_as_well() {
    let site = Site::new().unwrap();
    let (server, notices) = following(&site).await;
    let (old, next) = (site.client().unwrap(), Authority::new("next").unwrap());
    let pair = next.issue(Purpose::Client).unwrap();
    let new = site.client_with(Some(&pair), &[]).unwrap();
    ask(&server, &new).await.unwrap_err();
    let bundle = |text: String| fs::write(site.path().join("ca.crt"), text).unwrap();
    bundle(site.clients.pem() + &next.pem());
    heard(&notices, "loaded", 1).await;
    for client in [&old, &new] {
        is_answered(&server, client).await;
    }
    bundle(next.pem());
    heard(&notices, "loaded", 2).await;
    // A session of before the change opens no door: neither side may resume it.
    ask(&server, &old).await.unwrap_err();
    is_answered(&server, &new).await;
}

/// Lays a Secret's volume out as the kubelet does, or swaps it.
fn mount(directory: &Path, revision: &str, pair: &Pair, ca: &str) {
    let data = directory.join(revision);
    fs::create_dir(&data).unwrap();
    pair.write(&data, "tls").unwrap();
    fs::write(data.join("ca.crt"), ca).unwrap();
    symlink(revision, directory.join("..data_tmp")).unwrap();
    fs::rename(directory.join("..data_tmp"), directory.join("..data")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_of_a_mounted_secret_is_taken_up() {
    let site = Site::new().unwrap();
    let mounted = tempdir().unwrap();
    let path = mounted.path();
    mount(path, "..2026_11_21_first", &site.servers.issue(Purpose::Server).unwrap(), &site.clients.pem());
    for file in ["tls.crt", "tls.key", "ca.crt"] {
        symlink(Path::new("..data").join(file), path.join(file)).unwrap();
    }
    let (tls, notices) = load(files_in(path)).unwrap();
    follow(&tls);
    let server = serve(tls).await;
    is_answered(&server, &site.client().unwrap()).await;
    let renewed = site.servers.issue(Purpose::Server).unwrap();
    mount(path, "..2026_11_21_second", &renewed, &site.clients.pem());
    fs::remove_dir_all(path.join("..2026_11_21_first")).unwrap();
    heard(&notices, "loaded", 1).await;
    assert_eq!(shown(&server, &site).await, der(&renewed));
    assert_eq!(notices.count("kept"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_expiry_of_what_is_in_force_is_told() {
    let site = Site::new().unwrap();
    let (_server, notices) = following(&site).await;
    // The first seconds of 2099 and of 2050.
    assert_eq!(notices.all(), ["expires: 4070908800"]);
    site.servers.issue_until(Purpose::Server, 2050).unwrap().write(site.path(), "tls").unwrap();
    heard(&notices, "expires: 2524608000", 1).await;
}
