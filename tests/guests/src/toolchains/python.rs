//! Guests in Python.

use std::{
    path::Path,
    process::{Command, Output},
};

use super::{Built, Sample, finish, module, or_skip, output, run};

const PYTHON_ADVICE: &str = "install Python 3.10 or later, and in target/python a venv with plugin-sdk/python[test]";

/// An example of the Python SDK, such as `conformance`. It has 18 MB, and takes half a minute to build.
///
/// None where there is no Python with componentize-py: the test is reported as skipped.
pub fn python_example(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in Python"), &build_python(&format!("examples/{name}/{name}.py")))
}

/// Runs a module of Python, such as `pytest`, in the folder of the Python SDK.
///
/// None where there is no such module: the test is reported as skipped.
pub fn python_sdk_command(module: &str, arguments: &[&str]) -> Option<Output> {
    let has = |output: Output| {
        output.status.success().then_some(()).ok_or_else(|| format!("there is no {module}; {PYTHON_ADVICE}"))
    };
    let found = run(python().arg("-c").arg(format!("import {module}")), PYTHON_ADVICE).and_then(has);
    let ran = found.and_then(|()| run(python().arg("-m").arg(module).args(arguments), PYTHON_ADVICE));
    or_skip("the Python SDK cannot be tested", ran)
}

/// The sample policy of this name in Python.
///
/// None where there is no Python with componentize-py, mypy and pytest: the test is reported as skipped.
pub fn python_sample(name: &str) -> Option<Sample> {
    let folder = format!("../../plugins/{name}");
    let source = format!("{folder}/{}.py", name.replace('-', "_"));
    let types = python_sdk_command("mypy", &["--strict", "--cache-dir=/dev/null", &source])?;
    let tests = python_sdk_command("pytest", &["-q", "-p", "no:cacheprovider", "--rootdir", &folder, &folder])?;
    let module = module(&format!("{name} in Python"), &build_python(&source))?;
    Some(Sample { tests: vec![types, tests], module })
}

/// Python in the folder of the SDK: that of `target/python`, or else of the machine.
fn python() -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = root.join("target/python/bin/python");
    let mut python = if own.exists() { Command::new(own) } else { Command::new("python3") };
    let sdk = root.join("plugin-sdk/python");
    python.current_dir(&sdk).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", &sdk);
    python
}

fn build_python(source: &str) -> Built {
    let name = Path::new(source).file_stem().unwrap_or_default().to_string_lossy();
    let (folder, out) = output(&format!("{name}-python.wasm"));
    let built = run(python().args(["-m", "plimsoll", "build", source, "-o"]).arg(&out), PYTHON_ADVICE);
    let built = built.and_then(|output| {
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("componentize-py is missing") {
            return Err(format!("componentize-py is missing; {PYTHON_ADVICE}"));
        }
        assert!(output.status.success(), "the build in Python failed: {errors}");
        Ok(())
    });
    finish(built, &folder, &out)
}
