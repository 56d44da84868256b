//! Guests that need a compiler: built once for a test run, below the system's folder for temporary files.

mod assemblyscript;
mod python;
mod samples;
mod typescript;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

pub use self::{
    assemblyscript::{assemblyscript_example, assemblyscript_sdk_tests},
    python::{python_example, python_sample, python_sdk_command},
    samples::{c_sample, go_sample},
    typescript::{typescript_example, typescript_sample, typescript_sdk_tests},
};

/// The result of a build: a module, or why there is none.
type Built = Result<Vec<u8>, String>;

/// A sample policy with its own tests.
#[derive(Debug)]
pub struct Sample {
    /// The outputs of its tests in its own language, and of type checks that are apart from the build.
    pub tests: Vec<Output>,
    /// The module.
    pub module: Vec<u8>,
}

const C_ADVICE: &str = "install clang and lld";

const GO_ADVICE: &str = "install Go 1.24 or later";

/// The zone policy in C, with clang and its linker for WebAssembly.
///
/// None where there is no such clang: the test is reported as skipped.
pub fn c_guest() -> Option<Vec<u8>> {
    static BUILT: OnceLock<Built> = OnceLock::new();
    module("the C guest", BUILT.get_or_init(|| build_c(&guests().join("good/zone.c"))))
}

/// The zone policy in Go, which does other things as well if its settings say so: `{"do": "panic"}`.
///
/// None where there is no Go: the test is reported as skipped.
pub fn go_guest() -> Option<Vec<u8>> {
    static BUILT: OnceLock<Built> = OnceLock::new();
    module("the Go guest", BUILT.get_or_init(|| build_go("go", ".")))
}

/// A policy in Go: the samples `tenant-pool` and `warm-image`, or `forgotten`.
///
/// None where there is no Go: the test is reported as skipped.
pub fn go_policy(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in Go"), &build_go("go-policies", name))
}

/// An example of the Go SDK, such as `needs-label`.
///
/// None where there is no Go: the test is reported as skipped.
pub fn go_example(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in Go"), &build_go_in(&go_sdk(), &format!("examples/{name}")))
}

/// An example of the C SDK, such as `needs-label`.
///
/// None where there is no clang that links for WebAssembly: the test is reported as skipped.
pub fn c_example(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in C"), &build_c(&c_sdk().join(format!("examples/{name}/{name}.c"))))
}

/// The sample policy of this name in C.
///
/// None where there is no clang that links for WebAssembly: the test is reported as skipped.
pub fn c_policy(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in C"), &build_c(&guests().join(format!("c-policies/{name}.c"))))
}

/// The program in C that answers on standard output what the labels of the pod tell it to.
///
/// None where there is no clang that links for WebAssembly: the test is reported as skipped.
pub fn c_program() -> Option<Vec<u8>> {
    static BUILT: OnceLock<Built> = OnceLock::new();
    module("the C program", BUILT.get_or_init(|| build_c(&guests().join("stdio/says.c"))))
}

/// A program in Go that answers on standard output: `go-stdio`, or with the types of kube-scheduler `go-stdio-k8s`.
///
/// None where there is no Go, or its modules cannot be had: the test is reported as skipped.
pub fn go_program(folder: &str) -> Option<Vec<u8>> {
    let folder = guests().join(folder);
    let mut download = Command::new("go");
    download.current_dir(&folder).args(["mod", "download"]);
    let built = run(&mut download, GO_ADVICE).and_then(|output| {
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("its modules cannot be had: {}", errors.trim())) }
    });
    module(&folder.display().to_string(), &built.and_then(|()| build_go_as("exe", &folder, ".")))
}

/// Runs clang in the folder of the C SDK.
///
/// None where there is no clang: the test is reported as skipped.
pub fn c_sdk_clang(arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new("clang");
    command.current_dir(c_sdk()).args(arguments);
    or_skip("the C SDK cannot be tested", run(&mut command, C_ADVICE))
}

/// Runs a Go command in the folder of the Go SDK.
///
/// None where there is no Go: the test is reported as skipped.
pub fn go_sdk_command(program: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(program);
    command.current_dir(go_sdk()).args(arguments);
    or_skip("the Go SDK cannot be tested", run(&mut command, GO_ADVICE))
}

fn c_sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin-sdk/c")
}

fn go_sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin-sdk/go")
}

fn module(what: &str, built: &Built) -> Option<Vec<u8>> {
    or_skip(&format!("{what} cannot be built"), built.clone())
}

/// None where a tool is missing: the test is reported as skipped.
fn or_skip<T>(what: &str, result: Result<T, String>) -> Option<T> {
    result.inspect_err(|missing| plimsoll_harness::skip(&format!("{what}: {missing}"))).ok()
}

/// Builds a policy in C as docs/languages/c.md says.
fn build_c(source: &Path) -> Built {
    let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (folder, out) = output(&format!("{name}-c.wasm"));
    let mut clang = Command::new("clang");
    clang.args(["--target=wasm32", "-O2", "-ffreestanding", "-nostdlib", "-Wl,--no-entry,--stack-first,--strip-debug"]);
    clang.arg("-I").arg(c_sdk()).arg("-o").arg(&out).arg(source);
    let built = run(&mut clang, C_ADVICE);
    // Debian's clang may come without either.
    let built = built.and_then(|output| {
        let errors = String::from_utf8_lossy(&output.stderr);
        let lacking =
            errors.contains("unable to find") || errors.contains("No available targets") || errors.contains("wasm-ld");
        if !output.status.success() && lacking {
            return Err(format!("clang cannot link for wasm32, install lld: {}", errors.trim()));
        }
        assert!(output.status.success(), "clang failed: {errors}");
        Ok(())
    });
    finish(built, &folder, &out)
}

fn build_go(module: &str, package: &str) -> Built {
    build_go_in(&guests().join(module), package)
}

/// Builds a policy of the Go module in a folder.
fn build_go_in(module: &Path, package: &str) -> Built {
    build_go_as("c-shared", module, package)
}

/// Builds a policy (`c-shared`) or a program (`exe`), as docs/languages/go.md and stdio.md say.
fn build_go_as(mode: &str, module: &Path, package: &str) -> Built {
    let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (folder, out) = output(&format!("{name}-{}.wasm", package.trim_matches('.').replace('/', "-")));
    let mut go = Command::new("go");
    go.current_dir(module).env("GOOS", "wasip1").env("GOARCH", "wasm").env("GOFLAGS", "-mod=mod");
    go.args(["build", "-trimpath", "-buildvcs=false", &format!("-buildmode={mode}"), "-ldflags=-s -w", "-o"])
        .arg(&out)
        .arg(Path::new(".").join(package));
    let built = run(&mut go, GO_ADVICE).map(|output| {
        assert!(output.status.success(), "go failed: {}", String::from_utf8_lossy(&output.stderr));
    });
    finish(built, &folder, &out)
}

fn run(command: &mut Command, advice: &str) -> Result<Output, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.output().map_err(|error| format!("{program} does not run ({error}); {advice}"))
}

fn finish(built: Result<(), String>, folder: &Path, out: &Path) -> Built {
    let module = built.and_then(|()| fs::read(out).map_err(|error| error.to_string()));
    // A folder that is left behind does no harm.
    let _ = fs::remove_dir_all(folder);
    module
}

/// A folder of its own for one build, and a file in it.
fn output(file: &str) -> (PathBuf, PathBuf) {
    let folder = env::temp_dir().join(format!("plimsoll-guests-{}-{file}", std::process::id()));
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let out = folder.join(file);
    (folder, out)
}

fn guests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guests")
}
