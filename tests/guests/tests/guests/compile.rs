//! Compiling in a process of its own: the harm that a module can do to that process, and that the process can do to us.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use plimsoll_core::{LoadError, Loader};
use plimsoll_guests::{
    Expected,
    bombs::{bombs, chained_types, loops_over_locals},
    hostile, world, zone,
};
use plimsoll_harness::{binary, tempdir, wait_until};
use plimsoll_wasm::{ChildConfig, EngineConfig, WasmLoader, module_of};

fn loader_of(child: ChildConfig) -> WasmLoader {
    WasmLoader::new(EngineConfig { max_calls: 2, ..EngineConfig::new(child) }).unwrap()
}

/// As an operator has it.
fn loader() -> &'static WasmLoader {
    static LOADER: OnceLock<WasmLoader> = OnceLock::new();
    LOADER.get_or_init(|| loader_of(ChildConfig::of(binary())))
}

fn refusal(loader: &WasmLoader, module: &[u8]) -> LoadError {
    loader.load("", &module_of(module)).err().unwrap()
}

/// A program that is no compiler.
fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("compiler");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_module_is_compiled_elsewhere_and_runs_here() {
    let inspection = loader().inspect("", &module_of(&zone())).unwrap();
    assert!(!inspection.from_cache);
    let ask = world::patient(world::ask(world::view(&world::cluster(4))));
    let verdicts = inspection.policy.filter(&ask, &[0, 1]).unwrap();
    assert_eq!(verdicts.len(), 2);
    assert_ne!(verdicts[0], verdicts[1]);
}

#[test]
fn a_bomb_ends_at_most_the_process_that_compiles_it() {
    for bomb in bombs() {
        let error = refusal(loader(), &bomb.bytes);
        println!("{}: {} bytes: {error}", bomb.name, bomb.bytes.len());
        assert!(error.to_string().contains(bomb.refused), "{}: {error}", bomb.name);
    }
}

#[test]
fn types_that_are_deep_without_being_nested_end_the_process_that_reads_them_alone() {
    for length in [1_000, 100_000] {
        let error = refusal(loader(), &chained_types(length));
        println!("{length}: {error}");
        // The reader of types has an assertion there.
        assert!(error.to_string().contains("the compiler failed on it") && !error.is_transient(), "{error}");
    }
}

#[test]
fn a_compile_that_takes_too_long_or_too_much_is_stopped_and_may_be_tried_again() {
    let bomb = loops_over_locals(300, 3_000);
    let timeout = Duration::from_millis(700);
    let late = refusal(&loader_of(ChildConfig { timeout, ..ChildConfig::of(binary()) }), &bomb);
    assert!(late.is_transient() && late.to_string().contains("stopped after 0.7 s"), "{late}");
    let large = refusal(&loader_of(ChildConfig { memory: 96 << 20, ..ChildConfig::of(binary()) }), &bomb);
    assert!(large.is_transient() && large.to_string().contains("more than 96 MiB of memory"), "{large}");
}

#[test]
fn each_refused_guest_is_told_the_same_by_a_process() {
    for guest in hostile() {
        match guest.expected {
            Expected::Refused(text) => {
                let error = refusal(loader(), &guest.bytes);
                assert!(error.to_string().contains(text) && !error.is_transient(), "{}: {error}", guest.name);
            }
            Expected::Fault(..) => assert!(loader().load("", &module_of(&guest.bytes)).is_ok(), "{}", guest.name),
        }
    }
}

#[test]
fn a_compiler_that_lies_or_dies_is_a_failure_that_passes() {
    let folder = tempdir().unwrap();
    let table = [
        ("exit 0", "ended without an answer: exit status: 0"),
        ("echo 'out of luck' >&2; exit 3", "exit status: 3: out of luck"),
        ("kill -9 $$", "signal: 9"),
        ("kill -24 $$", "stopped after 3 s"),
        ("exec cat /dev/zero", "ended without an answer"),
        ("while :; do echo y >&2; done", "stopped after 3 s"),
        ("echo 'memory allocation of 99 bytes failed' >&2; kill -6 $$", "MiB of memory"),
    ];
    for (text, expected) in table {
        let child = ChildConfig { timeout: Duration::from_secs(3), ..ChildConfig::of(script(folder.path(), text)) };
        let error = refusal(&loader_of(child), &zone());
        assert!(error.is_transient() && error.to_string().contains(expected), "{text}: {error}");
    }
    let error = refusal(&loader_of(ChildConfig::of("/nowhere")), &zone());
    assert!(error.is_transient() && error.to_string().contains("could not be started"), "{error}");
}

/// The number of starts of a program that counts them in a file.
fn starts(count: &Path) -> usize {
    fs::read_to_string(count).unwrap_or_default().lines().count()
}

#[test]
fn several_policies_that_name_one_module_compile_it_once() {
    let folder = tempdir().unwrap();
    let count = folder.path().join("count");
    let compile = format!("echo x >>{}; exec {} \"$@\"", count.display(), binary().display());
    let loader = loader_of(ChildConfig::of(script(folder.path(), &compile)));
    let module = zone();
    std::thread::scope(|scope| {
        let loads: Vec<_> = (0..8).map(|_| scope.spawn(|| loader.load("", &module_of(&module)).unwrap())).collect();
        let _policies: Vec<_> = loads.into_iter().map(|load| load.join().unwrap()).collect();
    });
    assert_eq!(starts(&count), 1);
}

#[test]
fn bytes_that_are_no_code_are_not_run() {
    let folder = tempdir().unwrap();
    let child = ChildConfig::of(script(folder.path(), "printf abc"));
    assert!(loader_of(child).load("", &module_of(&zone())).is_err());
}

#[test]
fn nothing_is_left_of_a_process_that_was_stopped() {
    let folder = tempdir().unwrap();
    let noted = folder.path().join("pid");
    let text = format!("echo $$ >{}; exec sleep 1000", noted.display());
    let timeout = Duration::from_millis(500);
    let child = ChildConfig { timeout, ..ChildConfig::of(script(folder.path(), &text)) };
    let error = refusal(&loader_of(child), &zone());
    assert!(error.to_string().contains("stopped after 0.5 s"), "{error}");
    let pid = fs::read_to_string(noted).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "process {pid} is left");
}

#[test]
fn a_compile_ends_with_the_program_that_wants_it() {
    let folder = tempdir().unwrap();
    let module = folder.path().join("bomb.wasm");
    fs::write(&module, loops_over_locals(300, 3_000)).unwrap();
    let mut check =
        std::process::Command::new(binary()).args(["check", "--no-compile-cache"]).arg(&module).spawn().unwrap();
    let compile = wait_until("the compile process", || child_of(check.id())).unwrap();
    check.kill().unwrap();
    check.wait().unwrap();
    wait_until("its end", || (!is_running(compile)).then_some(())).unwrap();
}

fn child_of(parent: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let child: u32 = children.split_whitespace().next()?.parse().ok()?;
    // Not before it has become the compiler.
    let command = fs::read_to_string(format!("/proc/{child}/cmdline")).ok()?;
    command.contains("compile-module").then_some(child)
}

/// A process that nobody has waited for yet is not running.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, fields)| !fields.trim_start().starts_with(['Z', 'X']))
}
