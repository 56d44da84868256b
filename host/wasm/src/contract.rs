//! The contract: which names a module may import and must export, and their types.

use plimsoll_core::{LoadError, Verb, Verbs, bounded, one_line};
use wasmtime::{
    Engine, OutOfMemory,
    component::{Component, Linker, types::ComponentItem},
};

use crate::{
    abi::{ADAPTER, Exports, INTERFACES, PACKAGE, PROGRAM, SignatureError, VERSION, full_name, verb_interfaces},
    instance::LinkedModule,
    store::StoreData,
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

/// A component whose imports and exports match the contract.
pub(crate) struct CheckedComponent {
    pub(crate) module: LinkedModule,
    pub(crate) verbs: Verbs,
    pub(crate) imports: Imports,
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

/// Checks a component against the contract, and links it.
///
/// The compile process has run the same check within its limits before, so the gateway never walks more types than that
/// process could.
///
/// # Errors
/// The error names the import or export that does not match the contract.
pub(crate) fn check(
    component: &Component,
    linker: &Linker<StoreData>,
    was_core_module: bool,
) -> Result<CheckedComponent, RefusedError> {
    let engine = component.engine();
    // Imports first: a forbidden import is more informative than a missing export.
    let imports = imports_of(component, engine, was_core_module)?;
    let verbs = verbs_of(component, engine, was_core_module)?;
    let exports = Exports::of(component)?;
    let prepared =
        if imports.wasi.is_empty() { linker.instantiate_pre(component) } else { wasi::link(linker, component) };
    let instances = prepared.map_err(|error| RefusedError::Link(format!("{error:#}")))?;
    Ok(CheckedComponent { module: LinkedModule { instances, exports }, verbs, imports })
}

/// The verb, and its interface, of a core module's export; `None` if the name is not part of the contract.
pub(crate) fn verb_of_core_export(name: &str) -> Result<Option<(Verb, &'static str)>, RefusedError> {
    name.split_once('#').map_or(Ok(None), |(interface, _function)| verb_of(interface))
}

/// The verbs that a component exports; none of a program.
///
/// # Errors
/// If it exports none, or a contract name that is no verb of this version.
fn verbs_of(component: &Component, engine: &Engine, was_core_module: bool) -> Result<Verbs, RefusedError> {
    let ty = component.component_type();
    let (mut verbs, mut is_program) = (Vec::new(), false);
    for (name, _) in ty.exports(engine) {
        is_program |= was_core_module && name == PROGRAM;
        verbs.extend(verb_of(name)?);
    }
    let verbs: Verbs = verbs.into_iter().map(|(verb, _)| verb).collect();
    if verbs.is_empty() && !is_program { Err(RefusedError::NoVerb) } else { Ok(verbs) }
}

/// Sorts the imports of a component.
///
/// # Errors
/// If it imports anything outside of the contract and WASI 0.2.
fn imports_of(component: &Component, engine: &Engine, was_core_module: bool) -> Result<Imports, RefusedError> {
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

    pub(crate) fn of_text(text: String) -> Self {
        if text.contains("unexpected end") {
            Self::Truncated(text)
        } else if text.contains(ASYNC) {
            Self::Async(text)
        } else {
            Self::Invalid(text)
        }
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

fn verb_of(name: &str) -> Result<Option<(Verb, &'static str)>, RefusedError> {
    let Some(parsed) = ContractName::parse(name) else { return Ok(None) };
    if parsed.version != VERSION {
        return Err(RefusedError::Version { name: name.to_owned() });
    }
    // Types that a verb's interface uses may be exported as well.
    if parsed.interface == "types" {
        return Ok(None);
    }
    let found = Verb::ALL.into_iter().find_map(|verb| {
        let interface = verb_interfaces(verb).iter().find(|interface| **interface == parsed.interface)?;
        Some((verb, *interface))
    });
    found.map(Some).ok_or_else(|| RefusedError::UnknownVerb { name: name.to_owned() })
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
        for (interface, verb) in [("rank", Verb::Rank), ("bind", Verb::Bind), ("binding", Verb::Bind)] {
            let name = format!("plimsoll:policy/{interface}@0.1.0#{verb}");
            assert_eq!(verb_of_core_export(&name).unwrap(), Some((verb, interface)));
        }
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
