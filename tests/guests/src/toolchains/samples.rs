//! The sample policies in Go and C, with their own tests.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{Built, C_ADVICE, GO_ADVICE, Sample, build_c, build_go_in, c_sdk, module, or_skip, output, run};

/// The sample policy of this name in Go.
///
/// None where there is no Go: the test is reported as skipped.
pub fn go_sample(name: &str) -> Option<Sample> {
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        run(command.current_dir(folder(name)).env("GOFLAGS", "-mod=mod").args(arguments), GO_ADVICE)
    };
    let tested = go(&["vet", "./..."]).and_then(|vetted| Ok(vec![vetted, go(&["test", "./..."])?]));
    sample(&format!("{name} in Go"), tested, || build_go_in(&folder(name), "."))
}

/// The sample policy of this name in C; its tests run with the sanitizer for undefined behaviour.
///
/// None where there is no clang that links for WebAssembly: the test is reported as skipped.
pub fn c_sample(name: &str) -> Option<Sample> {
    let (out, program) = output(&format!("{name}-test"));
    let mut clang = Command::new("clang");
    clang.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]);
    clang.args(["-fsanitize=undefined", "-fno-sanitize-recover", "-I"]).arg(c_sdk());
    clang.arg("-o").arg(&program).arg(folder(name).join("test.c"));
    let tested = run(&mut clang, C_ADVICE).and_then(|compiled| {
        // Its errors are the result where it fails.
        let ran = compiled.status.success().then(|| run(&mut Command::new(&program), C_ADVICE));
        Ok([compiled].into_iter().chain(ran.transpose()?).collect())
    });
    // A folder that is left behind does no harm.
    let _ = std::fs::remove_dir_all(out);
    sample(&format!("{name} in C"), tested, || build_c(&folder(name).join(format!("{name}.c"))))
}

fn sample(
    name: &str,
    tested: Result<Vec<std::process::Output>, String>,
    build: impl FnOnce() -> Built,
) -> Option<Sample> {
    let tests = or_skip(&format!("{name} cannot be tested"), tested)?;
    Some(Sample { tests, module: module(name, &build())? })
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(name)
}
