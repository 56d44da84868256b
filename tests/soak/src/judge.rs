//! Compares the measurements with the promises.

use serde::Serialize;

use crate::{
    sampler::{Sample, Sampler},
    stage::Stage,
    trend::{Trend, trend},
};

/// The most that memory may grow, in MiB per hour.
const GROWTH: f64 = 1.0;

/// A run as long as this must show it; a shorter one fails only if growth is beyond its own noise.
const SHOWN_AFTER: f64 = 2_700.0;

/// Descriptors and threads that two quiet times may differ by: a connection of the watch that is being renewed.
const SLACK: u64 = 2;

/// A load is divided into this many parts, and the lowest memory of each part counts: 87 s each in an hour's soak.
const LOW_POINTS: usize = 32;

/// The newest samples of a quiet time; by then all is closed.
const SETTLED: usize = 3;

/// One promise.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Verdict {
    pub(crate) promise: &'static str,
    pub(crate) holds: bool,
    pub(crate) figures: String,
}

/// All promises.
pub(crate) fn judge(stage: &Stage, sampler: &Sampler, exit: Option<std::process::ExitStatus>) -> Vec<Verdict> {
    let phases = sampler.phases();
    let quiet: Vec<&[Sample]> = phases.iter().copied().filter(|phase| is(phase, "quiet")).collect();
    let load = phases.iter().copied().find(|phase| is(phase, "load")).unwrap_or_default();
    let (failed, _) = stage.tally.failures();
    let log = stage.gateway.log();
    let mut verdicts = vec![
        Verdict {
            promise: "correct requests get correct answers, and nothing fails unexpectedly",
            holds: failed == 0,
            figures: format!("{failed} failures"),
        },
        Verdict {
            promise: "the process lives, and ends in time and with success when it is told to",
            holds: exit.is_some_and(|status| status.success()),
            figures: exit.map_or("it had to be killed".to_owned(), |status| status.to_string()),
        },
        Verdict {
            promise: "nothing panics in the process",
            holds: log.bugs.is_empty(),
            figures: log
                .bugs
                .first()
                .cloned()
                .unwrap_or_else(|| format!("{} lines of log, {} errors", log.lines, log.errors)),
        },
        memory(load),
    ];
    if let [before, .., after] = quiet[..] {
        verdicts.push(same("descriptors", before, after, |sample| sample.usage.descriptors));
        verdicts.push(same("threads", before, after, |sample| sample.usage.threads));
        verdicts.push(same("child processes", before, after, |sample| sample.usage.children));
    }
    verdicts.push(level("descriptors", load, |sample| sample.usage.descriptors as f64));
    verdicts.push(level("threads", load, |sample| sample.usage.threads as f64));
    verdicts
}

/// The growth of memory under the load that is judged, in MiB.
pub(crate) fn growth(load: &[Sample]) -> Option<Trend> {
    let mib = |sample: &Sample| (sample.seconds, sample.usage.rss_kib as f64 / 1_024.0);
    trend(&floor(&load.iter().map(mib).collect::<Vec<_>>()))
}

/// The lowest points of a series. A large body takes 8 MiB while it is there, and for a minute after; a leak raises the
/// low points as well.
fn floor(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let bound = |at: usize| at * points.len() / LOW_POINTS;
    let lowest = |at: usize| points[bound(at)..bound(at + 1)].iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    (0..LOW_POINTS).filter_map(lowest).collect()
}

fn memory(load: &[Sample]) -> Verdict {
    let promise = "after the warm-up memory grows by less than 1 MiB per hour";
    let Some(growth) = growth(load) else {
        return Verdict { promise, holds: true, figures: "too short to tell".to_owned() };
    };
    let seconds = load.last().map_or(0.0, |last| last.seconds) - load.first().map_or(0.0, |first| first.seconds);
    let is_shown = growth.high < GROWTH;
    let (holds, remark) = match () {
        () if is_shown => (true, "shown"),
        () if seconds >= SHOWN_AFTER => (growth.per_hour < GROWTH, "by its estimate"),
        () => (growth.low < GROWTH, "too short a run to show it: only growth beyond the noise fails"),
    };
    let Trend { per_hour, low, high } = growth;
    Verdict { promise, holds, figures: format!("{per_hour:+.2} MiB per hour ({low:+.2} to {high:+.2}); {remark}") }
}

/// The same number in two quiet times.
fn same(what: &'static str, before: &[Sample], after: &[Sample], of: impl Fn(&Sample) -> u64) -> Verdict {
    let least = |samples: &[Sample]| samples.iter().rev().take(SETTLED).map(&of).min().unwrap_or(0);
    let (before, after) = (least(before), least(after));
    let promise = match what {
        "descriptors" => "descriptors are as many in the last quiet time as in the first",
        "threads" => "threads are as many in the last quiet time as in the first",
        _ => "child processes are as many in the last quiet time as in the first",
    };
    Verdict { promise, holds: after <= before + SLACK, figures: format!("{before}, then {after}") }
}

/// No growth under load that is beyond the noise, and beyond one in an hour's load.
fn level(what: &'static str, load: &[Sample], of: impl Fn(&Sample) -> f64) -> Verdict {
    let points: Vec<(f64, f64)> = load.iter().map(|sample| (sample.seconds, of(sample))).collect();
    let most = load.iter().map(&of).fold(0.0, f64::max);
    let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len().max(1) as f64;
    let promise =
        if what == "threads" { "threads do not grow under load" } else { "descriptors do not grow under load" };
    let Some(Trend { per_hour, low, high }) = trend(&points) else {
        return Verdict { promise, holds: true, figures: "too short to tell".to_owned() };
    };
    let hours = load.last().map_or(0.0, |last| last.seconds - load[0].seconds) / 3_600.0;
    // A twentieth of what there is: outages come and go, and a run begins and ends at any point of their cycle.
    let holds = low * hours <= mean / 20.0;
    let figures = format!("{mean:.0} on average, at most {most:.0}; {per_hour:+.1} per hour ({low:+.1} to {high:+.1})");
    Verdict { promise, holds, figures }
}

fn is(phase: &[Sample], name: &str) -> bool {
    phase.first().is_some_and(|sample| sample.phase == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An hour; for half of each minute there is a buffer of 8 MiB.
    fn hour(per_hour: f64) -> Vec<(f64, f64)> {
        let buffer = |second: u32| if second % 61 < 30 { 8.0 } else { 0.0 };
        let at = |second: u32| (f64::from(second), 60.0 + buffer(second) + per_hour * f64::from(second) / 3_600.0);
        (0..3_600).map(at).collect()
    }

    #[test]
    fn memory_that_comes_and_goes_is_no_growth_and_hides_none() {
        let flat = trend(&floor(&hour(0.0))).unwrap();
        assert!(flat.low > -0.1 && flat.high < 0.1, "{flat:?}");
        let leak = trend(&floor(&hour(2.0))).unwrap();
        assert!(leak.low > 1.8 && leak.high < 2.2, "{leak:?}");
    }

    #[test]
    fn a_short_load_has_a_low_point_for_each_sample_or_too_few_to_tell() {
        let short = &hour(0.0)[..LOW_POINTS];
        assert_eq!(floor(short), short);
        assert_eq!(trend(&floor(&short[1..])), None);
        assert!(floor(&[]).is_empty());
    }
}
