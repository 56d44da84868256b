//! Bytes that no scheduler sends.

use plimsoll_sample::{node, pod};
use serde_json::json;

/// Bytes for one connection, and how it ends.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) ending: Ending,
}

/// The end of an attack, from the sender's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It reads the reply, which must be one of these statuses.
    Reads(&'static [u16]),
    /// It closes its sending side, and reads whatever comes.
    Stops,
    /// It goes away.
    Leaves,
}

/// Filter and bind say what is wrong in a reply of status 200.
const SAYS_SO: Ending = Ending::Reads(&[200]);
const REFUSED: Ending = Ending::Reads(&[400]);

/// All attacks; those that could be remembered differ from round to round.
pub(crate) fn all(round: u32) -> Vec<Attack> {
    let mut attacks = bodies(round);
    attacks.extend(heads(round));
    attacks
}

fn attack(name: &'static str, bytes: Vec<u8>, ending: Ending) -> Attack {
    Attack { name, bytes, ending }
}

fn post(path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    declared(path, body.as_ref().len(), body.as_ref())
}

/// A request that announces this many bytes, whatever it has.
fn declared(path: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn bodies(round: u32) -> Vec<Attack> {
    let pod = pod("web", "site", round);
    let about = |nodes: serde_json::Value| json!({"Pod": pod, "Nodes": {"items": nodes}}).to_string();
    let strangers: Vec<String> = (0..20_000).map(|at| format!("stranger-{round}-{at}")).collect();
    let victims: serde_json::Map<_, _> = (0..5_000)
        .map(|at| (format!("stranger-{round}-{at}"), json!({"Pods": [{"UID": format!("{round}-{at}")}]})))
        .collect();
    let deep = |levels: usize| [r#"{"Pod": {"metadata": {"name": "p"}, "x": "#, &"[".repeat(levels)].concat();
    let labels: serde_json::Map<_, _> =
        (0..3_000).map(|at| (format!("example.com/l-{round}-{at}"), json!("v"))).collect();
    let mut labelled = node(1);
    labelled["metadata"]["labels"] = labels.into();
    let text = "y".repeat(4 << 20);
    vec![
        attack("a number for a pod", post("/filter", r#"{"Pod": 3}"#), SAYS_SO),
        attack("names that are numbers", post("/filter", r#"{"Pod": {}, "NodeNames": [1, 2]}"#), SAYS_SO),
        attack("a list", post("/prioritize", "[]"), REFUSED),
        attack("nothing", post("/prioritize", ""), REFUSED),
        attack("null", post("/preempt", "null"), REFUSED),
        attack("no UTF-8", post("/prioritize", b"{\"Pod\": \"\xff\xfe\xc0\"}"), REFUSED),
        attack("half a surrogate", post("/prioritize", r#"{"Pod": {"metadata": {"name": "\ud800"}}}"#), REFUSED),
        attack("a huge number", post("/prioritize", r#"{"Pod": 1e99999}"#), REFUSED),
        attack("half a body", post("/prioritize", &json!({"Pod": pod}).to_string()[..60]), REFUSED),
        attack("deep", post("/prioritize", deep(100_000)), REFUSED),
        attack("a long text", post("/filter", json!({"Pod": {"metadata": {"name": text}}}).to_string()), SAYS_SO),
        attack("strangers", post("/filter", json!({"Pod": pod, "NodeNames": strangers}).to_string()), SAYS_SO),
        attack(
            "many candidates",
            post("/preempt", json!({"Pod": pod, "NodeNameToMetaVictims": victims}).to_string()),
            Ending::Reads(&[200, 400, 500, 503]),
        ),
        attack("nodes without names", post("/filter", about(json!(vec![json!({}); 5_000]))), SAYS_SO),
        attack("a node of many labels", post("/filter", about(json!([labelled]))), SAYS_SO),
        attack("nodes that are lists", post("/filter", about(json!([[], [[]]]))), SAYS_SO),
        attack(
            "a path for a name",
            post("/bind", r#"{"PodName": "../../secrets/x", "PodNamespace": "ml", "PodUID": "u", "Node": "node-160"}"#),
            SAYS_SO,
        ),
        attack(
            "a bind of nobody",
            post(
                "/bind",
                json!({"PodName": format!("nobody-{round}"), "PodNamespace": "ml", "PodUID": "u", "Node": "node-160"})
                    .to_string(),
            ),
            SAYS_SO,
        ),
        attack("a long bind", post("/bind", " ".repeat(100 << 10)), SAYS_SO),
    ]
}

fn heads(round: u32) -> Vec<Attack> {
    let filler = "z".repeat(200_000);
    let group = format!("/group-{round}/prioritize");
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec();
    let noise: Vec<u8> =
        (0..4_096_u32).map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(round) >> 13) as u8).collect();
    let chunks = "POST /filter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let both =
        "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let get = "GET /filter HTTP/1.1\r\nHost: localhost\r\n\r\n";
    vec![
        attack("a group that is not there", post(&group, "{}"), Ending::Reads(&[400, 404])),
        attack("a page that is not there", post(&format!("/api/{round}"), "{}"), Ending::Reads(&[404])),
        attack("GET", get.into(), Ending::Reads(&[405])),
        attack("fifty at once", get.repeat(50).into_bytes(), Ending::Leaves),
        attack("a long head", format!("POST /filter HTTP/1.1\r\nX: {filler}").into_bytes(), Ending::Stops),
        attack(
            "many headers",
            format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(5_000)).into_bytes(),
            Ending::Stops,
        ),
        attack("a TLS hello", hello, Ending::Stops),
        attack("noise", noise, Ending::Stops),
        attack("a chunk without end", format!("{chunks}ffffffffffffffff\r\n").into_bytes(), Ending::Stops),
        attack("a chunk of no size", format!("{chunks}xyz\r\nabc\r\n").into_bytes(), Ending::Stops),
        attack("two lengths", both.into(), Ending::Stops),
        attack("more announced than sent", declared("/filter", 10_000, b"{\"Pod\":"), Ending::Stops),
        attack("more announced than sent, and gone", declared("/filter", 10_000, b"{\"Pod\":"), Ending::Leaves),
        attack("far too much announced", declared("/filter", 3 << 30, &[b' '; 1 << 16]), Ending::Leaves),
        attack("megabytes, and gone", declared("/filter", 200 << 20, &vec![b' '; 2 << 20]), Ending::Leaves),
        attack(
            "a reply that nobody reads",
            post("/filter", r#"{"Pod": {"metadata": {"name": "p"}}, "NodeNames": []}"#),
            Ending::Leaves,
        ),
        attack("half a preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n".to_vec(), Ending::Stops),
        attack("a preface and noise", [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0xff; 64]].concat(), Ending::Stops),
    ]
}
