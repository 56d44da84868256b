//! The tools of languages, where a test needs them.
#![cfg_attr(not(feature = "nightly"), allow(dead_code, reason = "the tests of the night use the rest"))]

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use plimsoll_harness::{skip, workspace};

/// Whether these programs run; if not, the test is reported as skipped.
pub(crate) fn has(tools: &[(&str, &str)], advice: &str) -> bool {
    let missing = tools.iter().find(|(tool, version)| {
        let ran = Command::new(tool).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status();
        !ran.is_ok_and(|status| status.success())
    });
    if let Some((tool, _)) = missing {
        skip(&format!("{tool} is missing: {advice}"));
    }
    missing.is_none()
}

/// Whether packages of a language are there; if not, the test is reported as skipped.
pub(crate) fn has_packages(package: &Path, advice: &str) -> bool {
    if !package.exists() {
        skip(&format!("{} is missing: {advice}", package.display()));
    }
    package.exists()
}

pub(crate) fn has_clang() -> bool {
    has(&[("make", "--version"), ("clang", "--version"), ("wasm-ld", "--version")], "install make, clang and lld")
}

pub(crate) fn has_go() -> bool {
    has(&[("make", "--version"), ("go", "version")], "install make, and Go 1.24 or later")
}

/// Whether the packages with which an SDK on npm is tested are there; if not, the test is reported as skipped.
pub(crate) fn has_npm_packages(sdk: &str) -> bool {
    let packages = workspace().join(format!("plugin-sdk/{sdk}/node_modules"));
    let tools = [("make", "--version"), ("node", "--version"), ("npx", "--version")];
    has(&tools, "install make, and Node.js 20 or later with npm")
        && has_packages(&packages, &format!("type npm ci in plugin-sdk/{sdk}"))
}

/// Gives a folder the packages with which an SDK is tested, and those programs of theirs that npm would link. Packages
/// come from the network, so this stands for `npm install`.
pub(crate) fn link_npm_packages(folder: &Path, sdk: &str, package: (&str, &Path), programs: &[(&str, &str)]) {
    let own = folder.join("node_modules");
    fs::create_dir_all(own.join(".bin")).unwrap();
    for entry in fs::read_dir(workspace().join(format!("plugin-sdk/{sdk}/node_modules"))).unwrap().map(Result::unwrap) {
        if !entry.file_name().to_string_lossy().starts_with('.') {
            symlink(entry.path(), own.join(entry.file_name())).unwrap();
        }
    }
    symlink(package.1, own.join(package.0)).unwrap();
    for (name, program) in programs {
        symlink(Path::new("..").join(program), own.join(".bin").join(name)).unwrap();
    }
}
