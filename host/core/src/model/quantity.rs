//! Kubernetes quantities (`100m`, `1.5Gi`, `2e3`), with an error that names the text.

/// Why a text is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a quantity: expected a number with an optional suffix, such as 100m, 1.5Gi or 2e3")]
pub struct QuantityError(pub String);

/// Reads a quantity as a whole number of `1 / per_unit` units, rounded up and cut to the largest `i64`.
///
/// # Errors
/// If the text is not a quantity.
pub fn parse_quantity(text: &str, per_unit: u32) -> Result<i64, QuantityError> {
    plimsoll_quantity::parse(text, per_unit).ok_or_else(|| QuantityError(text.chars().take(40).collect()))
}
