//! Guests that need a compiler: built once for a test run, below the system's folder for temporary files.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

/// The result of a build: a module, or why there is none.
type Built = Result<Vec<u8>, String>;

/// The zone policy in C, with clang and its linker for WebAssembly.
///
/// None where there is no such clang: the test is reported as skipped.
///
/// # Panics
/// If the build fails, or with `CI=true` if there is no compiler.
pub fn c_guest() -> Option<Vec<u8>> {
    static BUILT: OnceLock<Built> = OnceLock::new();
    module("the C guest", BUILT.get_or_init(build_c))
}

/// The zone policy in Go, which does other things as well if its settings say so: `{"do": "panic"}`.
///
/// None where there is no Go: the test is reported as skipped.
///
/// # Panics
/// As for [`c_guest`].
pub fn go_guest() -> Option<Vec<u8>> {
    static BUILT: OnceLock<Built> = OnceLock::new();
    module("the Go guest", BUILT.get_or_init(|| build_go("go", ".")))
}

/// A sample policy in Go: `tenant-pool` or `warm-image`.
///
/// None where there is no Go: the test is reported as skipped.
///
/// # Panics
/// As for [`c_guest`].
pub fn go_policy(name: &str) -> Option<Vec<u8>> {
    module(&format!("{name} in Go"), &build_go("go-policies", name))
}

fn module(what: &str, built: &Built) -> Option<Vec<u8>> {
    match built {
        Ok(module) => Some(module.clone()),
        Err(missing) => {
            plimsoll_harness::skip(&format!("{what} cannot be built: {missing}"));
            None
        }
    }
}

fn build_c() -> Built {
    let source = guests().join("good/zone.c");
    let (folder, out) = output("zone.wasm");
    let mut clang = Command::new("clang");
    clang.args(["--target=wasm32", "-O2", "-nostdlib", "-ffreestanding", "-Wl,--no-entry", "-o"]).arg(&out).arg(source);
    let built = run(&mut clang, "install clang and lld");
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

/// Builds a package of a Go module.
fn build_go(module: &str, package: &str) -> Built {
    let (folder, out) = output(&format!("{module}-{}.wasm", package.trim_matches('.')));
    let mut go = Command::new("go");
    go.current_dir(guests().join(module)).env("GOOS", "wasip1").env("GOARCH", "wasm").env("GOFLAGS", "-mod=mod");
    go.args(["build", "-buildmode=c-shared", "-ldflags=-s -w", "-o"]).arg(&out).arg(Path::new(".").join(package));
    let built = run(&mut go, "install Go 1.24 or later").map(|output| {
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
    // What is left behind does no harm.
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
