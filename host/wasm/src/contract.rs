//! The names of the contract: which ones a module may import and must export.

use plimsoll_core::{LoadError, Verb, Verbs, bounded, one_line};
use wasmparser::{Parser, Payload};
use wasmtime::{
    Engine, OutOfMemory,
    component::{Component, types::ComponentItem},
};

use crate::{
    abi::{ADAPTER, INTERFACES, PACKAGE, PROGRAM, SignatureError, VERSION, full_name, verb_interfaces},
    wasi,
};

/// The text of the contract. A released version never changes.
pub(crate) const WIT: &str = include_str!("../../../plugin-sdk/wit/v0.1.0/policy.wit");

/// The contract and its version, as modules name it.
pub const CONTRACT: &str = "plimsoll:policy@0.1.0";

/// The number of imports that a refusal lists.
const NAMED: usize = 8;

/// Maximum bytes of a refusal: it quotes names of the module.
const MAX_TEXT_BYTES: usize = 2048;

/// A part of each refusal of wasmparser of an asynchronous function.
const ASYNC: &str = "the component model async";

/// The texts of the system for ENOMEM and EAGAIN.
const SHORTAGES: [&str; 2] = ["Cannot allocate memory (os error 12)", "Resource temporarily unavailable (os error 11)"];

/// Why a module is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RefusedError {
    #[error("this is not WebAssembly: a module starts with the bytes 00 61 73 6d, this with {0}")]
    NotWasm(String),
    #[error("WebAssembly of an unknown kind: expected a core module (version 1) or a component, got the header {0}")]
    UnknownKind(String),
    #[error("the module ends in the middle: {0}; is the file complete?")]
    Truncated(String),
    #[error("the module is invalid: {0}")]
    Invalid(String),
    #[error("it speaks {name}; this plimsoll speaks plimsoll:policy@{VERSION}")]
    Version { name: String },
    #[error("it exports {name}, which is no verb; the verbs are {}", verbs())]
    UnknownVerb { name: String },
    #[error("its compiled code has {mebi} MiB; at most {at_most} MiB are allowed")]
    TooMuchCode { mebi: usize, at_most: usize },
    #[error(
        "it exports no verb; expected at least one of {}, as `{}`, or `_start` and imports of WASI preview 1 for a program that answers on standard output",
        verbs(),
        core_export(Verb::Filter)
    )]
    NoVerb,
    #[error("{}; and it imports {}, which a policy cannot", Self::NoVerb, first(.0))]
    NoVerbAndImports(Vec<String>),
    #[error("it imports {}; a policy may import plimsoll:policy@{VERSION} ({}) and WASI 0.2, no other version", first(.0), imports())]
    Import(Vec<String>),
    #[error("it uses asynchronous functions of the component model; build it with synchronous ones: {0}")]
    Async(String),
    /// The machine was at fault, and not the module.
    #[error("the system has too little memory or too few threads for it: {0}")]
    Shortage(String),
    #[error("it shares its memory between threads; a policy has one thread: build it without")]
    Threads,
    #[error("the core module cannot be made a component: {0}")]
    Componentize(String),
    #[error("{0}")]
    Signature(#[from] SignatureError),
    #[error("it does not fit plimsoll:policy@{VERSION}: {0}")]
    Link(String),
}

/// A name of the contract, `plimsoll:policy/INTERFACE@VERSION`, with any version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ContractName<'a> {
    interface: &'a str,
    version: &'a str,
}

/// The names that a component imports, by their source.
pub(crate) struct Imports {
    /// The functions of the contract, as `nodes.label`.
    pub(crate) functions: Vec<String>,
    /// The interfaces of WASI, as `wasi:cli/stdout@0.2.0`.
    pub(crate) wasi: Vec<String>,
}

/// The export of a core module that is a verb.
fn core_export(verb: Verb) -> String {
    format!("{}#{verb}", full_name(verb_interfaces(verb)[0]))
}

/// The interface of a verb that a core module's export belongs to; `None` if the name is not part of the contract.
pub(crate) fn interface_of_core_export(name: &str) -> Result<Option<&'static str>, RefusedError> {
    let Some(verb) = verb_of_core_export(name)? else { return Ok(None) };
    let interface = name.split_once('#').and_then(|(interface, _)| ContractName::parse(interface));
    let is_named = |known: &&&str| interface.is_some_and(|name| name.interface == **known);
    Ok(verb_interfaces(verb).iter().find(is_named).copied())
}

