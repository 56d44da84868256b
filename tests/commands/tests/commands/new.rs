//! `plimsoll new`: the folder builds, passes its tests and is deployed on every save.

use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use plimsoll_commands::{matches_golden, plimsoll};
use plimsoll_harness::{binary, tempdir, wait_until, workspace};

use crate::tools::{has, has_clang, has_go};
#[cfg(feature = "nightly")]
use crate::tools::{has_npm_packages, has_packages, link_npm_packages};

/// `make` in the folder of a policy, with the plimsoll of this build.
pub(crate) fn make(folder: &Path, targets: &[&str]) -> Command {
    let mut make = Command::new("make");
    make.current_dir(folder).args(targets).arg(format!("PLIMSOLL={}", binary().display())).stdin(Stdio::null());
    // The make that runs the tests has given flags of its own.
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    make
}

/// Runs make; its output.
pub(crate) fn made(folder: &Path, targets: &[&str]) -> String {
    output_of(make(folder, targets))
}

fn output_of(mut make: Command) -> String {
    let output = make.output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{make:?}: {printed}");
    printed
}

/// A new policy `needs-label` in an empty folder.
pub(crate) fn new_policy(parent: &Path, language: &str) -> PathBuf {
    let printed = plimsoll(parent, &["new", "--lang", language, "needs-label"]).unwrap();
    assert_eq!(printed.code, Some(0), "{printed:?}");
    parent.join("needs-label")
}

#[test]
fn a_new_policy_in_c_builds_and_passes_its_tests() {
    if !has_clang() {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "c");
    let printed = made(&folder, &[]);
    assert!(printed.contains("accepted"), "{printed}");
    fs::write(folder.join("build/gone.csv"), "node-1,1\n").unwrap();
    let printed = made(&folder, &["test", "deploy"]);
    assert!(!folder.join("build/gone.csv").exists() && !folder.join("policies/gone.csv").exists());
    let asked =
        plimsoll(&folder, &["run", "--policies", "policies", "--pod", "pods/needs-gpu.yaml", "--sample"]).unwrap();
    assert!(asked.out.contains("40 of 200 nodes are left"), "{asked:?}");
    assert!(printed.contains("ok     a_node_without_the_label_is_refused"), "{printed}");
    assert!(printed.contains("2 cases: 2 passed"), "{printed}");
}

#[test]
fn a_new_policy_in_go_builds_and_passes_its_tests() {
    if !has_go() {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "go");
    let printed = made(&folder, &["test"]);
    assert!(printed.contains("ok  \texample.com/needs-label"), "{printed}");
    assert!(printed.contains("2 cases: 2 passed"), "{printed}");
}

/// The only test that runs cargo: the promise is that the folder builds. Its dependencies are those of the workspace,
/// with the same lock file, so it needs no network; they are compiled once into `target/new-policy`.
#[test]
fn a_new_policy_in_rust_builds_and_passes_its_tests() {
    if !has(&[("make", "--version"), ("cargo", "--version")], "install make and Rust") {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "rust");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    // Relative, so that it holds in a colleague's clone.
    let (_, path) = manifest.split_once("path = \"../").unwrap();
    let sdk = folder.join("..").join(path.split('"').next().unwrap()).canonicalize().unwrap();
    assert_eq!(sdk, workspace().join("plugin-sdk/rust").canonicalize().unwrap());
    let target = workspace().join("target/new-policy");
    fs::create_dir_all(&target).unwrap();
    symlink(&target, folder.join("target")).unwrap();
    fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let printed = made(&folder, &["test", "CARGO_NET_OFFLINE=true"]);
    assert!(printed.contains("test tests::a_node_without_the_label_is_refused ... ok"), "{printed}");
    assert!(printed.contains("2 cases: 2 passed"), "{printed}");
}

#[cfg(feature = "nightly")]
#[test]
fn a_new_policy_in_typescript_builds_and_passes_its_tests() {
    if !has_npm_packages("typescript") {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "typescript");
    let programs = [("tsc", "typescript/bin/tsc"), ("plimsoll-build", "plimsoll/bin/plimsoll-build.mjs")];
    link_npm_packages(&folder, "typescript", ("plimsoll", Path::new("../sdk")), &programs);
    fs::write(folder.join("node_modules/.installed"), "").unwrap();
    let printed = made(&folder, &["test"]);
    assert!(printed.contains("a node without the label is refused") && printed.contains("fail 0"), "{printed}");
    assert!(printed.contains("2 cases: 2 passed"), "{printed}");
}

#[cfg(feature = "nightly")]
#[test]
fn a_new_policy_in_assemblyscript_builds_and_passes_its_tests() {
    if !has_npm_packages("assemblyscript") {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "assemblyscript");
    let sdk = ("plimsoll-assemblyscript", Path::new("../sdk"));
    let programs = [("plimsoll-asc", "plimsoll-assemblyscript/bin/plimsoll-asc.mjs")];
    link_npm_packages(&folder, "assemblyscript", sdk, &programs);
    fs::write(folder.join("node_modules/.installed"), "").unwrap();
    let printed = made(&folder, &["test"]);
    assert!(printed.contains("a node without the label is refused") && printed.contains("fail 0"), "{printed}");
    assert!(printed.contains("2 cases: 2 passed"), "{printed}");
}

