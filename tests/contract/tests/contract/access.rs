//! The clients that may bind: on an open port a certificate decides, and everybody may ask about nodes.

use std::{fs, sync::Arc};

use plimsoll_contract::{
    binder::Api,
    client::Client,
    secure::{Site, load},
    server::{Server, gateway},
};
use plimsoll_core::{Gateway, Leader, Roster};
use plimsoll_harness::{Authority, Purpose};
use plimsoll_http::{BindAccess, Forward, Peers, Tls, WireConfig};
use rustls::{
    ClientConfig,
    version::{TLS12, TLS13},
};

use crate::world::{BY_NAME, cluster};

pub(crate) const REQUEST: &str = r#"{"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"node-00000"}"#;
pub(crate) const BOUND: &str = r#"{"Error":""}"#;
const NO_CERTIFICATE: &str = "plimsoll does not bind for a client without a certificate: start it with --tls-client-ca, which asks for one, and list the client in --bind-clients";

pub(crate) fn binding_gateway(api: &Arc<Api>) -> Gateway {
    let gateway = gateway(Roster::of_root(vec![]));
    gateway.set_cluster(cluster());
    gateway.set_binder(Arc::clone(api) as _);
    gateway
}

pub(crate) fn one_pod() -> Arc<Api> {
    Api::of([("default", "p", "u")])
}

/// A server whose port is open to the network.
pub(crate) async fn open(api: &Arc<Api>, peers: Arc<dyn Forward>, config: WireConfig) -> Server {
    Server::start_in_the_open(binding_gateway(api), peers, config).await.unwrap()
}

async fn open_with(api: &Arc<Api>, tls: Arc<Tls>, peers: Arc<dyn Forward>) -> Server {
    open(api, peers, WireConfig { tls: Some(tls), ..WireConfig::default() }).await
}

async fn bind_as(server: &Server, config: Arc<ClientConfig>) -> String {
    Client::connect_tls(server.address, config).await.unwrap().post("/bind", REQUEST).await.unwrap().text()
}

