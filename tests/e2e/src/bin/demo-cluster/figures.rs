//! plimsoll's metrics, read back.

use std::collections::BTreeMap;

/// The samples of one reading: name with labels, and value.
pub(crate) struct Figures {
    samples: BTreeMap<String, f64>,
}

// === impl Figures ===

impl Figures {
    /// Reads the text of `/metrics`.
    pub(crate) fn read(text: &str) -> Self {
        let sample = |line: &str| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        Self { samples: text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect() }
    }

    /// The sum of a metric's samples whose labels contain all of the texts.
    pub(crate) fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let fits = |sample: &str| labels.iter().all(|label| sample.contains(label));
        let of_name = |sample: &&String| sample.split('{').next() == Some(name) && fits(sample);
        self.samples.keys().filter(of_name).map(|sample| self.samples[sample]).sum()
    }

    /// The number of nodes that each policy has rejected since an earlier reading, the most first.
    pub(crate) fn refusals_since(&self, earlier: &Self) -> Vec<(String, u64)> {
        let refusals = self.samples.iter().filter(|(sample, _)| {
            sample.starts_with("plimsoll_policy_rejections_total{") && sample.contains("verb=\"filter\"")
        });
        let mut counts: Vec<(String, u64)> = refusals
            .filter_map(|(sample, value)| {
                let policy = sample.split("policy=\"").nth(1)?.split('"').next()?;
                let more = value - earlier.samples.get(sample).copied().unwrap_or_default();
                (more > 0.0).then(|| (policy.to_owned(), more as u64))
            })
            .collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }
}
