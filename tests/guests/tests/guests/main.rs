//! The policy host, tried by guests.
#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod bind;
mod cache;
mod compile;
mod componentize;
mod facts;
mod fair;
mod hostile;
mod http;
mod limits;
mod loader;
mod log;
mod spares;
mod stdio;
mod wasi;
