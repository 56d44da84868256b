//! Metrics of the election, read at each scrape.

use std::{fmt, sync::Arc};

use plimsoll_cluster::{Leadership, LeadershipState};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};

use super::Late;

impl Collector for Late<Arc<Leadership>> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(leadership) = self.get() else { return Ok(()) };
        let leads = matches!(leadership.leadership_state(), LeadershipState::Leads(term) if term.may_write());
        let gauge = ConstGauge::new(i64::from(leads));
        let help = "1 while this gateway holds the Lease and may bind";
        gauge.encode(encoder.encode_descriptor("leader", help, None, gauge.metric_type())?)?;
        let counter = ConstCounter::new(leadership.terms());
        let help = "Times that this gateway began to hold the Lease";
        counter.encode(encoder.encode_descriptor("leader_terms", help, None, counter.metric_type())?)
    }
}
