//! Tolerations: those with `Gt` and `Lt` count, as with the gate `TaintTolerationComparisonOperators`.

use serde::Deserialize;

use crate::model::Taint;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Toleration {
    key: Box<str>,
    operator: Box<str>,
    value: Box<str>,
    effect: Box<str>,
}

// === impl Toleration ===

impl Toleration {
    pub(super) fn tolerates(&self, taint: &Taint) -> bool {
        let numbers = || Some((decimal(&taint.value)?, decimal(&self.value)?));
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match &*self.operator {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                "Gt" => numbers().is_some_and(|(taint, own)| taint > own),
                "Lt" => numbers().is_some_and(|(taint, own)| taint < own),
                _ => false,
            }
    }
}

/// A number without a plus sign and without leading zeros.
fn decimal(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}
