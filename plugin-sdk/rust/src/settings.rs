//! A policy's settings, read into its type.

use crate::{export::Exported, json};

/// Reads settings from JSON and asks the policy's check.
///
/// No settings (`null`) are read as `{}` where the type does not take `null`, so that a policy whose
/// settings all have defaults needs no sidecar.
pub(crate) fn parse<P: Exported>(json: &str) -> Result<P, String> {
    let parsed = match json::from_str(json) {
        Err(_) if json.trim() == "null" => json::from_str("{}"),
        parsed => parsed,
    };
    let policy = parsed.map_err(|error| error.to_string())?;
    if let Some(validate) = P::VERBS.validate {
        validate(&policy)?;
    }
    Ok(policy)
}
