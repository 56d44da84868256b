//! The exports of a guest in `plimsoll:policy@0.1.0`. Its imports are in `imports`.
//!
//! Written by hand rather than generated, so that text that a guest passes is read in place.

mod generated;
mod imports;
mod lower;

use plimsoll_core::Verb;
use wasmtime::{
    Store,
    component::{
        Component, ComponentExportIndex, ComponentNamedList, ComponentType, Instance, Lift, Lower, TypedFunc,
        types::ComponentItem,
    },
};

pub(crate) use self::{generated::INTERFACES, imports::add_to_linker};
use crate::{stop::Stop, store::StoreData};

pub(crate) const VERSION: &str = "0.1.0";
pub(crate) const PACKAGE: &str = "plimsoll:policy/";

/// The extra interface that components made from core modules may import; see `componentize/adapter.wat`.
pub(crate) const ADAPTER: &str = "plimsoll:adapter/host@0.1.0";

/// The interface that a component made from a program exports; see `componentize/command.wat`.
pub(crate) const PROGRAM: &str = "plimsoll:adapter/program@0.1.0";

/// The function that runs it.
const RUN: &str = "run";

/// The interface with the older form of `bind`.
const FORMER_BIND: &str = "bind";

/// `types.verdict`
#[derive(ComponentType, Lift)]
#[component(variant)]
pub(crate) enum WitVerdict {
    #[component(name = "fits")]
    Fits,
    #[component(name = "unschedulable")]
    Unschedulable(Box<str>),
    #[component(name = "unresolvable")]
    Unresolvable(Box<str>),
}

/// `types.preemption`
#[derive(ComponentType, Lift)]
#[component(variant)]
pub(crate) enum WitPreemption {
    #[component(name = "keep")]
    Keep,
    #[component(name = "reject")]
    Reject(Box<str>),
    #[component(name = "replace")]
    Replace(Vec<u32>),
}

/// `types.annotation`
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct WitAnnotation {
    pub(crate) key: Box<str>,
    pub(crate) value: Box<str>,
}

/// `types.pair`
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct WitPair {
    pub(crate) key: Box<str>,
    pub(crate) value: Box<str>,
}

/// `types.bind-metadata`
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct WitBindMetadata {
    pub(crate) annotations: Vec<WitPair>,
    pub(crate) labels: Vec<WitPair>,
}

/// `types.not-bound`
#[derive(ComponentType, Lift)]
#[component(variant)]
pub(crate) enum WitNotBound {
    #[component(name = "refused")]
    Refused(String),
    #[component(name = "retry")]
    Retry(String),
}

/// The answer of `binding`.
pub(crate) type BindAnswer = Result<WitBindMetadata, WitNotBound>;

/// The answer of `bind`, the older form of `binding`.
pub(crate) type FormerBindAnswer = Result<Vec<WitAnnotation>, String>;

/// The export indices of the verbs' functions; resolved once for all instances.
pub(crate) struct Exports {
    verbs: [Option<ComponentExportIndex>; Verb::ALL.len()],
    /// Whether `bind` has its older form.
    pub(crate) has_former_bind: bool,
    /// The function that runs a program.
    program: Option<ComponentExportIndex>,
}

/// A function that does not match the contract.
#[derive(Debug, thiserror::Error)]
#[error("its {name} is not as in plimsoll:policy@{VERSION}: {error}")]
pub(crate) struct SignatureError {
    name: String,
    error: String,
}

// === impl Exports ===

impl Exports {
    /// Finds the functions of a component's verbs.
    ///
    /// # Errors
    /// If one does not match the contract.
    pub(crate) fn of(component: &Component) -> Result<Self, SignatureError> {
        let mut verbs = [None; Verb::ALL.len()];
        let mut has_former_bind = false;
        for (verb, export) in Verb::ALL.into_iter().zip(&mut verbs) {
            for interface in verb_interfaces(verb) {
                let Some(found) = find(component, verb, interface)? else { continue };
                *export = Some(found);
                has_former_bind |= *interface == FORMER_BIND;
                break;
            }
        }
        Ok(Self { verbs, has_former_bind, program: find_program(component)? })
    }

    /// Whether it is a program, which exports no verb.
    pub(crate) const fn is_program(&self) -> bool {
        self.program.is_some()
    }

