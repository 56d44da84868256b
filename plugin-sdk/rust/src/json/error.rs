//! Which field is wrong, and what was expected there.

use std::fmt::{self, Display};

use serde::de::{Error, Expected, Unexpected};

/// Why a JSON text is not the type that it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Keys and indices down to the place, such as `pools.team-a` or `shared[1]`; empty at the top.
    path: String,
    message: String,
}

// === impl JsonError ===

impl JsonError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    pub(super) fn expected(expected: &dyn Expected, found: &str) -> Self {
        Self::new(format!("expected {expected}, found {found}"))
    }

    /// The same error, seen from the map around it.
    pub(super) fn under_key(mut self, key: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{key}{dot}{}", self.path);
        self
    }

    /// The same error, seen from the list around it.
    pub(super) fn at_index(mut self, index: usize) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("[{index}]{dot}{}", self.path);
        self
    }
}

impl Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

impl Error for JsonError {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(expected, &describe(found))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(expected, &describe(found))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("expected {}, found \"{variant}\"", one_of(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("there is no field {field}; expected {}", one_of(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the field {field} is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("the field {field} is given twice"))
    }
}

/// What was found; the value of a float is left out, since the code that prints it is large.
fn describe(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(_) => "a number with a fraction".to_owned(),
        Unexpected::Str(value) => format!("\"{value}\""),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map".to_owned(),
        _ => "something else".to_owned(),
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [name] => (*name).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
