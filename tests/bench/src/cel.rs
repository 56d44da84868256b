//! The same rules in CEL and in Rust, each asked by a plimsoll of its own.

use anyhow::Result;
use plimsoll_harness::{Client, Peer, samples, workspace};

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

/// The rule of `plugins/tenant-pool`.
const POOL: &str = r#"
timeout: 60s
settings: {label: example.com/pool, pools: {team-a: team-a, team-b: team-b}, shared: [shared]}
cel:
  variables:
  - {name: pool, expression: 'node.labels[settings.label]'}
  - {name: own, expression: 'settings.pools[?pod.namespace].orValue("")'}
  filter:
  - expression: pool in settings.shared || own == "" || own == pool
    message: node is outside the namespace's pool
    unresolvable: true
  - expression: pool in settings.shared || own != "" || !settings.pools.exists(other, settings.pools[other] == pool)
    message: node is in another tenant's pool
    unresolvable: true
"#;

/// Calls about the same pod, about pods that were never seen, and the first one after a start.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    let two: Vec<_> = samples::five().into_iter().filter(|sample| ["pool", "warm"].contains(&&*sample.name)).collect();
    let snapshot = world::snapshot(CLUSTER);
    let [cel, rust] = [&[], &*two].map(|samples| Setting::new(modules, samples, Some(snapshot.as_bytes())));
    let (cel, rust) = (cel?, rust?);
    std::fs::write(cel.policies().join("pool.yaml"), POOL)?;
    std::fs::copy(workspace().join("plugin-sdk/cel/examples/warm-image.yaml"), cel.policies().join("warm.yaml"))?;
    let start = || -> Result<[(Peer, Client); 2]> {
        let peers = [cel.plimsoll()?, rust.plimsoll()?].map(|peer| Client::connect(peer.address).map(|to| (peer, to)));
        let [cel, rust] = peers;
        Ok([cel?, rust?])
    };
    let (mut number, mut turns) = (0, 0);
    for nodes in [500, CLUSTER] {
        let mut body = |is_unseen: bool| {
            number += 1;
            world::names_body_of(&if is_unseen { world::unseen_pod(number) } else { world::pod() }, 0..nodes)
        };
        let row = |work| Row::new(work, "names", nodes, two.len());
        let mut cold = VERBS.map(|_| [Sample::default(), Sample::default()]);
        for _ in 0..plan.times(9) {
            let [mut cel, mut rust] = start()?;
            for (verb, [in_cel, in_rust]) in VERBS.iter().zip(&mut cold) {
                let (path, body) = (format!("/{verb}"), body(false));
                in_cel.time(true, || cel.1.post(&path, &body).map(drop))?;
                in_rust.time(true, || rust.1.post(&path, &body).map(drop))?;
            }
        }
        for (verb, [in_cel, in_rust]) in VERBS.into_iter().zip(&cold) {
            add(report, &row("cel cold").verb(verb), in_cel, in_rust)?;
        }
        let [mut cel, mut rust] = start()?;
        for (work, is_unseen) in [("cel", false), ("cel unseen", true)] {
            for verb in VERBS {
                agree(verb, &body(false), &mut cel.1, &mut rust.1)?;
                let (path, mut in_cel, mut in_rust) = (format!("/{verb}"), Sample::default(), Sample::default());
                plan.effort(3, 1_000).rounds(|counts| -> Result<()> {
                    let body = body(is_unseen);
                    // Each is the first by turns: the second finds the body in the processor's cache.
                    turns += 1;
                    let mut both = [(&mut in_cel, &mut cel.1), (&mut in_rust, &mut rust.1)];
                    both.rotate_left(turns % 2);
                    both.into_iter().try_for_each(|(times, to)| times.time(counts, || to.post(&path, &body).map(drop)))
                })?;
                add(report, &row(work).verb(verb), &in_cel, &in_rust)?;
            }
        }
    }
    Ok(())
}

fn add(report: &mut Report, row: &Row, in_cel: &Sample, in_rust: &Sample) -> Result<()> {
    report.add(row.clone().timed(in_cel))?;
    report.add(Row { server: "rust", ..row.clone() }.timed(in_rust))
}
