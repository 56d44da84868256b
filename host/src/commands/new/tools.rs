//! The tools that a policy needs on this machine.

use std::{env, path::PathBuf};

use super::template::Template;
use crate::args::Language;

/// A line for each tool that is missing, with the command that installs it: that of the policy's Makefile, which names
/// the tools of the language.
pub(super) fn missing(language: Language) -> Vec<String> {
    let install = Template::of(language).install();
    let of_language: &[(&str, &str)] = match language {
        Language::Rust => &[("cargo", install), ("cc", "sudo apt-get install build-essential")],
        Language::Go => &[("go", install)],
        Language::C => &[("clang", install), ("wasm-ld", install)],
        Language::Python => &[("python3", install)],
        Language::Typescript | Language::Assemblyscript => &[("node", install), ("npm", install)],
    };
    let all = of_language.iter().chain(&[("make", "sudo apt-get install make")]);
    let missing = all.filter(|(tool, _)| !is_installed(tool));
    let mut lines: Vec<String> =
        missing.map(|(tool, install)| format!("{tool} is missing. To install it: {install}")).collect();
    if !is_installed("plimsoll") {
        let advice = "put the directory of this program on your PATH, or add PLIMSOLL=/path/to/plimsoll to make";
        lines.push(format!("plimsoll is missing: {advice}"));
    }
    lines
}

fn is_installed(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder: PathBuf| folder.join(tool).is_file())
}
