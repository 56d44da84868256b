//! Guests in AssemblyScript.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use super::{Built, finish, module, or_skip, output, run};

const NODE_ADVICE: &str = "install Node.js 20 or later, and type npm ci in plugin-sdk/assemblyscript";

/// The tests of the SDK and of its examples. Node.js 20 has no patterns of its own.
const TESTS: &str = "exec node --test test/*.test.mjs examples/*/*.test.mjs";

/// An example of the AssemblyScript SDK, such as `conformance`.
///
/// None where there is no Node.js with the packages of the SDK: the test is reported as skipped.
pub fn assemblyscript_example(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in AssemblyScript"), &build(&format!("examples/{name}/{name}.ts")))
}

/// The tests of the AssemblyScript SDK and of its examples.
///
/// None where there is no Node.js with the packages of the SDK: the test is reported as skipped.
pub fn assemblyscript_sdk_tests() -> Option<Output> {
    let tested = installed().and_then(|()| run(sdk("sh").args(["-c", TESTS]), NODE_ADVICE));
    or_skip("the AssemblyScript SDK cannot be tested", tested)
}

fn build(source: &str) -> Built {
    let (folder, out) = output(&format!("{}-assemblyscript.wasm", source.replace('/', "-")));
    let built = installed().and_then(|()| {
        let output = run(sdk("node").args(["bin/plimsoll-asc.mjs", source, "-o"]).arg(&out), NODE_ADVICE)?;
        assert!(output.status.success(), "plimsoll-asc failed: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    });
    finish(built, &folder, &out)
}

fn installed() -> Result<(), String> {
    let compiler = folder().join("node_modules/assemblyscript/dist/asc.js");
    let advice = || format!("the packages of plugin-sdk/assemblyscript are missing; {NODE_ADVICE}");
    if compiler.exists() { Ok(()) } else { Err(advice()) }
}

/// A program in the folder of the SDK.
fn sdk(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder());
    command
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin-sdk/assemblyscript")
}
