//! Values of reads as the results of imports, one function for each shape; and their arguments.

use std::borrow::Cow;

use plimsoll_core::{Grouping, Owner, Read, Selector, Taint, Value};
use wasmtime::{
    Result, StoreContextMut,
    component::{ComponentType, Lift, Lower, WasmStr},
};

use crate::{stop::Stop, store::StoreData};

type Store<'a> = StoreContextMut<'a, StoreData>;

/// `types.taint`
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct TaintRecord {
    key: Box<str>,
    value: Box<str>,
    effect: Box<str>,
}

/// `types.owner`
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct OwnerRecord {
    #[component(name = "api-version")]
    api_version: Box<str>,
    kind: Box<str>,
    name: Box<str>,
    uid: Box<str>,
}

/// `types.grouping`
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct GroupingRecord {
    values: Vec<Box<str>>,
    groups: Vec<u32>,
}

/// `types.label-count`
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct LabelCountRecord {
    value: Box<str>,
    nodes: u32,
}

/// `types.pair`
#[derive(ComponentType, Lift)]
#[component(record)]
pub(super) struct PairParam {
    key: WasmStr,
    value: WasmStr,
}

/// `types.selector`
#[derive(ComponentType, Lift)]
#[component(record)]
pub(super) struct SelectorParam {
    namespace: Option<WasmStr>,
    label: Option<PairParam>,
    annotation: Option<PairParam>,
    #[component(name = "node-label")]
    node_label: Option<PairParam>,
}

pub(super) fn text(store: &Store<'_>, what: Read<'_>) -> Result<(Box<str>,)> {
    match read(store, what)? {
        Value::Text(text) => Ok((text.into(),)),
        _ => Err(misshapen()),
    }
}

pub(super) fn optional_text(store: &Store<'_>, what: Read<'_>) -> Result<(Option<Box<str>>,)> {
    match read(store, what)? {
        Value::Text(text) => Ok((Some(text.into()),)),
        Value::Absent => Ok((None,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn number<T: TryFrom<i64>>(store: &Store<'_>, what: Read<'_>) -> Result<(T,)> {
    match read(store, what)? {
        Value::Number(number) => Ok((in_range(number)?,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn optional_number<T: TryFrom<i64>>(store: &Store<'_>, what: Read<'_>) -> Result<(Option<T>,)> {
    match read(store, what)? {
        Value::Number(number) => Ok((Some(in_range(number)?),)),
        Value::Absent => Ok((None,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn optional_real(store: &Store<'_>, what: Read<'_>) -> Result<(Option<f64>,)> {
    match read(store, what)? {
        Value::Real(real) => Ok((Some(real.get()),)),
        Value::Absent => Ok((None,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn flag(store: &Store<'_>, what: Read<'_>) -> Result<(bool,)> {
    match read(store, what)? {
        Value::Number(number) => Ok((number != 0,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn optional_flag(store: &Store<'_>, what: Read<'_>) -> Result<(Option<bool>,)> {
    match read(store, what)? {
        Value::Number(number) => Ok((Some(number != 0),)),
        Value::Absent => Ok((None,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn optional_label_counts(store: &Store<'_>, what: Read<'_>) -> Result<(Option<Vec<LabelCountRecord>>,)> {
    match read(store, what)? {
        Value::LabelValues(values) => {
            let record = |(value, nodes): (&str, u32)| LabelCountRecord { value: value.into(), nodes };
            Ok((Some(values.iter().map(record).collect()),))
        }
        Value::Absent => Ok((None,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn optional_owner(store: &Store<'_>, what: Read<'_>) -> Result<(Option<OwnerRecord>,)> {
    match read(store, what)? {
        Value::Owner(owner) => Ok((Some(owner.into()),)),
        Value::Absent => Ok((None,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn texts(store: &Store<'_>, what: Read<'_>) -> Result<(Vec<Box<str>>,)> {
    match read(store, what)? {
        Value::Texts(texts) => Ok((texts.to_vec(),)),
        _ => Err(misshapen()),
    }
}

pub(super) fn numbers(store: &Store<'_>, what: Read<'_>) -> Result<(Vec<u32>,)> {
    match read(store, what)? {
        Value::Indices(indices) => Ok((indices.to_vec(),)),
        Value::Counts(counts) => Ok((counts,)),
        _ => Err(misshapen()),
    }
}

pub(super) fn grouping(store: &Store<'_>, what: Read<'_>) -> Result<(GroupingRecord,)> {
    match read(store, what)? {
        Value::Grouping(Grouping { values, groups }) => {
            Ok((GroupingRecord { values: values.into_iter().map(Box::from).collect(), groups },))
        }
        _ => Err(misshapen()),
    }
}

pub(super) fn taints(store: &Store<'_>, what: Read<'_>) -> Result<(Vec<TaintRecord>,)> {
    match read(store, what)? {
        Value::Taints(taints) => Ok((taints.iter().map(TaintRecord::from).collect(),)),
        _ => Err(misshapen()),
    }
}

/// No object of the API has a negative size or time: negative values become 0.
fn in_range<T: TryFrom<i64>>(number: i64) -> Result<T> {
    T::try_from(number).or_else(|_| T::try_from(0)).map_err(|_| misshapen())
}

fn read<'s>(store: &'s Store<'_>, what: Read<'_>) -> Result<Value<'s>> {
    let data = store.data();
    let view = data.view(&what).map_err(stop)?;
    let value = if what.is_of_cluster() { data.on_host_time(|| view.read(what)) } else { view.read(what) };
    value.map_err(|error| stop(error.into()))
}

/// A string argument, read in place from guest memory.
pub(super) fn utf8<'s>(store: &'s Store<'_>, text: &WasmStr) -> Result<Cow<'s, str>> {
    text.to_str(store).map_err(|_| stop(Stop::Output("it passed a text that is not UTF-8".to_owned())))
}

/// A selector, whose texts are read in place from guest memory.
pub(super) fn lifted<'s>(store: &'s Store<'_>, selector: &SelectorParam) -> Result<Selector<Cow<'s, str>>> {
    let pair = |pair: &Option<PairParam>| -> Result<_> {
        let Some(PairParam { key, value }) = pair else { return Ok(None) };
        Ok(Some((utf8(store, key)?, utf8(store, value)?)))
    };
    Ok(Selector {
        namespace: selector.namespace.as_ref().map(|namespace| utf8(store, namespace)).transpose()?,
        label: pair(&selector.label)?,
        annotation: pair(&selector.annotation)?,
        node_label: pair(&selector.node_label)?,
    })
}

fn misshapen() -> wasmtime::Error {
    stop(Stop::Host("a read was answered with a value of another shape"))
}

pub(super) fn stop(stop: Stop) -> wasmtime::Error {
    wasmtime::Error::new(stop)
}

impl From<&Owner> for OwnerRecord {
    fn from(owner: &Owner) -> Self {
        Self {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
        }
    }
}

impl From<&Taint> for TaintRecord {
    fn from(taint: &Taint) -> Self {
        let Taint { key, value, effect } = taint;
        Self { key: key.as_ref().into(), value: value.as_ref().into(), effect: effect.as_ref().into() }
    }
}
