//! Sets of sample policies: the same rules as a directory for plimsoll and as a file for the Go extender.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Longer than any request takes, so that what is measured is never cut short.
const TIMEOUT: &str = "60s";

/// One sample policy with settings of its own.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its name in reasons.
    pub name: String,
    /// The sample that it is made of: the name of its module, and of the rule in Go.
    pub rule: &'static str,
    /// Its share in the score.
    pub weight: u32,
    /// Its settings.
    pub settings: Value,
}

// === impl Sample ===

impl Sample {
    /// A policy of weight 1.
    pub fn new(name: &str, rule: &'static str, settings: Value) -> Self {
        Self { name: name.to_owned(), rule, weight: 1, settings }
    }

    fn weighing(self, weight: u32) -> Self {
        Self { weight, ..self }
    }
}

/// Five policies, each with a part in placing a pod: two filters, one of both, a score and a rank.
pub fn five() -> Vec<Sample> {
    vec![
        pool("pool", "example.com/pool", &json!({"team-a": "team-a", "team-b": "team-b"}), &["shared"]),
        pool("tier", "example.com/tier", &json!({"team-a": "gold"}), &["silver"]),
        gpu("gpu", "gpu"),
        Sample::new("warm", "warm-image", json!({"by": "images"})).weighing(2),
        Sample::new("spread", "zone-spread", json!({"label": "app"})),
    ]
}

/// Ten policies that answer about one node at a time: six filter, six score.
pub fn ten() -> Vec<Sample> {
    let bytes = |full: &str| json!({"by": "bytes", "full": full});
    vec![
        pool("pool", "example.com/pool", &json!({"team-a": "team-a", "team-b": "team-b"}), &["shared"]),
        pool("tier", "example.com/tier", &json!({"team-a": "gold"}), &["silver"]),
        pool("owner", "example.com/owner", &json!({"team-z": "team-z"}), &[]),
        pool("arch", "kubernetes.io/arch", &json!({"team-arm": "arm64"}), &["any"]),
        gpu("gpu", "gpu"),
        gpu("npu", "npu"),
        Sample::new("warm", "warm-image", json!({"by": "images"})).weighing(2),
        Sample::new("warm-1", "warm-image", bytes("1Gi")),
        Sample::new("warm-5", "warm-image", bytes("5Gi")),
        Sample::new("warm-all", "warm-image", json!({"by": "images"})).weighing(3),
    ]
}

/// Ten policies that are there in each language that is measured: five filter, five score.
pub fn ten_in_any_language() -> Vec<Sample> {
    let filters = [
        pool("pool", "example.com/pool", &json!({"team-a": "team-a", "team-b": "team-b"}), &["shared"]),
        pool("tier", "example.com/tier", &json!({"team-a": "gold"}), &["silver"]),
        pool("owner", "example.com/owner", &json!({"team-z": "team-z"}), &[]),
        pool("arch", "kubernetes.io/arch", &json!({"team-arm": "arm64"}), &["any"]),
        pool("zone", "topology.kubernetes.io/zone", &json!({"team-z": "zone-0"}), &["zone-1", "zone-2"]),
    ];
    let score = |at: u32| Sample::new(&format!("warm-{at}"), "warm-image", json!({"by": "images"})).weighing(at);
    filters.into_iter().chain((1..=5).map(score)).collect()
}

/// [`ten`] again and again, under other names.
pub fn tens(times: usize) -> Vec<Sample> {
    let copy =
        |at: usize| ten().into_iter().map(move |sample| Sample { name: format!("{}-{at}", sample.name), ..sample });
    (0..times).flat_map(copy).collect()
}

fn pool(name: &str, label: &str, pools: &Value, shared: &[&str]) -> Sample {
    Sample::new(name, "tenant-pool", json!({"label": label, "pools": pools, "shared": shared}))
}

fn gpu(name: &str, device: &str) -> Sample {
    let key = |of: &str| format!("example.com/{device}-{of}");
    Sample::new(name, "gpu-binpack", json!({"memory": key("mem"), "devices": key("devices"), "device": key("device")}))
}

/// Fills a directory for `--policies`; `modules` is what `make policies` fills.
pub fn lay_out(samples: &[Sample], modules: &Path, directory: &Path) -> Result<()> {
    for (order, sample) in samples.iter().enumerate() {
        let module = modules.join(format!("{}.wasm", sample.rule));
        // Each with a file of its own, as an operator would have it; equal contents are compiled once.
        fs::copy(&module, directory.join(format!("{}.wasm", sample.name)))
            .with_context(|| format!("{} is missing: run `make policies`", module.display()))?;
        // JSON is YAML.
        let sidecar = json!({"order": order, "weight": sample.weight, "timeout": TIMEOUT, "settings": sample.settings});
        fs::write(directory.join(format!("{}.yaml", sample.name)), sidecar.to_string())?;
    }
    Ok(())
}

/// The same policies as `--rules` of the Go extender.
pub fn go_rules(samples: &[Sample]) -> String {
    let rule = |sample: &Sample| json!({"name": sample.name, "rule": sample.rule, "weight": sample.weight, "settings": sample.settings});
    Value::Array(samples.iter().map(rule).collect()).to_string()
}
