//! A default that a crate has too is the same in both: the flag's text and the value of the crate that it configures.

use plimsoll_core::DEFAULT_CACHE_BYTES;
use plimsoll_directory::DirectoryConfig;
use plimsoll_http::{BindAccess, WireConfig};
use plimsoll_wasm::{ChildConfig, EngineConfig};

use super::*;

fn serve() -> ServeArgs {
    let args = Args::try_parse_from(["plimsoll", "serve", "--policies", "policies"]).unwrap();
    let Command::Serve(serve) = args.command else { panic!("it is serve") };
    *serve
}

#[test]
fn the_flags_of_the_wire_have_its_defaults() {
    let (serve, wire) = (serve(), WireConfig::default());
    assert_eq!(serve.limits.request_timeout, REQUEST_TIMEOUT);
    assert_eq!(serve.limits.body_limit, wire.body_limit);
    assert_eq!(serve.limits.wire_memory, wire.memory);
    assert_eq!(serve.limits.max_nodes, wire.max_nodes);
    assert_eq!(serve.limits.drain_timeout, wire.drain);
    assert_eq!(serve.binding.bind_clients, BindAccess::default().clients);
}

#[test]
fn the_flags_of_the_decision_cache_have_its_defaults() {
    assert_eq!(serve().limits.decision_cache_size, DEFAULT_CACHE_BYTES);
}

#[test]
fn the_flags_of_the_directory_have_its_defaults() {
    let (serve, directory) = (serve(), DirectoryConfig::new("policies"));
    assert_eq!(serve.directory.settle, directory.settle);
    assert_eq!(serve.engine.max_policy_memory, directory.max_memory);
}

#[test]
fn the_flags_of_the_engine_have_its_defaults() {
    let (engine, child) = (serve().engine, ChildConfig::this_program());
    assert_eq!((engine.compile_memory as u64, engine.compile_timeout), (child.memory, child.timeout));
    let config = EngineConfig::new(child);
    assert_eq!(engine.compile_cache_size as u64, config.cache_size);
    assert_eq!(engine.max_policy_memory, config.max_memory);
    assert_eq!(engine.max_calls, config.max_calls);
}
