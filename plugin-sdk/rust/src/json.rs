//! JSON into a policy's types: small in WebAssembly, and errors say which field is wrong.
//!
//! `serde_json` would do, at three times the size of a whole policy: it carries the formatting of floats
//! for its errors, and code for every type whether a policy has it or not.

mod de;
mod error;
mod items;
mod parser;
mod text;

pub(crate) use de::NUMBER_OR_TEXT;
pub use error::JsonError;

use serde::Deserialize;

use parser::Parser;

/// Reads one JSON value as a `T`.
pub(crate) fn from_str<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, JsonError> {
    let mut parser = Parser::new(json);
    let value = T::deserialize(&mut parser)?;
    parser.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests;
