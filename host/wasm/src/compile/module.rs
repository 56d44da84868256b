//! Turns the bytes of a module into a component that matches the contract.

use std::{borrow::Cow, sync::Arc};

use plimsoll_core::Verbs;
use wasmtime::{
    Engine,
    component::{Component, Linker},
};

use super::{job::CompileJob, nesting, preinit};
use crate::{
    abi::Exports,
    componentize::{self, ModuleKind},
    contract::{self, Imports, RefusedError},
    linked_module::LinkedModule,
    store::StoreData,
    wasi,
};

/// A component whose imports and exports match the contract.
pub(crate) struct CheckedComponent {
    pub(crate) module: LinkedModule,
    pub(crate) verbs: Verbs,
    pub(crate) imports: Imports,
}

/// Reads a module, makes it a component, pre-initialises it if there are settings, and compiles it.
///
/// # Errors
/// The error says what is wrong and what was expected.
pub(super) fn component(
    engine: &Engine,
    CompileJob { module, settings }: CompileJob<'_>,
    kind: ModuleKind,
) -> Result<Component, RefusedError> {
    nesting::check(module)?;
    let mut component = match kind {
        ModuleKind::CoreModule => Cow::Owned(componentize::componentize(module)?),
        ModuleKind::Component => Cow::Borrowed(module),
    };
    if let Some(settings) = settings {
        component = Cow::Owned(preinit::preinitialize(&component, &Arc::from(settings))?);
    }
    Component::from_binary(engine, &component).map_err(|error| RefusedError::of_compiling(&component, &error))
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
    kind: ModuleKind,
) -> Result<CheckedComponent, RefusedError> {
    let engine = component.engine();
    // Imports first: a forbidden import is more informative than a missing export.
    let was_core_module = kind == ModuleKind::CoreModule;
    let imports = contract::imports_of(component, engine, was_core_module)?;
    let verbs = contract::verbs_of(component, engine, was_core_module)?;
    let exports = Exports::of(component)?;
    let prepared =
        if imports.wasi.is_empty() { linker.instantiate_pre(component) } else { wasi::link(linker, component) };
    let instances = prepared.map_err(|error| RefusedError::Link(format!("{error:#}")))?;
    Ok(CheckedComponent { module: LinkedModule { instances, exports }, verbs, imports })
}
