//! Guests in TypeScript.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use super::{Built, finish, module, output, run};

const NODE_ADVICE: &str = "install Node.js 20 or later, and type npm ci in plugin-sdk/typescript";

/// An example of the TypeScript SDK, such as `conformance`.
///
/// None where there is no Node.js with the packages of the SDK: the test is reported as skipped.
///
/// # Panics
/// As for [`super::c_guest`].
pub fn typescript_example(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in TypeScript"), &build_typescript(&format!("examples/{name}/{name}.ts")))
}

/// The tests of the TypeScript SDK and of its examples, after a check of all types.
///
/// None where there is no Node.js with the packages of the SDK: the test is reported as skipped.
///
/// # Panics
/// If the types are wrong, or as for [`super::c_guest`].
pub fn typescript_sdk_tests() -> Option<Output> {
    match compiled().clone().and_then(|()| run(sdk("npm").arg("test"), NODE_ADVICE)) {
        Ok(output) => Some(output),
        Err(missing) => {
            plimsoll_harness::skip(&format!("the TypeScript SDK cannot be tested: {missing}"));
            None
        }
    }
}

/// Compiles the SDK, its examples and tests: once, since all builds need the result.
fn compiled() -> &'static Result<(), String> {
    static COMPILED: OnceLock<Result<(), String>> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let compiler = folder().join("node_modules/typescript/bin/tsc");
        if !compiler.exists() {
            return Err(format!("the packages of plugin-sdk/typescript are missing; {NODE_ADVICE}"));
        }
        let output = run(sdk("node").arg(compiler).arg("-b"), NODE_ADVICE)?;
        assert!(output.status.success(), "tsc failed: {}", String::from_utf8_lossy(&output.stdout));
        Ok(())
    })
}

fn build_typescript(source: &str) -> Built {
    let (folder, out) = output(&format!("{}-typescript.wasm", source.replace('/', "-")));
    let built = compiled().clone().and_then(|()| {
        let output = run(sdk("node").args(["bin/plimsoll-build.mjs", source, "-o"]).arg(&out), NODE_ADVICE)?;
        assert!(output.status.success(), "plimsoll-build failed: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    });
    finish(built, &folder, &out)
}

/// A program in the folder of the SDK.
fn sdk(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder());
    command
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin-sdk/typescript")
}
