//! Compares the measurements with the promises.

use std::process::ExitStatus;

use crate::{
    sampler::{Sample, Sampler, Usage},
    stage::Stage,
};

/// The most that memory may grow, in MiB per hour.
const MOST_GROWTH: f64 = 1.0;

/// Descriptors and threads that two quiet times may differ by: a connection of the watch that is being renewed.
const SLACK: u64 = 2;

/// The newest samples of a quiet time; by then all is closed.
const SETTLED: usize = 3;

/// The load is divided into this many parts, and the lowest memory of each counts: a large body takes 8 MiB while it is
/// there, and for a minute after; a leak raises the low points as well.
const PARTS: usize = 16;

/// The 97.5 % quantile of Student's distribution with `PARTS - 2` degrees of freedom.
const STUDENT: f64 = 2.145;

/// One promise.
pub(crate) struct Verdict {
    pub(crate) promise: String,
    pub(crate) holds: bool,
    pub(crate) figures: String,
}

/// Growth per hour, with the bounds of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Growth {
    per_hour: f64,
    low: f64,
    high: f64,
}

/// All promises.
pub(crate) fn judge(stage: &Stage, sampler: &Sampler, exit: Option<ExitStatus>) -> Vec<Verdict> {
    let verdict = |promise: &str, holds, figures| Verdict { promise: promise.to_owned(), holds, figures };
    let failures = stage.tally.failures();
    // A guest's panic is named so by plimsoll, in JSON; the host's own comes from the standard library.
    let is_panic = |line: &serde_json::Value| line.as_str().is_some_and(|text| text.contains("panicked at"));
    let panics = stage.gateway.count_log(is_panic);
    let mut verdicts = vec![
        verdict("correct requests get correct answers", failures == 0, format!("{failures} failures")),
        verdict(
            "plimsoll ends in time when it is told to",
            exit.is_some_and(|exit| exit.success()),
            format!("{exit:?}"),
        ),
        verdict("nothing panics in the process", panics == 0, format!("{panics} panics")),
    ];
    let phases: Vec<&[Sample]> = sampler.phases().collect();
    if let [_, before, load, after] = phases[..] {
        // Threads and caches come with the first half; a leak goes on in the second.
        verdicts.push(memory(&load[load.len() / 2..]));
        verdicts.push(same("descriptors", before, after, |usage| usage.descriptors));
        verdicts.push(same("threads", before, after, |usage| usage.threads));
        verdicts.push(same("child processes", before, after, |usage| usage.children));
    }
    verdicts
}

fn memory(load: &[Sample]) -> Verdict {
    let promise = "memory does not grow by more than 1 MiB per hour, beyond the noise of the run".to_owned();
    let points: Vec<(f64, f64)> =
        load.iter().map(|sample| (sample.seconds, sample.usage.rss_kib as f64 / 1_024.0)).collect();
    let Some(Growth { per_hour, low, high }) = growth(&points) else {
        return Verdict { promise, holds: true, figures: "too short to tell".to_owned() };
    };
    let figures = format!("{per_hour:+.2} MiB per hour ({low:+.2} to {high:+.2})");
    Verdict { promise, holds: low < MOST_GROWTH, figures }
}

/// The same number in two quiet times, both without clients.
fn same(what: &str, before: &[Sample], after: &[Sample], of: impl Fn(&Usage) -> u64) -> Verdict {
    let least =
        |samples: &[Sample]| samples.iter().rev().take(SETTLED).map(|sample| of(&sample.usage)).min().unwrap_or(0);
    let (before, after) = (least(before), least(after));
    let promise = format!("{what} are as many in the last quiet time as in the first");
    Verdict { promise, holds: after <= before + SLACK, figures: format!("{before}, then {after}") }
}

/// The slope of a straight line through the low points of (seconds, value); none of too few points.
fn growth(points: &[(f64, f64)]) -> Option<Growth> {
    if points.len() < 2 * PARTS {
        return None;
    }
    let bound = |part: usize| part * points.len() / PARTS;
    let lowest = |part: usize| {
        points[bound(part)..bound(part + 1)].iter().copied().min_by(|one, other| one.1.total_cmp(&other.1))
    };
    let lows: Vec<(f64, f64)> = (0..PARTS).filter_map(lowest).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| lows.iter().map(of).sum::<f64>() / PARTS as f64;
    let (x, y) = (mean(|low| low.0), mean(|low| low.1));
    let spread: f64 = lows.iter().map(|low| (low.0 - x).powi(2)).sum();
    let slope = lows.iter().map(|low| (low.0 - x) * (low.1 - y)).sum::<f64>() / spread;
    let residuals: f64 = lows.iter().map(|low| (low.1 - y - slope * (low.0 - x)).powi(2)).sum();
    let error = STUDENT * (residuals / (PARTS - 2) as f64 / spread).sqrt();
    let hour = 3_600.0;
    Some(Growth { per_hour: slope * hour, low: (slope - error) * hour, high: (slope + error) * hour })
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
        let flat = growth(&hour(0.0)).unwrap();
        assert!(flat.low > -0.1 && flat.high < 0.1, "{flat:?}");
        let leak = growth(&hour(2.0)).unwrap();
        assert!(leak.low > 1.8 && leak.high < 2.2, "{leak:?}");
        assert_eq!(growth(&hour(2.0)[..2 * PARTS - 1]), None);
    }
}
