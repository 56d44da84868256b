//! Prefers nodes that have pulled a pod's images: it starts sooner there, and the registry is spared.

use plimsoll_policy::{Quantity, prelude::*};

/// The score of a node that has some of the images.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct WarmImage {
    /// The quantity that is counted.
    by: Measure,
    /// With `by: bytes`: this many bytes count as much as all images.
    full: Quantity,
}

/// The quantity that is counted.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Measure {
    /// The share of the pod's images that the node has.
    Images,
    /// The bytes of those that it has.
    Bytes,
}

impl WarmImage {
    fn share(&self, wanted: usize, sizes: &[u64]) -> u64 {
        let wanted = wanted as u64;
        match self.by {
            _ if sizes.len() as u64 == wanted => 100,
            Measure::Images => sizes.len() as u64 * 100 / wanted,
            Measure::Bytes => {
                let (bytes, full) =
                    (sizes.iter().map(|size| u128::from(*size)).sum::<u128>(), self.full.value() as u128);
                // A node that lacks an image is below one that lacks none.
                (bytes * 100 / full).min(99) as u64
            }
        }
    }
}

impl Score for WarmImage {
    fn score(&self, pod: &Pod, node: &Node) -> u32 {
        let images = pod.images();
        if images.is_empty() {
            return 0;
        }
        let sizes: Vec<u64> = images.iter().filter_map(|image| node.image_size(image)).collect();
        self.share(images.len(), &sizes) as u32
    }
}

impl Default for WarmImage {
    fn default() -> Self {
        Self { by: Measure::Images, full: Quantity::new(1 << 30) }
    }
}

impl Validate for WarmImage {
    fn validate(&self) -> Result<(), String> {
        if self.full > Quantity::new(0) { Ok(()) } else { Err("full: expected more than 0 bytes".to_owned()) }
    }
}

export!(WarmImage: score, validate);

#[cfg(test)]
mod tests;
