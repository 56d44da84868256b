//! The aims for the figures.

use crate::report::{Both, Report};

/// Holds every aim that was measured against its bound; both verbs together, by their medians.
pub(crate) fn judge(report: &mut Report) {
    let millis = |us: f64| format!("{:.2} ms", us / 1e3);
    let times = |ratio: f64| format!("{ratio:.2} x");
    let steady = Both { work: "steady", mode: "names", nodes: 5_000, policies: 10 };
    let few = Both { nodes: 500, ..steady };
    let whole = Both { mode: "objects", ..steady };
    let (changed, unseen, cold) =
        (Both { work: "changed", ..steady }, Both { work: "unseen", ..steady }, Both { work: "cold", ..steady });
    let fifty = Both { policies: 50, ..steady };

    let new = Both { work: "languages unseen", ..steady };
    let few_unseen = Both { work: "unseen", ..few };

    report.at_least("5,000 names, steady: Go against plimsoll", 9.0, steady.ratio(report, "go"), times);
    report.at_most("5,000 names, steady: plimsoll against the echo", 2.5, steady.over(report, "echo"), times);
    report.at_least("500 names, steady: Go against plimsoll", 3.3, few.ratio(report, "go"), times);
    report.at_most("500 names, steady: plimsoll against the echo", 2.1, few.over(report, "echo"), times);
    report.at_least("5,000 whole nodes, steady: Go against plimsoll", 10.0, whole.ratio(report, "go"), times);
    report.at_most("5,000 names, 1 % changed: against steady", 1.5, changed.against(report, &steady), times);
    report.at_least("500 names, unseen pods: Go against plimsoll", 0.9, few_unseen.ratio(report, "go"), times);
    report.at_least("5,000 names, unseen pods: Go against plimsoll", 4.0, unseen.ratio(report, "go"), times);
    report.at_most("5,000 names, first request after a start", 20e3, cold.of(report, "plimsoll"), millis);
    report.at_most("5,000 names, unseen pods: policies in Go against Rust", 3.0, new.over(report, "rust"), times);
    report.at_most("5,000 names, 50 policies against 10", 3.0, fifty.against(report, &steady), times);
}
