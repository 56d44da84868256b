//! Gives a core module a world.

use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::contract::RefusedError;

/// Embeds a world of a WIT text into a core module as the custom section that the encoder reads.
pub(super) fn embed(module: &mut Vec<u8>, wit: &str, world: &str) -> Result<(), RefusedError> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("policy.wit", wit).map_err(|error| refused(&error))?;
    let world = resolve.select_world(&[package], Some(world)).map_err(|error| refused(&error))?;
    embed_component_metadata(module, &resolve, world, StringEncoding::UTF8).map_err(|error| refused(&error))
}

/// Formats the whole error chain: its last cause names the change that the author must make.
pub(super) fn refused(error: &dyn std::fmt::Display) -> RefusedError {
    RefusedError::Componentize(format!("{error:#}"))
}
