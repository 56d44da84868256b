//! From the bytes of a module to a component that keeps the contract.

use plimsoll_core::Verbs;
use wasmtime::{
    Engine,
    component::{Component, InstancePre, Linker},
};

use super::nesting;
use crate::{
    abi::Exports,
    contract::{self, RefusedError},
    instance::StoreData,
    lift::{self, ModuleKind},
};

/// A component that imports and exports what the contract says.
pub(crate) struct CheckedComponent {
    pub(crate) instances: InstancePre<StoreData>,
    pub(crate) exports: Exports,
    pub(crate) verbs: Verbs,
    /// What it may read, as `nodes.label`.
    pub(crate) imports: Vec<String>,
}

/// Reads, lifts and compiles a module.
///
/// # Errors
/// Says what is wrong with it and what was expected.
pub(super) fn component(engine: &Engine, module: &[u8], kind: ModuleKind) -> Result<Component, RefusedError> {
    nesting::check(module)?;
    let lifted = match kind {
        ModuleKind::CoreModule => &lift::lift(module)?,
        ModuleKind::Component => module,
    };
    Component::from_binary(engine, lifted).map_err(|error| RefusedError::of_wasmtime(&error))
}

/// Checks a component against the contract, and links it.
///
/// The compile process does this within its bounds before the gateway does it with the same component, so the gateway
/// never walks more types than that process could.
///
/// # Errors
/// Says which import or export is not as the contract says.
pub(crate) fn check(
    component: &Component,
    linker: &Linker<StoreData>,
    kind: ModuleKind,
) -> Result<CheckedComponent, RefusedError> {
    let engine = component.engine();
    // Imports first: an import that is not allowed says more than an export that is missing.
    let imports = contract::imports_of(component, engine, kind == ModuleKind::CoreModule)?;
    let verbs = contract::verbs_of(component, engine)?;
    let exports = Exports::of(component)?;
    let instances = linker.instantiate_pre(component).map_err(|error| RefusedError::Link(format!("{error:#}")))?;
    Ok(CheckedComponent { instances, exports, verbs, imports })
}
