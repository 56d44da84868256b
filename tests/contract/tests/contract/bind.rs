//! bind: one message in, one short one out, and from replica to replica at most once.

use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use plimsoll_contract::{
    binder::Api,
    check,
    client::{Client, within},
    rules::{Fake, member},
    server::{Server, gateway},
};
use plimsoll_core::{
    BindError, Binder, Binding, Gateway, IsUnchanged, Leader, MetadataEntry, NotReserved, Pod, RequestId, Reservation,
    Roster, Verdict,
};
use plimsoll_http::{FORWARDED, Forward, ForwardError, Forwarding, WireConfig};

use crate::world::cluster;

const REQUEST: &str = r#"{"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"node-00000"}"#;
const BOUND: &str = r#"{"Error":""}"#;
const PEER: &str = "http://peer.example:8888";

/// A gateway whose one policy gives every pod a device, before this API server.
fn binding_gateway(api: &Arc<Api>) -> Gateway {
    let device = Fake::default().bind(|_, _| Ok(vec![MetadataEntry::new("e.com/device", "0")]));
    let gateway = gateway(Roster::of_root(vec![member("gpu", device)]));
    gateway.set_cluster(cluster());
    gateway.set_binder(Arc::clone(api) as _);
    gateway
}

fn one_pod() -> Arc<Api> {
    Api::of([("default", "p", "u")])
}

async fn server(api: &Arc<Api>) -> Server {
    Server::start(binding_gateway(api), WireConfig::default()).await.unwrap()
}

