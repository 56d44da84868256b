//! Makes a component from a core module with canonical import and export names.
//!
//! So an author only needs a language's compiler: `plimsoll:policy/filter@0.1.0#filter` is an export like any other.
//! WASI preview 1, which many language runtimes import, is implemented by a frozen adapter (`componentize/adapter.wat`).
//! A command of preview 1, which exports `_start` and no verb, becomes a component that runs it as a program.

use std::{collections::BTreeSet, sync::OnceLock};

use wasmparser::{ExternalKind, Parser, Payload, TypeRef};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::{
    contract::{RefusedError, WIT, verb_of_core_export},
    wasi::PREVIEW1,
};

/// Part of the cache key: raise it whenever a core module becomes a different component.
pub(crate) const COMPONENTIZE_VERSION: u32 = 3;

/// The export of a command of preview 1 that runs it.
const START: &str = "_start";

/// In the name of every interface that only the adapter imports or exports.
const ADAPTER_PACKAGE: &str = "plimsoll:adapter/";

/// The functions of both adapters.
const SHARED: &str = include_str!("componentize/adapter.wat");

/// The adapter's imports and exports. They are not part of the contract: a policy cannot import them by name.
const ADAPTER_WORLDS: &str = "
package plimsoll:adapter@0.1.0;
interface host {
  /// Bytes that the guest wrote to its standard output (1) or error (2).
  write: func(fd: u32, bytes: list<u8>);
  /// The guest ends by itself; this does not return.
  exit: func(code: u32);
  /// The next bytes of a program's standard input; none at its end.
  read: func(most: u32) -> list<u8>;
  /// Eight bytes of the verb that a program is asked: the first ones (0) or those after them (1), filled up with zeros.
  verb: func(word: u32) -> u64;
}
interface program {
  /// Runs the program to its end.
  run: func();
}
world reactor { import host; }
world command { import host; export program; }
";

const MAGIC: &[u8] = b"\0asm";
const CORE_MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];

/// The kind of a file, detected from its first eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModuleKind {
    /// To be made a component.
    CoreModule,
    /// To be taken as it is.
    Component,
}

/// The result of a scan of a core module.
#[derive(Default)]
struct ModuleScan {
    /// The interfaces of its verbs.
    verbs: BTreeSet<&'static str>,
    needs_wasi: bool,
    /// Whether it exports the start of a program.
    has_start: bool,
    /// Whether it contains a world, as modules made with wit-bindgen do.
    has_world: bool,
}

/// The module that implements preview 1 for one kind of module.
struct Adapter {
    world: &'static str,
    source: &'static str,
    module: OnceLock<Vec<u8>>,
}

/// For a policy that exports verbs.
static REACTOR: Adapter = Adapter::new("reactor", include_str!("componentize/reactor.wat"));

/// For a program that runs once per call.
static COMMAND: Adapter = Adapter::new("command", include_str!("componentize/command.wat"));

/// Detects a core module or a component.
///
/// # Errors
/// If the bytes are neither.
pub(crate) fn kind(module: &[u8]) -> Result<ModuleKind, RefusedError> {
    let header = |end: usize| module.iter().take(end).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    if module.is_empty() {
        return Err(RefusedError::Truncated("it is empty".to_owned()));
    }
    if !module.starts_with(&MAGIC[..module.len().min(4)]) {
        return Err(RefusedError::NotWasm(header(4)));
    }
    match module.get(4..8) {
        Some(CORE_MODULE) => Ok(ModuleKind::CoreModule),
        Some(COMPONENT) => Ok(ModuleKind::Component),
        Some(_) => Err(RefusedError::UnknownKind(header(8))),
        None => Err(RefusedError::Truncated(format!("it has {} bytes", module.len()))),
    }
}

