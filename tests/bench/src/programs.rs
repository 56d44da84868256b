//! Programs on standard input: two filters of an extender in Go, each asked by a plimsoll of its own.
//!
//! Nothing of them is cached, so each call costs what the first one does.

use anyhow::{Result, ensure};
use plimsoll_guests::toolchains::go_program;
use plimsoll_harness::Client;
use serde_json::{Value, json};

use crate::{
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    sample::Sample,
    servers::Setting,
    wire::{CLUSTER, NODE_BYTES},
    world,
};

/// Names of rows, and the folders of their programs: with types of its own, and with those of kube-scheduler.
const PROGRAMS: [(&str, &str); 2] = [("program", "go-stdio"), ("program kube", "go-stdio-k8s")];

/// Nodes of a request, and the memory of a call, which is the default if none is named.
const SIZES: [(usize, &str); 2] = [(500, ""), (CLUSTER, ", memory: 1Gi")];

/// Measures every row that the plan wants; a program that cannot be built is reported as skipped.
///
/// # Errors
/// If a server fails, or an answer is a fault.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    for (work, folder) in PROGRAMS {
        let wanted = SIZES.map(|size| plan.wants(&format!("{work} names {} 1", size.0)).then_some(size));
        let Some(module) = wanted.iter().any(Option::is_some).then(|| go_program(folder)).flatten() else { continue };
        for (nodes, memory) in wanted.into_iter().flatten() {
            let setting = Setting::new(modules, &[], Some(snapshot(nodes).as_bytes()))?;
            std::fs::write(setting.policies().join("program.wasm"), &module)?;
            let sidecar = format!("{{stdio: {{verbs: [filter]}}, timeout: 60s{memory}}}\n");
            std::fs::write(setting.policies().join("program.yaml"), sidecar)?;
            let row = Row::new(work, "names", nodes, 1);
            report.add(row.timed(&calls(plan, &setting, nodes)?))?;
        }
    }
    Ok(())
}

fn calls(plan: &Plan, setting: &Setting, nodes: usize) -> Result<Sample> {
    let peer = setting.plimsoll_with(&["--max-policy-memory", "1Gi", "--guest-memory", "4Gi"])?;
    peer.wait_until_ready()?;
    let mut client = Client::connect(peer.address)?;
    let body = world::names_body(nodes);
    let mut times = Sample::default();
    plan.effort(10, 100).rounds(|counts| -> Result<()> {
        let reply = times.time(counts, || client.post("/filter", &body))?;
        let reply: Value = serde_json::from_slice(reply)?;
        // Each program keeps all of these nodes; a fault is an error of the reply.
        let kept = reply["NodeNames"].as_array().map_or(0, Vec::len);
        ensure!(kept == nodes, "{kept} of {nodes} nodes were kept: {}", reply["Error"]);
        Ok(())
    })?;
    Ok(times)
}

/// A snapshot with whole nodes, and no pods, since a program gets none.
fn snapshot(nodes: usize) -> String {
    let items: Vec<Value> = (0..nodes).map(|number| world::listed_node_of(number, NODE_BYTES)).collect();
    json!({"kind": "List", "apiVersion": "v1", "items": items}).to_string()
}