fn refused(name: &str) -> String {
    let text = format!("plimsoll does not bind for the client {name:?}: --bind-clients does not list it");
    serde_json::json!({"Error": text}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_on_an_open_port_may_ask_and_may_not_bind() {
    let api = one_pod();
    let server = open(&api, Arc::new(Peers::new(None)), WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    // The answer is the same for every request: one that differed would tell him which pods there are.
    let wrong_uid = REQUEST.replace(r#""u""#, r#""x""#);
    for (path, body) in
        [("/bind", REQUEST), ("/bind", &wrong_uid), ("/bind", "{}"), ("/bind", ""), ("/gpu/bind", REQUEST)]
    {
        let reply = client.post(path, body.to_owned()).await.unwrap();
        assert_eq!((reply.status, reply.error().as_deref()), (200, Some(NO_CERTIFICATE)), "{path} {body}");
    }
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().status, 200);
    // Saying that one is a replica makes nobody one.
    let mut liar = server.client().await.unwrap().with_header(plimsoll_http::FORWARDED, "1");
    assert_eq!(liar.post("/bind", REQUEST).await.unwrap().error().as_deref(), Some(NO_CERTIFICATE));
    assert!(api.bindings().is_empty());
    assert_eq!(server.heard.denials(), ["no_certificate"; 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_on_the_machine_of_a_loopback_listener_may_not_bind() {
    let api = one_pod();
    let server = Server::start(binding_gateway(&api), WireConfig::default()).await.unwrap();
    let mut page = server.client().await.unwrap().with_header("origin", "https://example.com");
    assert_eq!(page.post("/bind", REQUEST).await.unwrap().error().as_deref(), Some(NO_CERTIFICATE));
    assert!(api.bindings().is_empty());
    assert_eq!(server.client().await.unwrap().post("/bind", REQUEST).await.unwrap().text(), BOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_port_binds_for_everybody_only_where_that_was_said() {
    let (api, mut config) = (one_pod(), WireConfig::default());
    config.bind = BindAccess { without_authentication: true, ..BindAccess::default() };
    let server = open(&api, Arc::new(Peers::new(None)), config).await;
    assert_eq!(server.client().await.unwrap().post("/bind", REQUEST).await.unwrap().text(), BOUND);
    assert_eq!(api.bindings().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_those_whom_the_client_ca_vouches_for_only_the_listed_bind() {
    let (site, api) = (Site::new().unwrap(), one_pod());
    let (tls, _) = site.load().unwrap();
    let server = open_with(&api, tls, Arc::new(Peers::new(None))).await;
    // A cluster's CA signs kubelets too; and who issued a certificate is not whom it is for.
    let between = site.clients.intermediate("system:kube-scheduler").unwrap();
    let signers = [&site.clients, &between];
    for (version, protocol) in [(&TLS12, &b"h2"[..]), (&TLS13, b"h2"), (&TLS12, b"http/1.1"), (&TLS13, b"http/1.1")] {
        for signer in signers {
            for name in ["system:node:n1", "kube-scheduler", "system:kube-scheduler ", "*"] {
                let pair = signer.issue_named(name, Purpose::Client, 2099).unwrap();
                let config = site.client_of(&[version], Some(&pair), &[protocol]).unwrap();
                assert_eq!(bind_as(&server, config).await, refused(name));
            }
        }
    }
    assert!(api.bindings().is_empty());
    let pair = between.issue_named("system:kube-scheduler", Purpose::Client, 2099).unwrap();
    for version in [&TLS12, &TLS13] {
        assert_eq!(bind_as(&server, site.client_of(&[version], Some(&pair), &[]).unwrap()).await, BOUND);
    }
    assert_eq!(api.bindings().len(), 1);
    assert!(server.heard.denials().iter().all(|reason| *reason == "not_listed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_several_authorities_vouches_for_names() {
    let (site, api) = (Site::new().unwrap(), one_pod());
    let second = Authority::new("second").unwrap();
    fs::write(site.path().join("ca.crt"), site.clients.pem() + &second.pem()).unwrap();
    let (tls, _) = site.load().unwrap();
    let server = open_with(&api, tls, Arc::new(Peers::new(None))).await;
    for authority in [&site.clients, &second] {
        let client = |name| {
            let pair = authority.issue_named(name, Purpose::Client, 2099).unwrap();
            site.client_with(Some(&pair), &[]).unwrap()
        };
        assert_eq!(bind_as(&server, client("system:node:n1")).await, refused("system:node:n1"));
        assert_eq!(bind_as(&server, client("system:kube-scheduler")).await, BOUND);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_without_a_client_ca_tells_nobody_from_a_stranger() {
    let (site, api) = (Site::new().unwrap(), one_pod());
    let (tls, _) = load(plimsoll_http::TlsFiles { client_ca: None, ..site.files() }).unwrap();
    let server = open_with(&api, tls, Arc::new(Peers::new(None))).await;
    let shown = site.clients.issue(Purpose::Client).unwrap();
    let mut client = Client::connect_tls(server.address, site.client_with(Some(&shown), &[]).unwrap()).await.unwrap();
    assert_eq!(client.post("/bind", REQUEST).await.unwrap().error().as_deref(), Some(NO_CERTIFICATE));
    assert!(api.bindings().is_empty());
}

/// A standby before a leader, each with the certificates of its site; a client is checked by the standby.
async fn replicas(standby: &Site, leader: &Site) -> (Server, Server, Arc<Api>) {
    let (bound, waiting) = (one_pod(), one_pod());
    let leader = open_with(&bound, leader.load().unwrap().0, Arc::new(Peers::new(None))).await;
    waiting.set_leader(Leader::Peer(format!("https://{}", leader.address).into()));
    let tls = standby.load().unwrap().0;
    let standby = open_with(&waiting, Arc::clone(&tls), Arc::new(Peers::new(Some(tls)))).await;
    (standby, leader, bound)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_checks_its_client_and_the_leader_trusts_the_standby() {
    let site = Site::new().unwrap();
    let (standby, leader, bound) = replicas(&site, &site).await;
    let kubelet = site.clients.issue_named("system:node:n1", Purpose::Client, 2099).unwrap();
    assert_eq!(bind_as(&standby, site.client_with(Some(&kubelet), &[]).unwrap()).await, refused("system:node:n1"));
    assert!(leader.heard.answers().is_empty());
    assert_eq!(bind_as(&standby, site.client().unwrap()).await, BOUND);
    assert_eq!((bound.bindings().len(), leader.heard.denials().len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_with_the_names_of_ours_makes_nobody_a_replica() {
    let (site, api) = (Site::new().unwrap(), one_pod());
    site.servers.issue(Purpose::Replica).unwrap().write(site.path(), "tls").unwrap();
    let server = open_with(&api, site.load().unwrap().0, Arc::new(Peers::new(None))).await;
    let namesake = site.clients.issue(Purpose::Replica).unwrap();
    assert_eq!(bind_as(&server, site.client_with(Some(&namesake), &[]).unwrap()).await, refused("plimsoll"));
    assert!(api.bindings().is_empty());
}