/// Converts a core module to a component.
///
/// # Errors
/// Says what is wrong with the module and what was expected.
pub(crate) fn componentize(module: &[u8]) -> Result<Vec<u8>, RefusedError> {
    let scan = ModuleScan::of(module)?;
    let is_program = scan.is_program();
    if scan.verbs.is_empty() && !scan.has_world && !is_program {
        return Err(RefusedError::NoVerb);
    }
    let mut module = module.to_vec();
    if !scan.has_world && !is_program {
        let exports = scan.verbs.iter().map(|verb| format!("export {verb};")).collect::<Vec<_>>().join(" ");
        embed(&mut module, &format!("{WIT}\nworld componentized {{ include imports; {exports} }}\n"), "componentized")?;
    }
    let mut encoder = ComponentEncoder::default().validate(true).module(&module).map_err(|error| refused(&error))?;
    if scan.needs_wasi {
        let adapter = if is_program { &COMMAND } else { &REACTOR };
        encoder = encoder.adapter(PREVIEW1, adapter.module()?).map_err(|error| refused(&error))?;
    }
    encoder.encode().map_err(|error| refused(&error))
}

/// Embeds a world of a WIT text into a core module as the custom section that the encoder reads.
fn embed(module: &mut Vec<u8>, wit: &str, world: &str) -> Result<(), RefusedError> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("policy.wit", wit).map_err(|error| refused(&error))?;
    let world = resolve.select_world(&[package], Some(world)).map_err(|error| refused(&error))?;
    embed_component_metadata(module, &resolve, world, StringEncoding::UTF8).map_err(|error| refused(&error))
}

/// Formats the whole error chain: its last cause names the change that the author must make.
fn refused(error: &dyn std::fmt::Display) -> RefusedError {
    RefusedError::Componentize(format!("{error:#}"))
}

// === impl ModuleScan ===

impl ModuleScan {
    fn of(module: &[u8]) -> Result<Self, RefusedError> {
        let mut scan = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload.map_err(|error| invalid(&error))? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let import = import.map_err(|error| invalid(&error))?;
                        // Only the adapter may import this; a module with a world could name it, too.
                        if import.module.contains(ADAPTER_PACKAGE) {
                            return Err(RefusedError::Import(vec![import.module.to_owned()]));
                        }
                        scan.needs_wasi |= import.module == PREVIEW1;
                        if matches!(import.ty, TypeRef::Memory(memory) if memory.shared) {
                            return Err(RefusedError::Threads);
                        }
                    }
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export.map_err(|error| invalid(&error))?;
                        // Only the adapter of a program may export this.
                        if export.name.contains(ADAPTER_PACKAGE) {
                            return Err(RefusedError::UnknownVerb { name: export.name.to_owned() });
                        }
                        scan.has_start |= export.name == START && export.kind == ExternalKind::Func;
                        scan.verbs.extend(verb_of_core_export(export.name)?.map(|(_, interface)| interface));
                    }
                }
                Payload::MemorySection(memories) => {
                    for memory in memories {
                        if memory.map_err(|error| invalid(&error))?.shared {
                            return Err(RefusedError::Threads);
                        }
                    }
                }
                Payload::CustomSection(section) => scan.has_world |= section.name().starts_with("component-type"),
                _ => {}
            }
        }
        Ok(scan)
    }

    /// Whether it is a command of preview 1: without its imports a program could not answer.
    fn is_program(&self) -> bool {
        self.has_start && self.needs_wasi && self.verbs.is_empty() && !self.has_world
    }
}

// === impl Adapter ===

impl Adapter {
    const fn new(world: &'static str, source: &'static str) -> Self {
        Self { world, source, module: OnceLock::new() }
    }

    /// The adapter as a core module that carries its world.
    fn module(&self) -> Result<&[u8], RefusedError> {
        if let Some(module) = self.module.get() {
            return Ok(module);
        }
        let text = format!("(module\n{}\n{SHARED})", self.source);
        let mut module = wat::parse_str(text).map_err(|error| RefusedError::Componentize(error.to_string()))?;
        embed(&mut module, ADAPTER_WORLDS, self.world)?;
        Ok(self.module.get_or_init(|| module))
    }
}

