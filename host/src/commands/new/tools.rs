//! The tools that a policy needs on this machine.

use std::{env, path::PathBuf};

use crate::args::Language;

/// A line for each tool that is missing, with the command that installs it.
pub(super) fn missing(language: Language) -> Vec<String> {
    let of_language: &[(&str, &str)] = match language {
        Language::Rust => {
            &[("cargo", "type curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"), ("cc", CC)]
        }
        Language::Go => &[("go", "type sudo snap install --classic go, or see https://go.dev/dl (1.24 or later)")],
        Language::C => &[("clang", CLANG), ("wasm-ld", CLANG)],
        Language::Python => &[("python3", "type sudo apt-get install python3 python3-venv (3.10 or later)")],
        Language::Typescript | Language::Assemblyscript => &[("node", NODE), ("npm", NODE)],
    };
    let common = [
        ("make", "type sudo apt-get install make"),
        ("plimsoll", "put the directory of this program on your PATH, or add PLIMSOLL=/path/to/plimsoll to make"),
    ];
    let all = of_language.iter().chain(&common).filter(|(tool, _)| !is_installed(tool));
    all.map(|(tool, install)| format!("{tool} is missing: {install}")).collect()
}

const CLANG: &str = "type sudo apt-get install clang lld";
const NODE: &str = "type sudo apt-get install nodejs npm, or see https://nodejs.org (20 or later)";
const CC: &str = "type sudo apt-get install build-essential";

fn is_installed(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder: PathBuf| folder.join(tool).is_file())
}
