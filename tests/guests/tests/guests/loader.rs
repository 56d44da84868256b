//! The loader's reports about modules, and the parts that policies share.

use std::sync::Arc;

use plimsoll_core::{Loader, Verb};
use plimsoll_guests::{world, zone};
use plimsoll_wasm::{digest, module_of};

#[test]
fn a_module_is_inspected() {
    let inspection = world::loader().inspect("", &module_of(&zone())).unwrap();
    assert!(inspection.is_core_module && !inspection.from_cache);
    assert_eq!(inspection.verbs.iter().collect::<Vec<_>>(), [Verb::Filter]);
    assert_eq!(inspection.imports, ["nodes.label"]);
    assert_eq!(inspection.size, zone().len() as u64);
    assert_eq!(inspection.digest, digest(&zone()));
}

#[test]
fn policies_that_share_a_module_share_one_compile() {
    let loader = world::loader();
    let first = loader.load("", &module_of(&zone())).unwrap();
    let second = loader.inspect("", &module_of(&zone())).unwrap();
    assert!(second.from_cache && Arc::ptr_eq(&first, &second.policy));
}

#[test]
fn a_module_that_nobody_uses_is_forgotten() {
    let loader = world::loader();
    drop(loader.load("", &module_of(&zone())).unwrap());
    assert!(!loader.inspect("", &module_of(&zone())).unwrap().from_cache);
}

#[test]
fn an_empty_file_and_a_header_alone_are_refused() {
    let refusal = |bytes: &[u8]| world::loader().inspect("", &module_of(bytes)).err().unwrap().to_string();
    assert_eq!(refusal(b""), "the module ends in the middle: it is empty; is the file complete?");
    assert_eq!(refusal(b"\0as"), "the module ends in the middle: it has 3 bytes; is the file complete?");
    assert!(refusal(b"\0asm\x09\0\0\0").starts_with("WebAssembly of an unknown kind"));
    assert!(refusal(b"\0asm\x01\0\0\0").starts_with("it exports no verb"));
}

#[test]
fn no_prefix_of_a_module_makes_the_loader_panic() {
    let (loader, module) = (world::loader(), zone());
    for end in 0..module.len() {
        if let Err(error) = loader.load("", &module_of(&module[..end])) {
            assert!(!error.to_string().contains("plimsoll itself failed"), "{end} bytes: {error}");
        }
    }
}

#[test]
fn no_changed_byte_of_a_module_makes_the_loader_panic() {
    let (loader, module) = (world::loader(), zone());
    for at in 8..module.len() {
        let mut module = module.clone();
        module[at] ^= 0x55;
        if let Err(error) = loader.load("", &module_of(&module)) {
            assert!(!error.to_string().contains("plimsoll itself failed"), "byte {at}: {error}");
        }
    }
}