fn invalid(error: &wasmparser::BinaryReaderError) -> RefusedError {
    RefusedError::of_text(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_has_a_world_for_tools_that_need_one() {
        for (verb, interface, shape) in [
            ("filter", "filter", "(param i32) (result i32)"),
            ("score", "score", "(param i32) (result i32)"),
            ("rank", "rank", "(result i32)"),
            ("preempt", "preempt", "(param i32) (result i32)"),
            ("bind", "binding", "(param i32) (result i32)"),
        ] {
            let export = format!(r#"(func (export "plimsoll:policy/{interface}@0.1.0#{verb}") {shape} i32.const 0)"#);
            let mut module = wat::parse_str(format!(r#"(module (memory (export "memory") 1) {export})"#)).unwrap();
            embed(&mut module, WIT, &format!("{verb}-policy")).unwrap();
            let component = componentize(&module).unwrap();
            assert_eq!(kind(&component).unwrap(), ModuleKind::Component, "{verb}");
        }
    }

    #[test]
    fn an_import_of_another_environment_is_named_in_the_refusal() {
        let text = r#"(module (import "env" "abort" (func)) (memory (export "memory") 1)
            (func (export "plimsoll:policy/score@0.1.0#score") (param i32) (result i32) i32.const 0))"#;
        let error = componentize(&wat::parse_str(text).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("the core module cannot be made a component: "), "{error}");
        assert!(error.contains("env"), "{error}");
    }

    #[test]
    fn a_module_with_a_world_of_its_own_does_not_reach_past_the_adapter() {
        let world = "
            package test:mine@0.1.0;
            world mine { import plimsoll:adapter/host@0.1.0; export plimsoll:policy/filter@0.1.0; }
            package plimsoll:adapter@0.1.0 { interface host { exit: func(code: u32); } }
            package plimsoll:policy@0.1.0 { interface filter { filter: func(node: u32) -> u32; } }";
        for import in ["plimsoll:adapter/host@0.1.0", "cm32p2|plimsoll:adapter/host@0.1"] {
            let text = format!(
                r#"(module (import "{import}" "exit" (func (param i32))) (memory (export "memory") 1)
                    (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32) i32.const 0))"#
            );
            let mut module = wat::parse_str(text).unwrap();
            embed(&mut module, world, "mine").unwrap();
            let error = componentize(&module).unwrap_err().to_string();
            assert!(error.starts_with(&format!("it imports {import}; a policy may import")), "{error}");
        }
    }

    #[test]
    fn a_module_with_a_world_of_its_own_is_no_program() {
        let world = "
            package test:mine@0.1.0;
            world mine { export plimsoll:adapter/program@0.1.0; }
            package plimsoll:adapter@0.1.0 { interface program { run: func(); } }";
        let text = r#"(module (memory (export "memory") 1) (func (export "plimsoll:adapter/program@0.1.0#run")))"#;
        let mut module = wat::parse_str(text).unwrap();
        embed(&mut module, world, "mine").unwrap();
        let error = componentize(&module).unwrap_err().to_string();
        assert!(error.starts_with("it exports plimsoll:adapter/program@0.1.0#run, which is no verb"), "{error}");
    }

    #[test]
    fn a_command_of_preview_1_is_a_program_unless_it_exports_a_verb() {
        let scan = |parts: &str| ModuleScan::of(&wat::parse_str(format!("(module {parts})")).unwrap()).unwrap();
        let wasi = r#"(import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))"#;
        let start = r#"(func (export "_start"))"#;
        let verb = r#"(func (export "plimsoll:policy/rank@0.1.0#rank") (result i32) i32.const 0)"#;
        assert!(scan(&format!("{wasi}{start}")).is_program());
        for parts in [start.to_owned(), wasi.to_owned(), format!("{wasi}{start}{verb}")] {
            assert!(!scan(&parts).is_program(), "{parts}");
        }
        assert!(!scan(&format!(r#"{wasi}(global (export "_start") i32 (i32.const 0))"#)).is_program());
    }
}
