//! The wrong field of a JSON text, and the value that was expected there.

use std::fmt::{self, Display};

use serde::de::{Error, Expected, Unexpected};

/// The name in messages of the value that YAML's `key:` with nothing behind it stands for.
pub(super) const NULL: &str = "null (an empty value)";

/// Why a JSON text is not the type that it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Keys and indices down to the place, such as `pools.team-a` or `shared[1]`; empty at the top.
    path: String,
    message: String,
}

/// The names of which one was expected.
pub(super) struct OneOf(pub(super) &'static [&'static str]);

// === impl JsonError ===

impl JsonError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    pub(super) fn expected(expected: &dyn Expected, found: &str) -> Self {
        Self::new(format!("expected {}, found {found}", in_words(&expected.to_string())))
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

/// A type of Rust, as serde names it, for somebody who writes YAML.
fn in_words(expected: &str) -> &str {
    match expected {
        "f32" | "f64" => "a number",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "usize" => in_words(if cfg!(target_pointer_width = "32") { "u32" } else { "u64" }),
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number from 0 to 18446744073709551615",
        "i8" => "a whole number from -128 to 127",
        "i16" => "a whole number from -32768 to 32767",
        "isize" => in_words(if cfg!(target_pointer_width = "32") { "i32" } else { "i64" }),
        "i32" => "a whole number from -2147483648 to 2147483647",
        "i64" => "a whole number from -9223372036854775808 to 9223372036854775807",
        "a boolean" => "true or false",
        "a sequence" | "tuple" => "a list",
        "unit" => "nothing",
        _ if expected.starts_with("struct ") || expected.starts_with("unit struct ") => "a map",
        _ if expected.starts_with("tuple ") => "a list",
        _ => expected,
    }
}

/// A text that was found where something else belongs.
pub(super) fn text_found(text: &str) -> String {
    format!("the text {text}")
}

/// The value that was found; that of a float is left out, since the code that prints it is large.
fn describe(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(_) => "a number with a fraction".to_owned(),
        Unexpected::Str(value) => text_found(&format!("\"{value}\"")),
        Unexpected::Unit | Unexpected::Option => NULL.to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map".to_owned(),
        _ => "something else".to_owned(),
    }
}

impl Expected for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_of(self.0))
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [name] => (*name).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