/// The verb of a core module's export; `None` if the name is not part of the contract.
pub(crate) fn verb_of_core_export(name: &str) -> Result<Option<Verb>, RefusedError> {
    let Some((interface, _function)) = name.split_once('#') else { return Ok(None) };
    verb_of(interface)
}

/// The verbs that a component exports; none of a program.
///
/// # Errors
/// If it exports none, or a contract name that is no verb of this version.
pub(crate) fn verbs_of(component: &Component, engine: &Engine, was_core_module: bool) -> Result<Verbs, RefusedError> {
    let ty = component.component_type();
    let (mut verbs, mut is_program) = (Vec::new(), false);
    for (name, _) in ty.exports(engine) {
        is_program |= was_core_module && name == PROGRAM;
        verbs.extend(verb_of(name)?);
    }
    if verbs.is_empty() && !is_program { Err(RefusedError::NoVerb) } else { Ok(verbs.into_iter().collect()) }
}

/// Sorts the imports of a component.
///
/// # Errors
/// If it imports anything outside of the contract and WASI 0.2.
pub(crate) fn imports_of(
    component: &Component,
    engine: &Engine,
    was_core_module: bool,
) -> Result<Imports, RefusedError> {
    let ty = component.component_type();
    let mut imports = Imports { functions: Vec::new(), wasi: Vec::new() };
    let mut foreign = Vec::new();
    for (name, item) in ty.imports(engine) {
        let interface = match ContractName::parse(name) {
            Some(name) if name.version == VERSION && is_import(name.interface) => name.interface,
            Some(wrong) if wrong.version != VERSION => return Err(RefusedError::Version { name: name.to_owned() }),
            _ if was_core_module && name == ADAPTER => continue,
            _ if wasi::is_linked(name) => {
                imports.wasi.push(name.to_owned());
                continue;
            }
            _ => {
                foreign.push(name.to_owned());
                continue;
            }
        };
        if let ComponentItem::ComponentInstance(instance) = &item.ty {
            let functions =
                instance.exports(engine).filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)));
            imports.functions.extend(functions.map(|(function, _)| format!("{interface}.{function}")));
        }
    }
    if foreign.is_empty() { Ok(imports) } else { Err(RefusedError::Import(foreign)) }
}

// === impl RefusedError ===

impl RefusedError {
    /// Converts wasmtime's error about a component that it rejects.
    pub(crate) fn of_wasmtime(error: &wasmtime::Error) -> Self {
        let text = format!("{error:#}");
        if is_shortage(error) { Self::Shortage(text) } else { Self::of_text(text) }
    }

    /// The same; the module is needed to name what an asynchronous component imports.
    pub(crate) fn of_compiling(module: &[u8], error: &wasmtime::Error) -> Self {
        match Self::of_wasmtime(error) {
            Self::Invalid(text) if text.contains(ASYNC) => {
                let newer = newer_wasi(module);
                if newer.is_empty() { Self::Async(text) } else { Self::Import(newer) }
            }
            other => other,
        }
    }

    pub(crate) fn of_text(text: String) -> Self {
        if text.contains("unexpected end") { Self::Truncated(text) } else { Self::Invalid(text) }
    }
}

impl From<RefusedError> for LoadError {
    fn from(error: RefusedError) -> Self {
        let text = harmless(&error.to_string());
        if matches!(error, RefusedError::Shortage(_)) { Self::transient(text) } else { Self::permanent(text) }
    }
}

/// Whether the system refused memory or a thread.
///
/// The whole text of a cause is compared: a text of the compiler may quote a name of the module, which may be anything.
fn is_shortage(error: &wasmtime::Error) -> bool {
    let of_system = |cause: &(dyn std::error::Error + 'static)| {
        let text = cause.to_string();
        cause.source().is_none() && SHORTAGES.contains(&text.as_str())
    };
    error.is::<OutOfMemory>() || error.chain().any(of_system)
}

/// Sanitizes a text that may quote a module: one line, bounded in length.
pub(crate) fn harmless(text: &str) -> String {
    one_line(bounded(text, MAX_TEXT_BYTES)).into_owned()
}

