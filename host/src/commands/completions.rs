//! `plimsoll completions`: a script for the user's shell.

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use crate::{args::Args, output};

pub(super) fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "plimsoll", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
