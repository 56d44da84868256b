//! The aims for the figures.

use crate::report::{Report, both};

/// Holds every aim that was measured against its bound; both verbs together, by their medians.
pub(crate) fn judge(report: &mut Report) {
    let ratio = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
    let rows = report.rows.clone();
    let us = |work, mode, nodes, policies, server| both(&rows, &(work, mode, nodes, policies), server);
    let names = |work, nodes, server| us(work, "names", nodes, 10, server);
    let steady = names("steady", 5_000, "plimsoll");

    for (what, work, mode, nodes, least) in [
        ("5,000 names, steady: Go against plimsoll", "steady", "names", 5_000, 9.0),
        ("500 names, steady: Go against plimsoll", "steady", "names", 500, 3.3),
        ("5,000 whole nodes, steady: Go against plimsoll", "steady", "objects", 5_000, 10.0),
        ("500 names, unseen pods: Go against plimsoll", "unseen", "names", 500, 0.9),
        ("5,000 names, unseen pods: Go against plimsoll", "unseen", "names", 5_000, 4.0),
    ] {
        let [go, own] = ["go", "plimsoll"].map(|server| us(work, mode, nodes, 10, server));
        report.at_least(what, least, ratio(go, own), "x");
    }
    let few = ratio(names("steady", 500, "plimsoll"), names("steady", 500, "echo"));
    report.at_most("500 names, steady: plimsoll against the echo", 2.1, few, "x");
    let many = ratio(steady, names("steady", 5_000, "echo"));
    report.at_most("5,000 names, steady: plimsoll against the echo", 2.5, many, "x");
    let changed = ratio(names("changed", 5_000, "plimsoll"), steady);
    report.at_most("5,000 names, 1 % changed: against steady", 1.5, changed, "x");
    let cold = names("cold", 5_000, "plimsoll").map(|us| us / 1e3);
    report.at_most("5,000 names, first request after a start", 20.0, cold, "ms");
    let in_go = ratio(names("languages unseen", 5_000, "plimsoll"), names("languages unseen", 5_000, "rust"));
    report.at_most("5,000 names, unseen pods: policies in Go against Rust", 3.0, in_go, "x");
    for (what, work, nodes, most) in [
        ("5,000 names, steady: a rule in CEL against Rust", "cel", 5_000, 1.1),
        ("500 names, unseen pods: a rule in CEL against Rust", "cel unseen", 500, 3.0),
    ] {
        let [cel, rust] = ["plimsoll", "rust"].map(|server| us(work, "names", nodes, 2, server));
        report.at_most(what, most, ratio(cel, rust), "x");
    }
    let fifty = ratio(us("steady", "names", 5_000, 50, "plimsoll"), steady);
    report.at_most("5,000 names, 50 policies against 10", 3.0, fifty, "x");
}