fn verb_of(name: &str) -> Result<Option<Verb>, RefusedError> {
    let Some(parsed) = ContractName::parse(name) else { return Ok(None) };
    if parsed.version != VERSION {
        return Err(RefusedError::Version { name: name.to_owned() });
    }
    let unknown = || RefusedError::UnknownVerb { name: name.to_owned() };
    // Types that a verb's interface uses may be exported as well.
    if parsed.interface == "types" {
        return Ok(None);
    }
    let verb = Verb::ALL.into_iter().find(|verb| verb_interfaces(*verb).contains(&parsed.interface));
    verb.map(Some).ok_or_else(unknown)
}

/// The imports of a component that are of a version of WASI which is not linked, as far as it can be read.
fn newer_wasi(component: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        match payload {
            Ok(Payload::ComponentImportSection(imports)) => {
                let imports = imports.into_iter().flatten().map(|import| import.name.name);
                names.extend(
                    imports.filter(|name| name.starts_with("wasi:") && !wasi::is_linked(name)).map(str::to_owned),
                );
            }
            // Components inside of it import from it.
            Err(_) | Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => break,
            Ok(_) => {}
        }
    }
    names
}

/// The first few names of a list whose length the module controls.
fn first(names: &[String]) -> String {
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    names[..names.len().min(NAMED)].join(", ") + &more
}

fn verbs() -> String {
    Verb::ALL.map(Verb::as_str).join(", ")
}

fn imports() -> String {
    INTERFACES.join(", ")
}

/// Whether a policy may import an interface; `types` has what the others return.
fn is_import(interface: &str) -> bool {
    interface == "types" || INTERFACES.contains(&interface)
}

// === impl ContractName ===

impl<'a> ContractName<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (interface, version) = text.strip_prefix(PACKAGE)?.split_once('@')?;
        Some(Self { interface, version })
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_contract_is_named_with_its_version() {
        assert_eq!(CONTRACT, format!("plimsoll:policy@{VERSION}"));
    }

    #[test]
    fn a_verb_is_found_by_its_canonical_name() {
        assert_eq!(verb_of_core_export("plimsoll:policy/rank@0.1.0#rank").unwrap(), Some(Verb::Rank));
        assert_eq!(verb_of_core_export("plimsoll:policy/bind@0.1.0#bind").unwrap(), Some(Verb::Bind));
        assert_eq!(verb_of_core_export("plimsoll:policy/binding@0.1.0#bind").unwrap(), Some(Verb::Bind));
        assert_eq!(interface_of_core_export("plimsoll:policy/binding@0.1.0#bind").unwrap(), Some("binding"));
        assert_eq!(interface_of_core_export("plimsoll:policy/bind@0.1.0#bind").unwrap(), Some("bind"));
        assert_eq!(verb_of_core_export("memory").unwrap(), None);
        assert_eq!(verb_of_core_export("cabi_post_plimsoll:policy/rank@0.1.0#rank").unwrap(), None);
    }

    #[test]
    fn an_unknown_version_is_named_with_what_is_supported() {
        let error = verb_of_core_export("plimsoll:policy/filter@0.9.0#filter").unwrap_err().to_string();
        assert_eq!(error, "it speaks plimsoll:policy/filter@0.9.0; this plimsoll speaks plimsoll:policy@0.1.0");
    }

    #[test]
    fn an_unknown_verb_is_named() {
        let error = verb_of_core_export("plimsoll:policy/bless@0.1.0#bless").unwrap_err().to_string();
        assert!(error.starts_with("it exports plimsoll:policy/bless@0.1.0, which is no verb"), "{error}");
    }

    #[test]
    fn a_module_does_not_pose_as_a_lack_of_memory_by_a_name() {
        let is_transient = |error| LoadError::from(RefusedError::of_wasmtime(&error)).is_transient();
        let name = "Cannot allocate memory (os error 12)";
        let error = wasmtime::Error::msg(format!("unknown import: `{name}` has not been defined")).context("link");
        assert!(!is_transient(error));
        let error = wasmtime::Error::from(io::Error::from_raw_os_error(12)).context("cannot map the code");
        assert!(is_transient(error));
    }
}
