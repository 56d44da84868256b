//! Components that import WASI 0.2 find a world that stands still, as core modules do with preview 1.

use plimsoll_core::{Fault, Loader, Verb};
use plimsoll_guests::{compile, wasi, world};
use plimsoll_wasm::module_of;

use crate::log::logged_by;

fn scores() -> Result<Vec<u32>, Fault> {
    let policy = world::loader().load("", &module_of(&wasi())).unwrap();
    policy.score(&world::patient(world::ask(world::view(&world::cluster(world::NODES)))), &[0, 1, 2, 3])
}

#[test]
fn a_component_finds_a_world_that_stands_still() {
    let days_to_2020 = 1_577_836_800 / 86_400 % 100;
    let one_event_and_no_time = 10;
    let one_argument_and_nothing_else = 50;
    let first = scores().unwrap();
    assert_eq!((first[0], first[1], first[3]), (days_to_2020, one_event_and_no_time, one_argument_and_nothing_else));
    assert_eq!(scores().unwrap(), first, "random bytes differ");
}

#[test]
fn what_a_component_prints_is_logged() {
    let (lines, answer) = logged_by(&wasi(), "null", |policy, ask| policy.score(ask, &[3]));
    assert_eq!(answer.unwrap(), [50]);
    let line = |level, text: &str| format!("{level} plimsoll::guest: {text} policy=\"guest\" node=\"n3\"");
    assert_eq!(lines, [line(" INFO", "to the output"), line(" WARN", "to the error")]);
}

#[test]
fn each_import_of_wasi_is_listed_with_what_it_gets() {
    let found = world::loader().inspect("", &module_of(&wasi())).unwrap();
    assert_eq!(found.verbs.iter().collect::<Vec<_>>(), [Verb::Score]);
    assert!(found.imports.is_empty(), "{:?}", found.imports);
    let gets = |interface: &str| found.wasi.iter().find(|wasi| wasi.interface() == interface).unwrap();
    assert_eq!(gets("cli/stdout").name, "wasi:cli/stdout@0.2.6");
    assert_eq!(gets("cli/stdout").gets, "log lines at level info");
    assert_eq!(gets("clocks/wall-clock").gets, "2020-01-01T00:00:00Z, always");
    assert_eq!(gets("filesystem/types").gets, "nothing: a call of one of its functions is the fault `trap`");
}

/// A composed component may import an interface in two versions, and one resource under two names.
#[test]
fn one_interface_may_be_imported_in_several_versions() {
    let version = |version: &str, n: u32| {
        format!(
            r#"(import "wasi:http/types@{version}" (instance $http{n}
                 (export "fields" (type $fields (sub resource)))
                 (export "headers" (type (eq $fields)))))
               (alias export $http{n} "fields" (type $fields{n}))
               (import "wasi:http/proxy@{version}" (instance
                 (alias outer 1 $fields{n} (type $theirs))
                 (export "trailers" (type $trailers (eq $theirs)))
                 (export "count" (func (param "of" (borrow $trailers)) (result u32)))))"#
        )
    };
    let text = format!(
        r#"(component {} {}
             (core module $m (func (export "score") (param i32) (result i32) (i32.const 7)))
             (core instance $i (instantiate $m))
             (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
             (instance $verb (export "score" (func $score)))
             (export "plimsoll:policy/score@0.1.0" (instance $verb)))"#,
        version("0.2.0", 1),
        version("0.2.12", 2)
    );
    let policy = world::loader().load("", &module_of(&compile("versions", &text))).unwrap();
    let ask = world::ask(world::view(&world::cluster(1)));
    assert_eq!(policy.score(&ask, &[0]).unwrap(), [7]);
}

#[test]
fn only_wasi_gets_functions_that_nobody_has_written() {
    let text = r#"(component
        (import "plimsoll:policy/nodes@0.1.0" (instance (export "favourite" (func (result u32)))))
        (import "wasi:cli/stdin@0.2.0" (instance (export "favourite" (func (result u32)))))
        (core module $m (func (export "score") (param i32) (result i32) (i32.const 7)))
        (core instance $i (instantiate $m))
        (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
        (instance $verb (export "score" (func $score)))
        (export "plimsoll:policy/score@0.1.0" (instance $verb)))"#;
    let Err(error) = world::loader().load("", &module_of(&compile("favourite", text))) else { panic!("it was loaded") };
    let error = error.to_string();
    assert!(error.contains("plimsoll:policy/nodes@0.1.0") && !error.contains("wasi:"), "{error}");
}

#[test]
fn more_resources_than_wasi_has_are_refused() {
    let imports = |count: u32| {
        let resource = |n: u32| format!("(export \"r{n}\" (type (sub resource)))");
        let resources: String = (0..count).map(resource).collect();
        format!(
            r#"(component (import "wasi:cli/stdin@0.2.0" (instance {resources}))
                 (core module $m (func (export "score") (param i32) (result i32) (i32.const 7)))
                 (core instance $i (instantiate $m))
                 (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
                 (instance $verb (export "score" (func $score)))
                 (export "plimsoll:policy/score@0.1.0" (instance $verb)))"#
        )
    };
    assert!(world::loader().load("", &module_of(&compile("most", &imports(1_000)))).is_ok());
    let Err(error) = world::loader().load("", &module_of(&compile("more", &imports(1_001)))) else {
        panic!("it was loaded")
    };
    assert!(error.to_string().contains("more than 1000 resources"), "{error}");
}
