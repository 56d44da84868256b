//! plimsoll: one scheduler extender that fronts many WebAssembly policies.
//!
//! This crate reads arguments, joins the crates below it, and prints; it decides nothing.

mod admin;
mod args;
mod binding;
mod cluster;
mod commands;
mod counting;
mod engine;
mod facts;
mod logging;
mod metrics;
mod no_effect;
mod output;
mod pending;
mod places;
mod readiness;
mod reload;
mod render;
mod runtimes;
mod sample;
mod server;
mod text;
mod trouble;
mod wake;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    commands::run(args::Args::parse()).unwrap_or_else(|error| {
        output::complain(&error);
        ExitCode::from(2)
    })
}
