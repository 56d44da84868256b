//! The same policies in Rust and in Go, each asked by a plimsoll of its own.
//!
//! Of the languages that the tests build guests in, Go's are the slowest: each instance starts a runtime.

use anyhow::{Context, Result, ensure};
use plimsoll_guests::toolchains::go_policy;
use plimsoll_harness::{Client, Peer, samples};
use tempfile::TempDir;

use crate::{
    compare::agree,
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    sample::Sample,
    servers::Setting,
    wire::{CLUSTER, VERBS},
    world,
};

/// The names of the rows, and whether each of their calls is about a new pod.
const WORKS: [(&str, bool); 2] = [("languages", false), ("languages unseen", true)];

/// Both plimsolls, and the Go extender that says what is right.
struct Servers {
    in_go: Client,
    in_rust: Client,
    extender: Client,
    _running: [Peer; 3],
}

/// Asks both in turns, about the same pod and about pods that were never seen.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    let Some(in_go) = build()? else { return Ok(()) };
    let mut servers = Servers::start(modules, &Modules::find(in_go.path().to_owned())?)?;
    let policies = samples::ten_in_any_language().len();
    let mut number = 0;
    for (work, is_unseen) in WORKS {
        for verb in VERBS {
            let row = Row::new(work, "names", CLUSTER, policies).verb(verb);
            let next = || {
                number += 1;
                let pod = if is_unseen { world::unseen_pod(number) } else { world::pod() };
                world::names_body_of(&pod, 0..CLUSTER)
            };
            servers.measure(plan, report, &row, next)?;
        }
    }
    Ok(())
}

/// A directory with the policies in Go; none, with a line that says why, where there is no Go.
fn build() -> Result<Option<TempDir>> {
    let directory = tempfile::tempdir()?;
    for name in ["tenant-pool", "warm-image"] {
        let Some(module) = go_policy(name) else { return Ok(None) };
        std::fs::write(directory.path().join(format!("{name}.wasm")), module).context(name)?;
    }
    Ok(Some(directory))
}

// === impl Servers ===

impl Servers {
    fn start(rust: &Modules, go: &Modules) -> Result<Self> {
        let ten = samples::ten_in_any_language();
        let snapshot = world::snapshot(CLUSTER);
        let [rust, go] = [rust, go].map(|modules| Setting::new(modules, &ten, Some(snapshot.as_bytes())));
        let (rust, go) = (rust?, go?);
        let running = [go.plimsoll()?, rust.plimsoll()?, rust.go()?];
        let [in_go, in_rust, extender] = running.each_ref().map(|peer| Client::connect(peer.address));
        Ok(Self { in_go: in_go?, in_rust: in_rust?, extender: extender?, _running: running })
    }

    fn measure(
        &mut self,
        plan: &Plan,
        report: &mut Report,
        row: &Row,
        mut body: impl FnMut() -> bytes::Bytes,
    ) -> Result<()> {
        let (path, first) = (format!("/{}", row.verb), body());
        agree(row.verb, &first, &mut self.in_go, &mut self.extender)?;
        let (mut go, mut rust) = (Sample::default(), Sample::default());
        plan.effort(3, 1_000).rounds(|counts| -> Result<()> {
            let body = body();
            let reply = go.time(counts, || self.in_go.post(&path, &body))?;
            let same = rust.time(counts, || self.in_rust.post(&path, &body))? == reply;
            ensure!(same, "{}: the policies in Go and those in Rust differ", row.verb);
            Ok(())
        })?;
        report.add(row.clone().timed(&go))?;
        report.add(Row { server: "rust", ..row.clone() }.timed(&rust))
    }
}
