//! Names mode after a change of the cluster: the first call that sees it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::{Client, FakeApi, samples};
use serde_json::{Value, json};

use crate::{
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    sample::Sample,
    servers::Setting,
    wire::{CLUSTER, VERBS},
    world,
};

/// The time in which plimsoll must see a change.
const PATIENCE: Duration = Duration::from_secs(30);

/// Of the nodes, one in this many changes between two calls.
const CHANGED: usize = 100;

/// The label by which the changed nodes change sides.
const POOL: &str = "example.com/pool";

/// A cluster whose nodes change.
pub(crate) struct Changing {
    nodes: Vec<Value>,
    api_server: FakeApi,
    round: usize,
}

// === impl Changing ===

impl Changing {
    /// A cluster behind an API server of its own.
    pub(crate) fn start() -> Result<Self> {
        let nodes: Vec<Value> = (0..CLUSTER).map(world::listed_node).collect();
        let api_server = FakeApi::start(nodes.iter().cloned(), world::placed_on(CLUSTER))?;
        Ok(Self { nodes, api_server, round: 0 })
    }

    /// The file by which it is reached.
    pub(crate) fn kubeconfig(&self) -> Result<String> {
        Ok(self.api_server.kubeconfig().to_str().context("a path that is UTF-8")?.to_owned())
    }

    /// Changes 1 % of the nodes, and waits until each of these servers knows.
    pub(crate) fn change(&mut self, clients: &mut [&mut Client]) -> Result<()> {
        let before = clients.iter_mut().map(|client| is_kept(client)).collect::<Result<Vec<_>>>()?;
        ensure!(before.iter().all(|one| *one == before[0]), "the servers do not know the same cluster");
        self.api_server.put_nodes(changed(&self.nodes, self.round, !before[0]));
        self.round += 1;
        let started = Instant::now();
        for client in clients {
            while is_kept(client)? == before[0] {
                ensure!(started.elapsed() < PATIENCE, "a changed node is not seen");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

/// Changes 1 % of the nodes, waits until plimsoll's watch has shown it, and times the next call of each verb.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    let ten = samples::ten();
    let setting = Setting::new(modules, &ten, None)?;
    let mut changing = Changing::start()?;
    let plimsoll = setting.plimsoll_with(&["--kubeconfig", &changing.kubeconfig()?])?;
    plimsoll.wait_until_ready()?;
    let mut client = Client::connect(plimsoll.address)?;
    let body = world::names_body(CLUSTER);
    let mut times = VERBS.map(|_| Sample::default());
    for _ in 0..plan.times(60) {
        // Both verbs are warm before the change, as they are under a busy scheduler.
        for verb in VERBS {
            client.post(&format!("/{verb}"), &body)?;
        }
        changing.change(&mut [&mut client])?;
        for (verb, times) in VERBS.iter().zip(&mut times) {
            times.time(true, || client.post(&format!("/{verb}"), &body).map(drop))?;
        }
    }
    for (verb, times) in VERBS.iter().zip(&times) {
        report.add(Row::new("changed", "names", CLUSTER, ten.len()).verb(verb).timed(times))?;
    }
    Ok(())
}

/// One in a hundred nodes, each round others, in another pool; the first node always comes last.
fn changed(nodes: &[Value], round: usize, first_is_kept: bool) -> impl Iterator<Item = Value> {
    let in_pool = move |at: usize, pool: &str| {
        let mut node = nodes[at].clone();
        node["metadata"]["labels"][POOL] = json!(pool);
        node
    };
    let count = nodes.len() / CHANGED - 1;
    let others = (0..count).map(move |at| 1 + (round * count + at) % (nodes.len() - 1));
    let others = others.map(move |at| in_pool(at, if round.is_multiple_of(2) { "team-b" } else { "shared" }));
    others.chain([in_pool(0, if first_is_kept { "team-a" } else { "team-b" })])
}

/// Whether the first node is its team's; it changes sides with every change of the cluster.
fn is_kept(client: &mut Client) -> Result<bool> {
    let reply: Value = serde_json::from_slice(client.post("/filter", &world::names_body(1))?)?;
    Ok(reply["NodeNames"] == json!([world::name(0)]))
}
