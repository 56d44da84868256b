//! The line about a large module that is compiled.

use std::fs;

use plimsoll_commands::plimsoll;
use plimsoll_harness::{policies, tempdir};

/// A sample policy with a custom section of 2 MiB, whose size is in LEB128.
fn large_module() -> Vec<u8> {
    let mut module = fs::read(policies().join("zone-spread.wasm")).unwrap();
    module.extend([0, 0x80, 0x80, 0x80, 0x01, 0x00]);
    module.resize(module.len() + (2 << 20) - 1, 0);
    module
}

#[test]
fn a_compile_is_announced_to_people_and_not_to_programs() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("large.wasm"), large_module()).unwrap();
    let check = |rest: &[&str]| {
        plimsoll(directory.path(), &[&["check", "--no-compile-cache", "large.wasm"], rest].concat()).unwrap()
    };
    let printed = check(&[]);
    assert_eq!(printed.err, "plimsoll: compiling large.wasm (2.1 MB), once for each version ...\n", "{printed:?}");
    assert_eq!(check(&["--output", "json"]).err, "");
}