/// Packages come from the network: so the folder gets those with which the SDK itself is tested.
#[cfg(feature = "nightly")]
#[test]
fn a_new_policy_in_python_builds_and_passes_its_tests() {
    let packages = workspace().join("target/python");
    let advice = "make a venv with plugin-sdk/python[test] in target/python";
    if !has(&[("make", "--version")], "install make") || !has_packages(&packages.join("bin/componentize-py"), advice) {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "python");
    let venv = parent.path().join("venv");
    fs::create_dir(&venv).unwrap();
    for entry in fs::read_dir(&packages).unwrap().map(Result::unwrap) {
        symlink(entry.path(), venv.join(entry.file_name())).unwrap();
    }
    fs::write(venv.join("installed"), "").unwrap();
    // In place of an installation of the SDK, which needs the network, too.
    let mut make = make(&folder, &["test", &format!("VENV={}", venv.display())]);
    make.env("PYTHONPATH", folder.join("sdk")).env("MYPYPATH", folder.join("sdk"));
    let printed = output_of(make);
    assert!(printed.contains("2 passed") && printed.contains("2 cases: 2 passed"), "{printed}");
}

/// `make dev`, with its loop and all that it starts; ended as a group when it is dropped.
struct Dev(Child);

impl Drop for Dev {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["--", &group]).status();
        let _ = self.0.wait();
    }
}

#[test]
fn make_dev_deploys_a_change_when_it_is_saved_and_nothing_that_fails_its_tests() {
    if !has_clang() {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "c");
    // A log in the folder is no save: each round writes to it.
    let log = folder.join("dev.log");
    let output = fs::File::create(&log).unwrap();
    let mut make = make(&folder, &["dev"]);
    make.stdout(output.try_clone().unwrap()).stderr(output).process_group(0);
    let _dev = Dev(make.spawn().unwrap());
    let deployed = || fs::read(folder.join("policies/needs-label.wasm")).ok();
    let printed = || fs::read_to_string(&log).unwrap();
    let first = wait_until("the first module", deployed).unwrap();
    assert!(folder.join("policies/needs-label.yaml").exists());

    let source = fs::read_to_string(folder.join("policy.c")).unwrap();
    let save = |reason: &str| fs::write(folder.join("policy.c"), source.replace("node lacks", reason)).unwrap();
    wait_until("the first round", || printed().contains("deployed to").then_some(())).unwrap();
    save("this node lacks");
    wait_until("a failed test", || printed().contains("not deployed").then_some(())).unwrap();
    assert_eq!(deployed().as_ref(), Some(&first), "{}", printed());

    let settled = source.replace("example.com/needs", "example.com/needs-a-label");
    for file in ["policy_test.c", "cases/needs.yaml", "needs-label.yaml"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        fs::write(folder.join(file), text.replace("example.com/needs", "example.com/needs-a-label")).unwrap();
    }
    fs::write(folder.join("policy.c"), settled).unwrap();
    wait_until("the second module", || deployed().filter(|module| *module != first)).unwrap();

    fs::write(folder.join("prices.csv"), "node-1,0.25\n").unwrap();
    let sidecar = fs::read_to_string(folder.join("needs-label.yaml")).unwrap();
    fs::write(folder.join("needs-label.yaml"), sidecar + "\nfacts: [prices.csv]\n").unwrap();
    let facts = || fs::read_to_string(folder.join("policies/prices.csv")).ok();
    assert_eq!(wait_until("the facts", facts).unwrap(), "node-1,0.25\n");
    let rounds = printed().matches("2 cases: ").count();
    assert!(rounds <= 8, "8 files were saved, and {rounds} rounds made");
}

#[test]
fn new_tells_what_it_wrote_and_what_to_type() {
    let parent = tempdir().unwrap();
    let printed = plimsoll(parent.path(), &["new", "--lang", "c", "needs-label"]).unwrap();
    assert_eq!(printed.code, Some(0), "{printed:?}");
    matches_golden("new.txt", &printed.out).unwrap();
}

#[test]
fn a_tool_that_is_missing_is_named_with_the_command_that_installs_it() {
    let parent = tempdir().unwrap();
    new_policy(parent.path(), "c");
    if !has(&[("make", "--version")], "install make") {
        return;
    }
    let folder = parent.path().join("needs-label");
    let tools = parent.path().join("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["sh", "mkdir", "make"] {
        let found = Command::new("which").arg(tool).output().unwrap().stdout;
        symlink(String::from_utf8(found).unwrap().trim(), tools.join(tool)).unwrap();
    }
    let output = make(&folder, &[]).env("PATH", &tools).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && printed.contains("clang is missing. To install it: sudo apt-get"), "{printed}");
}

#[test]
fn new_refuses_a_name_that_is_none_and_a_folder_that_is_in_use() {
    let parent = tempdir().unwrap();
    let new = |args: &[&str]| plimsoll(parent.path(), &[&["new", "--lang", "c"][..], args].concat()).unwrap();
    let refused = |args: &[&str], error: &str| {
        let printed = new(args);
        assert_eq!(printed.code, Some(2), "{printed:?}");
        assert!(printed.err.contains(error), "{printed:?}");
    };
    for name in ["Needs", "needs_label", "../needs", "2nd", ""] {
        refused(&[name], &format!("'{name}' is no name for a new policy: expected a lower-case letter"));
    }
    fs::create_dir(parent.path().join("used")).unwrap();
    fs::write(parent.path().join("used/file"), "").unwrap();
    refused(&["used"], "used: it exists and is not empty: choose another name");
    fs::write(parent.path().join("file"), "").unwrap();
    refused(&["file"], "file cannot be used");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 2);
    fs::create_dir(parent.path().join("empty")).unwrap();
    assert_eq!(new(&["empty"]).code, Some(0));
}
