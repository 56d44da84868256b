//! The program as a user sees it: the commands, run as processes and compared with golden files.
//!
//! `UPDATE_GOLDEN=1 cargo test -p plimsoll-commands` rewrites the files; read the difference.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::{command, workspace};

/// The output of a command, and its exit code.
#[derive(Debug)]
pub struct Printed {
    /// The exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs `plimsoll` with these arguments in a directory, with no variable of its own set; `serve` listens on free ports.
pub fn plimsoll(directory: &Path, args: &[&str]) -> Result<Printed> {
    plimsoll_with(directory, &[], args)
}

/// As [`plimsoll`], with some variables set.
pub fn plimsoll_with(directory: &Path, variables: &[(&str, &str)], args: &[&str]) -> Result<Printed> {
    let mut command = command();
    // A gateway that runs on the default ports must not make a test fail.
    if args.first() == Some(&"serve") && !args.contains(&"--help") {
        command.envs(["PLIMSOLL_LISTEN", "PLIMSOLL_ADMIN"].map(|name| (name, "127.0.0.1:0")));
    }
    command.envs(variables.iter().copied());
    let output = command.args(args).current_dir(directory).stdin(Stdio::null()).output()?;
    Ok(Printed {
        code: output.status.code(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

/// Compares with a golden file.
pub fn matches_golden(name: &str, actual: &str) -> Result<()> {
    let path: PathBuf = workspace().join("tests/commands/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual)?;
    }
    let golden =
        std::fs::read_to_string(&path).with_context(|| format!("{} (UPDATE_GOLDEN=1 writes it)", path.display()))?;
    ensure!(
        golden == actual,
        "{} differs (UPDATE_GOLDEN=1 rewrites it)\n--- golden\n{golden}\n--- actual\n{actual}",
        path.display()
    );
    Ok(())
}

/// Takes out what differs from run to run: times, sizes and digests.
pub fn steady(text: &str) -> String {
    let words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
    let mut steady = String::with_capacity(text.len());
    for (at, word) in words.iter().enumerate() {
        let unit = words.get(at + 1).map_or("", |next| next.trim_end_matches([',', ')', '\n', ' ']));
        let number = word.trim_start_matches('(').trim_end().parse::<f64>().is_ok();
        if number && ["µs", "ms", "s", "B", "kB", "MB"].contains(&unit) {
            steady.push_str("N ");
        } else if let Some((before, _)) = word.split_once("sha256:") {
            steady.push_str(before);
            steady.push_str("sha256:...");
            steady.extend(word.chars().last().filter(|last| last.is_whitespace()));
        } else {
            steady.push_str(word);
        }
    }
    steady
        .replace("less than N µs", "TIME")
        .replace("N µs", "TIME")
        .replace("N ms", "TIME")
        .replace("N s", "TIME")
        .replace("N kB", "SIZE")
        .replace("N B", "SIZE")
        .replace("N MB", "SIZE")
}

#[cfg(test)]
mod tests {
    use super::steady;

    #[test]
    fn times_sizes_and_digests_are_taken_out() {
        let text = "  size     31.4 kB\n  digest   sha256:0123\n  call     filter: 35.4 µs for 1 node, 0.9 µs each\n";
        assert_eq!(
            steady(text),
            "  size     SIZE\n  digest   sha256:...\n  call     filter: TIME for 1 node, TIME each\n"
        );
    }
}
