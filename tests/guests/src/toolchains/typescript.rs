//! Guests in TypeScript.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use super::{Built, Sample, finish, module, or_skip, output, run};

const NODE_ADVICE: &str = "install Node.js 20 or later, and type npm ci in plugin-sdk/typescript";

/// The compiled tests of the TypeScript SDK and of its examples. Node.js 20 has no patterns of its own.
const TESTS: &str = "exec node --test build/test/*.test.js build/examples/*/*.test.js";

/// An example of the TypeScript SDK, such as `conformance`.
///
/// None where there is no Node.js with the packages of the SDK: the test is reported as skipped.
pub fn typescript_example(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in TypeScript"), &build_typescript(&format!("examples/{name}/{name}.ts")))
}

/// The tests of the TypeScript SDK and of its examples, after a check of all types.
///
/// None where there is no Node.js with the packages of the SDK: the test is reported as skipped.
pub fn typescript_sdk_tests() -> Option<Output> {
    let tested = compiled().clone().and_then(|()| run(sdk("sh").args(["-c", TESTS]), NODE_ADVICE));
    or_skip("the TypeScript SDK cannot be tested", tested)
}

/// The sample policy of this name in TypeScript.
///
/// None where there is no Node.js with the packages of the SDK: the test is reported as skipped.
pub fn typescript_sample(name: &str) -> Option<Sample> {
    let built = compiled().clone().and_then(|()| build_sample(name));
    or_skip(&format!("{name} in TypeScript cannot be built"), built)
}

/// Builds a sample in a copy of its folder, which has the packages of the SDK in place of those that npm installs.
fn build_sample(name: &str) -> Result<Sample, String> {
    let (copy, out) = output(&format!("{name}.wasm"));
    copy_sources(&folder().join("../../plugins").join(name), &copy).map_err(|error| format!("{name}: {error}"))?;
    let node = |arguments: &[&str]| run(Command::new("node").current_dir(&copy).args(arguments), NODE_ADVICE);
    let checked = node(&["node_modules/typescript/bin/tsc", "-p", "."])?;
    assert!(checked.status.success(), "{name}: tsc failed: {}", String::from_utf8_lossy(&checked.stdout));
    let tests = node(&["--test", &format!("build/{name}.test.js")])?;
    let source = format!("{name}.ts");
    let built = node(&["node_modules/plimsoll/bin/plimsoll-build.mjs", &source, "-o", &out.to_string_lossy()])?;
    assert!(built.status.success(), "{name}: plimsoll-build failed: {}", String::from_utf8_lossy(&built.stderr));
    Ok(Sample { tests: vec![tests], module: finish(Ok(()), &copy, &out)? })
}

fn copy_sources(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            fs::copy(&path, to.join(name))?;
        }
    }
    fs::create_dir(to.join("node_modules"))?;
    for entry in fs::read_dir(folder().join("node_modules"))? {
        let entry = entry?;
        symlink(fs::canonicalize(entry.path())?, to.join("node_modules").join(entry.file_name()))?;
    }
    symlink(fs::canonicalize(folder())?, to.join("node_modules/plimsoll"))
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
