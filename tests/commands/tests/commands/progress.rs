//! The line that counts the seconds while a large module is compiled.

use std::{
    fs,
    process::{Command, Stdio},
};

use plimsoll_harness::{binary, policies, tempdir};

use crate::tools::has;

const LINE: &str = "compiling large.wasm (2.1 MB), once for each version: 0 s";

/// A sample policy with a custom section of 2 MiB, whose size is in LEB128.
fn large_module() -> Vec<u8> {
    let mut module = fs::read(policies().join("zone-spread.wasm")).unwrap();
    module.extend([0, 0x80, 0x80, 0x80, 0x01, 0x00]);
    module.resize(module.len() + (2 << 20) - 1, 0);
    module
}

/// Runs `plimsoll check` on a terminal; all that appears there.
fn on_a_terminal(arguments: &str) -> Option<String> {
    if !has(&[("script", "--version")], "install script, of util-linux") {
        return None;
    }
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("large.wasm"), large_module()).unwrap();
    let mut script = Command::new("script");
    let check = format!("{} check --no-compile-cache {arguments} large.wasm", binary().display());
    script.args(["-q", "-e", "-c", &check, "/dev/null"]).current_dir(directory.path());
    let output = script.env("TERM", "xterm").env_remove("PLIMSOLL_OUTPUT").stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    Some(printed)
}

#[test]
fn a_terminal_shows_a_compile_until_it_is_done() {
    let Some(printed) = on_a_terminal("") else { return };
    assert!(printed.starts_with(&format!("\r\u{1b}[K{LINE}")), "{printed:?}");
    assert!(printed.contains("\r\u{1b}[Klarge.wasm: accepted"), "{printed:?}");
    assert_eq!(printed.rfind("\r\u{1b}[K"), printed.find("\r\u{1b}[Klarge.wasm: accepted"), "{printed:?}");
}

#[test]
fn a_report_for_programs_shows_no_compile() {
    let Some(printed) = on_a_terminal("--output json") else { return };
    assert!(printed.starts_with('['), "{printed:?}");
}
