//! `plimsoll-generate [WORKSPACE]`: writes the generated files of the workspace and names those that changed.

use std::{env, fs, path::PathBuf};

#[expect(clippy::print_stdout, reason = "the output of a program")]
fn main() -> anyhow::Result<()> {
    let workspace = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    for file in plimsoll_generator::stale(&workspace)? {
        fs::write(workspace.join(file.path), file.text)?;
        println!("{}", file.path);
    }
    Ok(())
}
