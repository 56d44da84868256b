//! Spreads the pods of an application evenly over zones, or over any other node label.

use plimsoll_policy::prelude::*;

/// Spreads the pods with one value of a label over the values of a node label.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct ZoneSpread {
    /// The node label whose values are the zones.
    topology_key: String,
    /// Pods of one namespace with one value of this label belong together.
    label: String,
}

impl Rank for ZoneSpread {
    fn rank(&self, pod: &Pod, nodes: &Nodes) -> Vec<u32> {
        let Some(value) = pod.label(&self.label) else { return vec![0; nodes.len()] };
        let zones = nodes.by_label(&self.topology_key);
        let counts = nodes.counts_active(pod.namespace(), &self.label, value);
        let mut pods = vec![0; zones.len()];
        for (zone, count) in zones.of_nodes().zip(counts) {
            if let Some(zone) = zone {
                pods[zone] += u64::from(count);
            }
        }
        let most = pods.iter().copied().max().unwrap_or(0);
        let fewest = pods.iter().copied().min().unwrap_or(0);
        let score = |zone: Option<usize>| zone.map_or(0, |zone| share(pods[zone], fewest, most));
        zones.of_nodes().map(score).collect()
    }
}

/// 100 for the emptiest zone; how far below the others are tells how uneven they are, not only that they are.
fn share(pods: u64, fewest: u64, most: u64) -> u32 {
    ((most + fewest - pods) * 100).checked_div(most).unwrap_or(100) as u32
}

impl Default for ZoneSpread {
    fn default() -> Self {
        Self { topology_key: "topology.kubernetes.io/zone".to_owned(), label: "app".to_owned() }
    }
}

export!(ZoneSpread: rank);

#[cfg(test)]
mod tests;
