//! Both extenders and the echo end to end over loopback.

use anyhow::Result;
use plimsoll_harness::samples::{self, Sample};

use crate::{
    compare::agree,
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    servers::{Servers, Setting},
    toggles::Toggles,
    world,
};

/// Nodes of the cluster, unless a row has more.
pub(crate) const CLUSTER: usize = 5_000;

/// Whole nodes are 8 kB each.
pub(crate) const NODE_BYTES: usize = 8_000;

/// Of the nodes, one in this many changes between two calls.
pub(crate) const CHANGED: usize = 100;

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
    /// Each has 1 % of the nodes changed.
    Changed,
}

/// One row: filter and prioritize.
#[derive(Debug, Clone, Copy)]
struct Case {
    work: Work,
    nodes: usize,
}

/// Policies, and the rows that are measured with them.
struct Set {
    /// A work of its own in the report, if it is no variation of the others.
    name: Option<&'static str>,
    samples: Vec<Sample>,
    names: Vec<Case>,
    objects: Vec<Case>,
}

/// Measures every row that the plan wants.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    for set in sets() {
        let label = |case: &Case, mode: &str| format!("{} {mode} {} {}", set.work(case), case.nodes, set.samples.len());
        let wanted = |cases: &[Case], mode: &str| -> Vec<Case> {
            cases.iter().filter(|case| plan.wants(&label(case, mode))).copied().collect()
        };
        measure_names(plan, modules, report, &set, &wanted(&set.names, "names"))?;
        measure_objects(plan, modules, report, &set, &wanted(&set.objects, "objects"))?;
    }
    Ok(())
}

fn sets() -> [Set; 4] {
    let cases = |work, nodes: &[usize]| nodes.iter().map(|nodes| Case { work, nodes: *nodes }).collect::<Vec<_>>();
    let steady = |nodes: &[usize]| cases(Work::Steady, nodes);
    let set = |name, samples, names, objects| Set { name, samples, names, objects };
    let ten = [steady(&[100, 500, CLUSTER]), cases(Work::Window, &[500]), cases(Work::Unseen, &[500, CLUSTER])];
    let ten_whole = [steady(&[100, 500, CLUSTER]), cases(Work::Changed, &[CLUSTER])];
    [
        set(None, samples::one(), steady(&[500, CLUSTER]), vec![]),
        set(
            None,
            samples::ten(),
            [ten.concat(), steady(&[15_000])].concat(),
            [ten_whole.concat(), steady(&[15_000])].concat(),
        ),
        set(None, samples::tens(5), steady(&[500, CLUSTER]), steady(&[500])),
        set(Some("ranks"), samples::five_twice(), steady(&[500, CLUSTER]), vec![]),
    ]
}

fn measure_names(plan: &Plan, modules: &Modules, report: &mut Report, set: &Set, cases: &[Case]) -> Result<()> {
    let (small, large): (Vec<Case>, Vec<Case>) = cases.iter().partition(|case| case.nodes <= CLUSTER);
    for cases in [small, large] {
        let Some(most) = cases.iter().map(|case| case.nodes).max() else { continue };
        let snapshot = world::snapshot(most.max(CLUSTER));
        let mut servers = Servers::start(Setting::new(modules, &set.samples, Some(snapshot.as_bytes()))?)?;
        for case in cases {
            let row = Row::new(set.work(&case), "names", case.nodes, set.samples.len());
            // It goes on from verb to verb, so that no pod and no window comes twice.
            let mut number = 0;
            for verb in VERBS {
                let body = world::names_body(case.nodes);
                let mut next = || {
                    number += 1;
                    match case.work {
                        Work::Steady | Work::Changed => body.clone(),
                        Work::Window => window(number, case.nodes),
                        Work::Unseen => world::names_body_of(&world::unseen_pod(number), 0..case.nodes),
                    }
                };
                agree(verb, &next(), &mut servers.plimsoll, &mut servers.go)?;
                servers.take_turns(verb, plan.effort(3, 1_000), next)?.report(report, &row.verb(verb))?;
            }
        }
    }
    Ok(())
}

/// The next nodes of the cluster, from where the last call ended.
pub(crate) fn window(number: usize, nodes: usize) -> bytes::Bytes {
    let first = number * nodes;
    world::names_body_of(&world::pod(), (first..first + nodes).map(|at| at % CLUSTER))
}

fn measure_objects(plan: &Plan, modules: &Modules, report: &mut Report, set: &Set, cases: &[Case]) -> Result<()> {
    if cases.is_empty() {
        return Ok(());
    }
    let mut servers = Servers::start(Setting::new(modules, &set.samples, None)?)?;
    for case in cases.iter().filter(|case| !plan.quick || case.nodes <= CLUSTER) {
        let row = Row::new(set.work(case), "objects", case.nodes, set.samples.len());
        let mut body = Toggles::new(world::objects_body(case.nodes, case.nodes * NODE_BYTES).to_vec())?;
        for verb in VERBS {
            agree(verb, body.text(), &mut servers.plimsoll, &mut servers.go)?;
            let steady = body.body();
            let next = || match case.work {
                Work::Changed => {
                    body.toggle(case.nodes / CHANGED);
                    body.body()
                }
                Work::Steady | Work::Window | Work::Unseen => steady.clone(),
            };
            servers.take_turns(verb, plan.effort(12, 400), next)?.report(report, &row.verb(verb))?;
        }
    }
    Ok(())
}

// === impl Set ===

impl Set {
    fn work(&self, case: &Case) -> &'static str {
        self.name.unwrap_or(match case.work {
            Work::Steady => "steady",
            Work::Window => "window",
            Work::Unseen => "unseen",
            Work::Changed => "changed",
        })
    }
}
