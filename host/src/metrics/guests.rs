//! Metrics of the resources that guests share, read at each scrape.

use std::fmt;

use plimsoll_core::CallClass;
use plimsoll_wasm::{SharesInUse, WasmLoader};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};

use super::Late;

impl Collector for Late<WasmLoader> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(loader) = self.get() else { return Ok(()) };
        let SharesInUse { calls, waiting, waited, refused_calls, refused_memory, bytes, max_bytes } = loader.shares();
        let mut gauge = |name, help, unit, value: usize| {
            let gauge = ConstGauge::new(value as i64);
            gauge.encode(encoder.encode_descriptor(name, help, unit, gauge.metric_type())?)
        };
        let bytes_of = Some(&Unit::Bytes);
        gauge("guest_memory", "Memory of all guest instances, waiting ones included", bytes_of, bytes)?;
        gauge("guest_memory_limit", "The limit in force, from --guest-memory or its default", bytes_of, max_bytes)?;
        gauge("guest_calls_waiting", "Calls of policies that wait for a permit", None, waiting)?;
        let help = "Policies whose modules are pre-initialised";
        gauge("preinitialized_policies", help, None, loader.preinitialized())?;
        let mut family = encoder.encode_descriptor(
            "guest_calls",
            "Running calls of policies, by purpose",
            None,
            ConstGauge::new(0i64).metric_type(),
        )?;
        for (class, calls) in CallClass::ALL.into_iter().zip(calls) {
            ConstGauge::new(calls as i64).encode(family.encode_family(&[("purpose", class.as_str())])?)?;
        }
        let waited = ConstCounter::new(waited);
        let help = "Calls of policies that had to wait for a permit";
        waited.encode(encoder.encode_descriptor("guest_waits", help, None, waited.metric_type())?)?;
        let help = "Calls of policies that got no permit, or no more memory, by resource";
        let mut family = encoder.encode_descriptor("guest_refusals", help, None, waited.metric_type())?;
        for (resource, refused) in [("permit", refused_calls), ("memory", refused_memory)] {
            ConstCounter::new(refused).encode(family.encode_family(&[("resource", resource)])?)?;
        }
        Ok(())
    }
}