    /// The function that runs a program in this instance.
    pub(crate) fn program(
        &self,
        store: &mut Store<StoreData>,
        instance: &Instance,
    ) -> wasmtime::Result<TypedFunc<(), ()>> {
        let missing = || wasmtime::Error::new(Stop::Host("a policy was run that is no program"));
        let export = self.program.as_ref().ok_or_else(missing)?;
        instance.get_typed_func(store, export)
    }

    /// Whether it has this verb.
    pub(crate) const fn has(&self, verb: Verb) -> bool {
        self.verbs[verb as usize].is_some()
    }

    /// Asks an instance whether it accepts its settings.
    pub(crate) fn validate(
        &self,
        store: &mut Store<StoreData>,
        instance: &Instance,
    ) -> wasmtime::Result<Result<(), String>> {
        let function: TypedFunc<(), (Result<(), String>,)> = self.function(store, instance, Verb::Validate)?;
        let (answer,) = function.call(store, ())?;
        Ok(answer)
    }

    /// The function of a verb in this instance.
    pub(crate) fn function<P, R>(
        &self,
        store: &mut Store<StoreData>,
        instance: &Instance,
        verb: Verb,
    ) -> wasmtime::Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let missing = || wasmtime::Error::new(Stop::Host("a verb was asked that the policy does not export"));
        let export = self.verbs[verb as usize].as_ref().ok_or_else(missing)?;
        instance.get_typed_func(store, export)
    }
}

/// The interfaces that may hold a verb, the newest first; each has one function, which has the name of the verb.
pub(crate) fn verb_interfaces(verb: Verb) -> &'static [&'static str] {
    match verb {
        Verb::Filter => &["filter"],
        Verb::Score => &["score"],
        Verb::Rank => &["rank"],
        Verb::Preempt => &["preempt"],
        Verb::Bind => &["binding", FORMER_BIND],
        Verb::Validate => &["validate"],
    }
}

/// The name of an interface of the contract as modules export it.
pub(crate) fn full_name(interface: &str) -> String {
    format!("{PACKAGE}{interface}@{VERSION}")
}

/// The function that runs a program; the interface of a component that is none is of no interest.
fn find_program(component: &Component) -> Result<Option<ComponentExportIndex>, SignatureError> {
    let Some(instance) = component.get_export_index(None, PROGRAM) else { return Ok(None) };
    let refused = |error: String| SignatureError { name: format!("{PROGRAM}#{RUN}"), error };
    let Some((ComponentItem::ComponentFunc(function), export)) = component.get_export(Some(&instance), RUN) else {
        return Err(refused("there is no such function".to_owned()));
    };
    let component = component.component_type();
    function.typecheck::<(), ()>(&component.instance_type()).map_err(|error| refused(format!("{error:#}")))?;
    Ok(Some(export))
}

/// The function of a verb in the form that this interface has.
fn find(component: &Component, verb: Verb, interface: &str) -> Result<Option<ComponentExportIndex>, SignatureError> {
    let former = interface == FORMER_BIND;
    let interface = full_name(interface);
    let Some(instance) = component.get_export_index(None, &interface) else { return Ok(None) };
    let refused = |error: String| SignatureError { name: format!("{interface}#{verb}"), error };
    let Some((ComponentItem::ComponentFunc(function), export)) = component.get_export(Some(&instance), verb.as_str())
    else {
        return Err(refused("there is no such function".to_owned()));
    };
    let component = component.component_type();
    let types = component.instance_type();
    let checked = match verb {
        Verb::Filter => function.typecheck::<(u32,), (WitVerdict,)>(&types),
        Verb::Score => function.typecheck::<(u32,), (u32,)>(&types),
        Verb::Rank => function.typecheck::<(), (Vec<u32>,)>(&types),
        Verb::Preempt => function.typecheck::<(u32,), (WitPreemption,)>(&types),
        Verb::Bind if former => function.typecheck::<(u32,), (FormerBindAnswer,)>(&types),
        Verb::Bind => function.typecheck::<(u32,), (BindAnswer,)>(&types),
        Verb::Validate => function.typecheck::<(), (Result<(), String>,)>(&types),
    };
    checked.map_err(|error| refused(format!("{error:#}")))?;
    Ok(Some(export))
}
