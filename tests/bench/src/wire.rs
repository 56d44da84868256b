//! Both extenders and the echo end to end over loopback.

use anyhow::Result;
use plimsoll_harness::samples::{self, Sample};

use crate::{
    compare::agree,
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    servers::{Servers, Setting},
    world,
};

/// Nodes of the cluster.
pub(crate) const CLUSTER: usize = 5_000;

/// Whole nodes are 8 kB each.
pub(crate) const NODE_BYTES: usize = 8_000;

pub(crate) const VERBS: [&str; 2] = ["filter", "prioritize"];

/// The difference between the calls of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Not at all.
    Steady,
    /// Each names the next nodes of the cluster, as a scheduler that samples nodes does.
    Window,
    /// Each has a pod that no policy has seen the like of.
    Unseen,
}

/// One row: filter and prioritize, about this many nodes.
type Case = (Work, usize);

/// Measures every row that the plan wants.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    use Work::{Steady, Unseen, Window};
    let ten = [(Steady, 500), (Steady, CLUSTER), (Window, 500), (Unseen, 500), (Unseen, CLUSTER)];
    measure_names(plan, modules, report, &samples::ten(), &ten)?;
    measure_objects(plan, modules, report, &samples::ten(), &[500, CLUSTER])?;
    measure_names(plan, modules, report, &samples::tens(5), &[(Steady, 500), (Steady, CLUSTER)])
}

fn measure_names(
    plan: &Plan,
    modules: &Modules,
    report: &mut Report,
    samples: &[Sample],
    cases: &[Case],
) -> Result<()> {
    let row = |(work, nodes): Case| Row::new(work.name(), "names", nodes, samples.len());
    let cases: Vec<Case> = cases.iter().copied().filter(|case| plan.wants(&row(*case).label())).collect();
    if cases.is_empty() {
        return Ok(());
    }
    let snapshot = world::snapshot(CLUSTER);
    let mut servers = Servers::start(Setting::new(modules, samples, Some(snapshot.as_bytes()))?)?;
    for (work, nodes) in cases {
        // It goes on from verb to verb, so that no pod and no window comes twice.
        let mut number = 0;
        for verb in VERBS {
            let body = world::names_body(nodes);
            let mut next = || {
                number += 1;
                match work {
                    Work::Steady => body.clone(),
                    Work::Window => window(number, nodes),
                    Work::Unseen => world::names_body_of(&world::unseen_pod(number), 0..nodes),
                }
            };
            agree(verb, &next(), &mut servers.plimsoll, &mut servers.go)?;
            servers.take_turns(verb, plan.effort(3, 1_000), next)?.report(report, &row((work, nodes)).verb(verb))?;
        }
    }
    Ok(())
}

/// The next nodes of the cluster, from where the last call ended.
pub(crate) fn window(number: usize, nodes: usize) -> bytes::Bytes {
    let first = number * nodes;
    world::names_body_of(&world::pod(), (first..first + nodes).map(|at| at % CLUSTER))
}

fn measure_objects(
    plan: &Plan,
    modules: &Modules,
    report: &mut Report,
    samples: &[Sample],
    sizes: &[usize],
) -> Result<()> {
    let rows = sizes.iter().map(|nodes| Row::new("steady", "objects", *nodes, samples.len()));
    let rows: Vec<Row> = rows.filter(|row| plan.wants(&row.label())).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let mut servers = Servers::start(Setting::new(modules, samples, None)?)?;
    for row in rows {
        let body = world::objects_body(row.nodes, row.nodes * NODE_BYTES);
        for verb in VERBS {
            agree(verb, &body, &mut servers.plimsoll, &mut servers.go)?;
            servers.take_turns(verb, plan.effort(12, 400), || body.clone())?.report(report, &row.verb(verb))?;
        }
    }
    Ok(())
}

// === impl Work ===

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Window => "window",
            Self::Unseen => "unseen",
        }
    }
}
