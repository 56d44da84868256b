//! Metrics of the sources of facts, read at each scrape.

use std::{fmt, sync::Arc};

use plimsoll_facts::SourceStatus;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};

use super::Late;
use crate::facts::{FactsFileFollower, Reloads};

/// A gauge: name, help, value.
type Gauge<T> = (&'static str, &'static str, fn(&SourceStatus) -> T);

const SECONDS: [Gauge<f64>; 2] = [
    (
        "facts_age",
        "Age of the last values that were read, or the time since it was declared if there were none",
        |status| status.age.unwrap_or(status.declared_for).as_secs_f64(),
    ),
    ("facts_max_age", "The maxAge of the source", |status| status.max_age.as_secs_f64()),
];

const COUNTS: [Gauge<i64>; 3] = [
    ("facts_values", "Facts in force; 0 while the source is absent", |status| status.values as i64),
    ("facts_left_out", "Samples of the last answer that made no fact", |status| status.left_out as i64),
    ("facts_absent", "1 while the facts of the source are absent", |status| i64::from(status.is_absent)),
];

impl Collector for Late<Arc<FactsFileFollower>> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(sources) = self.get() else { return Ok(()) };
        let statuses = sources.statuses();
        let kind = ConstGauge::new(0.0).metric_type();
        for (name, help, value) in SECONDS {
            let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), kind)?;
            for status in &statuses {
                ConstGauge::new(value(status)).encode(family.encode_family(&[("source", &*status.name)])?)?;
            }
        }
        for (name, help, value) in COUNTS {
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for status in &statuses {
                ConstGauge::new(value(status)).encode(family.encode_family(&[("source", &*status.name)])?)?;
            }
        }
        let help = "Keys and values in force";
        let mut family = encoder.encode_descriptor("facts", help, Some(&Unit::Bytes), kind)?;
        for status in &statuses {
            ConstGauge::new(status.bytes as i64).encode(family.encode_family(&[("source", &*status.name)])?)?;
        }
        let (help, kind) = ("Fetches by result", ConstCounter::new(0u64).metric_type());
        let mut family = encoder.encode_descriptor("facts_fetches", help, None, kind)?;
        for status in &statuses {
            for (result, count) in [("good", status.good), ("failed", status.failed)] {
                let labels = [("source", &*status.name), ("result", result)];
                ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        encode_file(&sources.reloads(), &mut encoder)
    }
}

/// The metrics of the facts file itself.
fn encode_file(reloads: &Reloads, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (help, kind) = ("Changes of the facts file by result", ConstCounter::new(0u64).metric_type());
    let mut family = encoder.encode_descriptor("facts_file_reloads", help, None, kind)?;
    for (result, count) in [("loaded", reloads.loaded), ("refused", reloads.refused)] {
        ConstCounter::new(count).encode(family.encode_family(&[("result", result)])?)?;
    }
    let gauge = ConstGauge::new(i64::from(reloads.error.is_some()));
    let help = "1 while the facts file cannot be used and the previous sources stay in force";
    gauge.encode(encoder.encode_descriptor("facts_file_refused", help, None, gauge.metric_type())?)
}
