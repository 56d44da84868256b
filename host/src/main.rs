//! plimsoll: one scheduler extender that fronts many WebAssembly policies.
//!
//! This crate reads arguments, joins the crates below it, and prints; it decides nothing.

mod admin;
mod args;
mod binding;
mod cluster;
mod commands;
mod demo;
mod logging;
mod metrics;
mod runtimes;
mod server;
mod text;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    commands::run(args).unwrap_or_else(|error| {
        commands::complain(&error);
        ExitCode::from(2)
    })
}
