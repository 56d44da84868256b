//! Metrics of the election, read at each scrape.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use plimsoll_cluster::{Leadership, LeadershipState};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};

/// The election, once there is one.
#[derive(Debug, Clone, Default)]
pub(super) struct LeaderCollector(Arc<OnceLock<Arc<Leadership>>>);

// === impl LeaderCollector ===

impl LeaderCollector {
    pub(super) fn set(&self, leadership: Arc<Leadership>) {
        // There is one election in a process.
        let _ = self.0.set(leadership);
    }
}

impl Collector for LeaderCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(leadership) = self.0.get() else { return Ok(()) };
        let leads = matches!(leadership.leadership_state(), LeadershipState::Leads(term) if term.may_write());
        let gauge = ConstGauge::new(i64::from(leads));
        let help = "1 while this gateway holds the Lease and may bind";
        gauge.encode(encoder.encode_descriptor("leader", help, None, gauge.metric_type())?)?;
        let counter = ConstCounter::new(leadership.terms());
        let help = "Times that this gateway began to hold the Lease";
        counter.encode(encoder.encode_descriptor("leader_terms", help, None, counter.metric_type())?)
    }
}