async fn refusal(client: &mut Client, body: impl Into<Bytes>) -> String {
    let reply = client.post("/bind", body).await.unwrap();
    check::refusal("bind", &reply).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_bound_and_bound_again_without_an_error() {
    let api = one_pod();
    let server = server(&api).await;
    let mut client = server.client().await.unwrap();
    for _ in 0..2 {
        let reply = client.post("/bind", REQUEST).await.unwrap();
        check::frame(&reply).unwrap();
        assert_eq!(reply.text(), BOUND);
    }
    let bindings = api.bindings();
    let [binding] = &bindings[..] else { panic!("{bindings:?}") };
    assert_eq!(
        (&*binding.namespace, &*binding.name, &*binding.uid, &*binding.node),
        ("default", "p", "u", "node-00000")
    );
    assert_eq!(&*binding.annotations["e.com/device"], "0");
    assert_eq!(server.heard.answers(), ["/bind 200 decided 1", "/bind 200 decided 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_match_in_any_case_the_last_wins_and_unknown_ones_are_skipped() {
    for body in [
        r#"{"podname":"p","podnamespace":"default","poduid":"u","node":"node-00000"}"#,
        r#"{"PODNAME":"p","PODNAMESPACE":"default","PODUID":"u","NODE":"node-00000"}"#,
        r#"{"PodName":"x","podName":"p","X":[{"Node":1}],"PodNamespace":"default","PodUID":"\u0075","Node":"n","node":"node-00000"}"#,
    ] {
        let api = one_pod();
        let reply = server(&api).await.client().await.unwrap().post("/bind", body).await.unwrap();
        assert_eq!(reply.text(), BOUND, "{body}");
        assert_eq!(api.bindings().len(), 1, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_bind_request_is_refused_by_its_field() {
    let api = one_pod();
    let server = server(&api).await;
    let mut client = server.client().await.unwrap();
    let with = |field: &str, value: &str| {
        let mut body: serde_json::Value = serde_json::from_str(REQUEST).unwrap();
        body[field] = serde_json::from_str(value).unwrap();
        body.to_string()
    };
    let long = |length: usize| format!("\"{}\"", "n".repeat(length));
    let table = [
        (String::new(), "is empty"),
        ("null".to_owned(), "invalid type: null"),
        ("[]".to_owned(), "invalid type: sequence"),
        ("{}".to_owned(), "PodName is missing or empty"),
        (format!("{REQUEST} {REQUEST}"), "trailing characters"),
        (with("PodName", "\"\""), "PodName is missing or empty"),
        (with("PodNamespace", "\"\""), "PodNamespace is missing or empty"),
        (with("PodUID", "null"), "PodUID is missing or empty"),
        (with("Node", "5"), "Node: invalid type: integer `5`"),
        (with("PodName", "{}"), "PodName: invalid type: map"),
        (with("PodName", "\"../nodes/n\""), "PodName is no name"),
        (with("PodName", "\"..\""), "PodName is no name"),
        (with("PodName", "\"P\""), "PodName is no name"),
        (with("PodNamespace", "\"a/b\""), "PodNamespace is no name"),
        (with("Node", "\"a%2fb\""), "Node is no name"),
        (with("Node", &long(254)), "Node is no name"),
        (with("PodNamespace", &long(64)), "PodNamespace is no name"),
    ];
    for (body, expected) in table {
        let error = refusal(&mut client, body.clone()).await;
        assert!(error.contains(expected), "{body} -> {error}");
    }
    for length in 0..REQUEST.len() {
        refusal(&mut client, REQUEST.as_bytes()[..length].to_vec()).await;
    }
    refusal(&mut client, b"{\"PodName\":\"\xff\"}".to_vec()).await;
    refusal(&mut client, format!(r#"{{"PodName":{}"#, "[".repeat(50_000))).await;
    assert!(api.bindings().is_empty());
    let longest = [("PodName", 253), ("Node", 253), ("PodNamespace", 63)];
    for (field, length) in longest {
        let error = refusal(&mut client, with(field, &long(length))).await;
        assert!(!error.contains("is no name"), "{error}");
    }
    assert_eq!(client.post("/bind", REQUEST).await.unwrap().text(), BOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bind_body_has_a_bound_of_its_own() {
    let padded = |size: usize| {
        let rest = size - REQUEST.len() - r#","x":"""#.len();
        format!(r#"{},"x":"{}"}}"#, REQUEST.trim_end_matches('}'), "x".repeat(rest))
    };
    let api = one_pod();
    let server = server(&api).await;
    let mut client = server.client().await.unwrap();
    let error = refusal(&mut client, padded((64 << 10) + 1)).await;
    assert!(error.contains("65537 bytes"), "{error}");
    assert_eq!(client.post("/bind", padded(64 << 10)).await.unwrap().text(), BOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_in_the_error_field_with_status_200() {
    let full = Fake::default().bind(|_, _| Err("no GPU of the node has enough memory left".to_owned()));
    let gateway = gateway(Roster::of_root(vec![member("gpu", full)]));
    gateway.set_cluster(cluster());
    gateway.set_binder(one_pod() as _);
    let server = Server::start(gateway, WireConfig::default()).await.unwrap();
    let reply = server.client().await.unwrap().post("/bind", REQUEST).await.unwrap();
    assert_eq!(reply.text(), r#"{"Error":"gpu: no GPU of the node has enough memory left"}"#);
    assert_eq!(server.heard.answers(), ["/bind 200 failed 0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn binds_do_not_hold_up_decisions() {
    /// Its API server does not answer before it is told to.
    #[derive(Default)]
    struct Stuck {
        asked: AtomicUsize,
        answers: Mutex<bool>,
        changed: Condvar,
    }
    impl Binder for Stuck {
        fn leader(&self) -> Leader {
            Leader::ThisReplica
        }
        fn pod(&self, _: &str, _: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            drop(self.changed.wait_while(self.answers.lock().unwrap(), |answers| !*answers).unwrap());
            Err(BindError::NoPod)
        }
        fn reserve(
            &self,
            _: &Arc<Pod>,
            _: Binding,
            _: &IsUnchanged<'_>,
        ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
            Err(NotReserved::Changed)
        }
    }
    let stuck = Arc::<Stuck>::default();
    let gateway = gateway(Roster::of_root(vec![]));
    gateway.set_cluster(cluster());
    gateway.set_binder(Arc::clone(&stuck) as _);
    let config = WireConfig { max_decisions: 1, ..WireConfig::default() };
    let server = Server::start(gateway, config).await.unwrap();
    let binds = (0..4).map(|node| {
        let address = server.address;
        let body = format!(r#"{{"PodName":"p","PodNamespace":"default","PodUID":"u{node}","Node":"n{node}"}}"#);
        tokio::spawn(async move { Client::connect(address).await?.post("/bind", body).await })
    });
    let binds: Vec<_> = binds.collect();
    let all_asked = async {
        while stuck.asked.load(Ordering::SeqCst) < 4 {
            tokio::task::yield_now().await;
        }
    };
    within("asking the API server", all_asked).await.unwrap();
    let mut client = server.client().await.unwrap();
    assert_eq!(client.post("/prioritize", r#"{"Pod":{},"NodeNames":[]}"#).await.unwrap().text(), "[]");
    *stuck.answers.lock().unwrap() = true;
    stuck.changed.notify_all();
    for bind in binds {
        assert_eq!(bind.await.unwrap().unwrap().error().unwrap(), "pod default/p: there is no such pod");
    }
}

/// Answers as another replica would, and remembers what it was sent.
#[derive(Default)]
struct Peer {
    reply: Mutex<Option<Result<Bytes, ForwardError>>>,
    sent: Mutex<Vec<String>>,
}

impl Peer {
    fn answers(&self, reply: Result<&str, &str>) {
        let reply = reply.map(|body| Bytes::from(body.to_owned()));
        *self.reply.lock().unwrap() = Some(reply.map_err(|why| ForwardError::NoReply(why.to_owned())));
    }
}

impl Forward for Peer {
    fn forward<'f>(&'f self, peer: &'f str, path: &'f str, body: Bytes, _: &'f RequestId) -> Forwarding<'f> {
        self.sent.lock().unwrap().push(format!("{peer}{path} {}", String::from_utf8_lossy(&body)));
        Box::pin(async { self.reply.lock().unwrap().clone().unwrap() })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bind_that_reaches_a_standby_is_sent_to_the_replica_that_binds() {
    let (api, peer) = (one_pod(), Arc::new(Peer::default()));
    api.set_leader(Leader::Peer(PEER.into()));
    let server =
        Server::start_with_peers(binding_gateway(&api), Arc::clone(&peer) as _, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    peer.answers(Ok(BOUND));
    assert_eq!(client.post("/bind", REQUEST).await.unwrap().text(), BOUND);
    assert_eq!(*peer.sent.lock().unwrap(), [format!("{PEER}/bind {REQUEST}")]);
    // The other replica's answer is passed on as it is, and counts as its failure.
    let refused = r#"{"Error":"gpu: full"}"#;
    peer.answers(Ok(refused));
    assert_eq!(client.post("/bind", REQUEST).await.unwrap().text(), refused);
    assert_eq!(server.heard.answers(), ["/bind 200 decided 1", "/bind 200 failed 1"]);
    assert!(api.bindings().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_does_not_answer_is_an_error_that_names_it() {
    let (api, peer) = (one_pod(), Arc::new(Peer::default()));
    api.set_leader(Leader::Peer(PEER.into()));
    let server =
        Server::start_with_peers(binding_gateway(&api), Arc::clone(&peer) as _, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    for (reply, expected) in [
        (Err("connection refused"), "connection refused"),
        (Ok("<html>"), "its reply is no ExtenderBindingResult"),
        (Ok(""), "its reply is empty"),
    ] {
        peer.answers(reply);
        let error = refusal(&mut client, REQUEST).await;
        assert!(error.starts_with(&format!("the bind cannot be forwarded to the replica at {PEER}: ")), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bind_that_was_forwarded_is_not_forwarded_again() {
    let (api, peer) = (one_pod(), Arc::new(Peer::default()));
    peer.answers(Ok(BOUND));
    let server =
        Server::start_with_peers(binding_gateway(&api), Arc::clone(&peer) as _, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap().with_header(FORWARDED, "1");
    api.set_leader(Leader::Peer(PEER.into()));
    let error = refusal(&mut client, REQUEST).await;
    assert!(error.contains("another replica forwarded it to this one, which does not lead"), "{error}");
    assert!(peer.sent.lock().unwrap().is_empty());
    api.set_leader(Leader::ThisReplica);
    assert_eq!(client.post("/bind", REQUEST).await.unwrap().text(), BOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_about_a_member_of_a_gang_that_reaches_a_standby_is_sent_to_the_replica_that_binds() {
    let (api, peer) = (one_pod(), Arc::new(Peer::default()));
    let counts = Fake::default().importing("placed.count").filter(|_, _| Verdict::Fits);
    let gateway = binding_gateway(&api);
    gateway.set_places(Arc::clone(&api) as _);
    gateway.set_roster(Arc::new(Roster::of_root(vec![member("limit", counts)])));
    let server = Server::start_with_peers(gateway, Arc::clone(&peer) as _, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    let request = |spec: &str| {
        let (uid, nodes) = (r#"{"uid":"u"}"#, r#"["node-00000","node-00001"]"#);
        format!(r#"{{"Pod":{{"metadata":{uid},"spec":{{{spec}}}}},"NodeNames":{nodes}}}"#)
    };
    let member = request(r#""schedulingGroup":{"podGroupName":"g"}"#);
    let replies = [r#"{"NodeNames":["node-00001"],"FailedNodes":{"node-00000":"limit: full"}}"#, r#"{"Error":"busy"}"#];
    api.set_leader(Leader::Peer(PEER.into()));
    for reply in replies {
        peer.answers(Ok(reply));
        assert_eq!(client.post("/filter", member.clone()).await.unwrap().text(), reply);
    }
    peer.answers(Err("connection refused"));
    let error = client.post("/filter", member.clone()).await.unwrap().error().unwrap();
    assert_eq!(error, format!("the filter cannot be forwarded to the replica at {PEER}: connection refused"));
    assert_eq!(*peer.sent.lock().unwrap(), vec![format!("{PEER}/filter {member}"); 3]);
    let kept = |reply: String| (reply.contains("node-00000"), reply.matches("another node was chosen").count());
    assert_eq!(kept(client.post("/filter", request("")).await.unwrap().text()), (true, 0), "no member");
    api.set_leader(Leader::ThisReplica);
    assert_eq!(kept(client.post("/filter", member).await.unwrap().text()), (true, 1));
}
