//! `plimsoll:policy@0.1.0`: what a guest imports. Each function is one read of the call's view.

use std::borrow::Cow;

use plimsoll_core::{Grouping, NodeRead, PlacedRead, PodRead, Read, Taint, Value, bounded, one_line};
use wasmtime::{
    Result, StoreContextMut,
    component::{ComponentType, Lift, Linker, LinkerInstance, Lower, WasmList, WasmStr},
};

use crate::{contract::ADAPTER, log, stop::Stop, store::StoreData};

/// Maximum bytes of a panic's message.
const MAX_PANIC_BYTES: usize = 256;

type Store<'a> = StoreContextMut<'a, StoreData>;

/// `host.level`
#[expect(dead_code, reason = "only the derived `Lift` makes one")]
#[derive(ComponentType, Lift, Clone, Copy)]
#[component(enum)]
#[repr(u8)]
enum WitLevel {
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
}

/// `types.taint`
#[derive(ComponentType, Lower)]
#[component(record)]
struct TaintRecord {
    key: Box<str>,
    value: Box<str>,
    effect: Box<str>,
}

/// `types.grouping`
#[derive(ComponentType, Lower)]
#[component(record)]
struct GroupingRecord {
    values: Vec<Box<str>>,
    groups: Vec<u32>,
}

/// Adds the functions of the contract to the linker.
pub(crate) fn add_to_linker(linker: &mut Linker<StoreData>) -> Result<()> {
    pod(&mut linker.instance("plimsoll:policy/pod@0.1.0")?)?;
    nodes(&mut linker.instance("plimsoll:policy/nodes@0.1.0")?)?;
    placed(&mut linker.instance("plimsoll:policy/placed@0.1.0")?)?;
    candidates(&mut linker.instance("plimsoll:policy/candidates@0.1.0")?)?;
    host(&mut linker.instance("plimsoll:policy/host@0.1.0")?)?;
    adapter(&mut linker.instance(ADAPTER)?)
}

fn pod(pod: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    pod.func_wrap("name", |store, ()| text(&store, Read::Pod(PodRead::Name)))?;
    pod.func_wrap("namespace", |store, ()| text(&store, Read::Pod(PodRead::Namespace)))?;
    pod.func_wrap("uid", |store, ()| text(&store, Read::Pod(PodRead::Uid)))?;
    pod.func_wrap("label", |store, (key,): (WasmStr,)| {
        optional_text(&store, Read::Pod(PodRead::Label(&utf8(&store, &key)?)))
    })?;
    pod.func_wrap("annotation", |store, (key,): (WasmStr,)| {
        optional_text(&store, Read::Pod(PodRead::Annotation(&utf8(&store, &key)?)))
    })?;
    pod.func_wrap("priority", |store, ()| number::<i32>(&store, Read::Pod(PodRead::Priority)))?;
    pod.func_wrap("request", |store, (name,): (WasmStr,)| {
        number::<i64>(&store, Read::Pod(PodRead::Request(&utf8(&store, &name)?)))
    })?;
    pod.func_wrap("images", |store, ()| texts(&store, Read::Pod(PodRead::Images)))?;
    pod.func_wrap("field", |store, (pointer,): (WasmStr,)| {
        optional_text(&store, Read::Pod(PodRead::Field(&utf8(&store, &pointer)?)))
    })
}

fn nodes(nodes: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    nodes.func_wrap("count", |store, ()| number::<u32>(&store, Read::NodeCount))?;
    nodes.func_wrap("name", |store, (node,): (u32,)| text(&store, Read::Node(node, NodeRead::Name)))?;
    nodes.func_wrap("label", |store, (node, key): (u32, WasmStr)| {
        optional_text(&store, Read::Node(node, NodeRead::Label(&utf8(&store, &key)?)))
    })?;
    nodes.func_wrap("by-label", |store, (key,): (WasmStr,)| {
        grouping(&store, Read::NodesByLabel(&utf8(&store, &key)?))
    })?;
    nodes.func_wrap("annotation", |store, (node, key): (u32, WasmStr)| {
        optional_text(&store, Read::Node(node, NodeRead::Annotation(&utf8(&store, &key)?)))
    })?;
    nodes.func_wrap("taints", |store, (node,): (u32,)| taints(&store, Read::Node(node, NodeRead::Taints)))?;
    nodes.func_wrap("allocatable", |store, (node, name): (u32, WasmStr)| {
        number::<i64>(&store, Read::Node(node, NodeRead::Allocatable(&utf8(&store, &name)?)))
    })?;
    nodes.func_wrap("requested", |store, (node, name): (u32, WasmStr)| {
        optional_number::<i64>(&store, Read::Node(node, NodeRead::Requested(&utf8(&store, &name)?)))
    })?;
    nodes.func_wrap("image-size", |store, (node, image): (u32, WasmStr)| {
        optional_number::<u64>(&store, Read::Node(node, NodeRead::ImageSize(&utf8(&store, &image)?)))
    })?;
    nodes.func_wrap("field", |store, (node, pointer): (u32, WasmStr)| {
        optional_text(&store, Read::Node(node, NodeRead::Field(&utf8(&store, &pointer)?)))
    })
}

fn placed(placed: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    placed.func_wrap("count", |store, (node,): (u32,)| number::<u32>(&store, Read::PlacedCount(node)))?;
    placed
        .func_wrap("name", |store, (node, pod): (u32, u32)| text(&store, Read::Placed(node, pod, PlacedRead::Name)))?;
    placed.func_wrap("namespace", |store, (node, pod): (u32, u32)| {
        text(&store, Read::Placed(node, pod, PlacedRead::Namespace))
    })?;
    placed.func_wrap("label", |store, (node, pod, key): (u32, u32, WasmStr)| {
        optional_text(&store, Read::Placed(node, pod, PlacedRead::Label(&utf8(&store, &key)?)))
    })?;
    placed.func_wrap("annotation", |store, (node, pod, key): (u32, u32, WasmStr)| {
        optional_text(&store, Read::Placed(node, pod, PlacedRead::Annotation(&utf8(&store, &key)?)))
    })?;
    placed.func_wrap("priority", |store, (node, pod): (u32, u32)| {
        number::<i32>(&store, Read::Placed(node, pod, PlacedRead::Priority))
    })?;
    placed.func_wrap("request", |store, (node, pod, name): (u32, u32, WasmStr)| {
        number::<i64>(&store, Read::Placed(node, pod, PlacedRead::Request(&utf8(&store, &name)?)))
    })?;
    placed.func_wrap("created", |store, (node, pod): (u32, u32)| {
        number::<u64>(&store, Read::Placed(node, pod, PlacedRead::Created))
    })?;
    placed.func_wrap("count-labelled", |store, (node, namespace, key, value): (u32, WasmStr, WasmStr, WasmStr)| {
        let (namespace, key, value) = (utf8(&store, &namespace)?, utf8(&store, &key)?, utf8(&store, &value)?);
        let read = Read::PlacedLabelled { node, namespace: &namespace, key: &key, value: &value };
        number::<u32>(&store, read)
    })?;
    placed.func_wrap("counts-labelled", |store, (namespace, key, value): (WasmStr, WasmStr, WasmStr)| {
        let (namespace, key, value) = (utf8(&store, &namespace)?, utf8(&store, &key)?, utf8(&store, &value)?);
        counts(&store, Read::NodesLabelled { namespace: &namespace, key: &key, value: &value })
    })
}

fn candidates(candidates: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    candidates.func_wrap("count", |store, ()| number::<u32>(&store, Read::CandidateCount))?;
    candidates
        .func_wrap("node", |store, (candidate,): (u32,)| number::<u32>(&store, Read::CandidateNode(candidate)))?;
    candidates
        .func_wrap("victims", |store, (candidate,): (u32,)| indices(&store, Read::CandidateVictims(candidate)))?;
    candidates.func_wrap("pdb-violations", |store, (candidate,): (u32,)| {
        number::<u32>(&store, Read::CandidatePdbViolations(candidate))
    })
}

fn host(host: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    host.func_wrap("settings", |store, ()| text(&store, Read::Settings))?;
    host.func_wrap("now", |store, (granularity,): (u32,)| number::<u64>(&store, Read::Now(granularity)))?;
    host.func_wrap("log", |mut store, (level, message): (WitLevel, WasmStr)| {
        let message = utf8(&store, &message)?;
        let message = bounded(&message, log::MAX_LINE_BYTES).to_owned();
        store.data_mut().log().map_err(stop)?.line(level.into(), &message);
        Ok(())
    })?;
    host.func_wrap("panic", |store, (message,): (WasmStr,)| -> Result<()> {
        let message = utf8(&store, &message)?;
        Err(stop(Stop::Panic(one_line(bounded(&message, MAX_PANIC_BYTES)))))
    })
}

/// What the preview 1 adapter of lifted modules imports.
fn adapter(adapter: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    adapter.func_wrap("write", |mut store, (fd, bytes): (u32, WasmList<u8>)| {
        let all = bytes.as_le_slice(&store);
        let bytes = all[..all.len().min(log::MAX_WRITE_BYTES)].to_vec();
        store.data_mut().log().map_err(stop)?.write(fd, &bytes);
        Ok(())
    })?;
    adapter.func_wrap("exit", |_, (code,): (u32,)| -> Result<()> { Err(stop(Stop::Exit(code))) })
}

// Each helper asks for a value of one shape and lowers it.

fn text(store: &Store<'_>, what: Read<'_>) -> Result<(Box<str>,)> {
    match read(store, what)? {
        Value::Text(text) => Ok((text.into(),)),
        _ => Err(misshapen()),
    }
}

fn optional_text(store: &Store<'_>, what: Read<'_>) -> Result<(Option<Box<str>>,)> {
    match read(store, what)? {
        Value::Text(text) => Ok((Some(text.into()),)),
        Value::Absent => Ok((None,)),
        _ => Err(misshapen()),
    }
}

fn number<T: TryFrom<i64>>(store: &Store<'_>, what: Read<'_>) -> Result<(T,)> {
    match read(store, what)? {
        Value::Number(number) => Ok((in_range(number)?,)),
        _ => Err(misshapen()),
    }
}

fn optional_number<T: TryFrom<i64>>(store: &Store<'_>, what: Read<'_>) -> Result<(Option<T>,)> {
    match read(store, what)? {
        Value::Number(number) => Ok((Some(in_range(number)?),)),
        Value::Absent => Ok((None,)),
        _ => Err(misshapen()),
    }
}

fn texts(store: &Store<'_>, what: Read<'_>) -> Result<(Vec<Box<str>>,)> {
    match read(store, what)? {
        Value::Texts(texts) => Ok((texts.to_vec(),)),
        _ => Err(misshapen()),
    }
}

fn indices(store: &Store<'_>, what: Read<'_>) -> Result<(Vec<u32>,)> {
    match read(store, what)? {
        Value::Indices(indices) => Ok((indices.to_vec(),)),
        _ => Err(misshapen()),
    }
}

fn counts(store: &Store<'_>, what: Read<'_>) -> Result<(Vec<u32>,)> {
    match read(store, what)? {
        Value::Counts(counts) => Ok((counts,)),
        _ => Err(misshapen()),
    }
}

fn grouping(store: &Store<'_>, what: Read<'_>) -> Result<(GroupingRecord,)> {
    match read(store, what)? {
        Value::Grouping(Grouping { values, groups }) => {
            Ok((GroupingRecord { values: values.into_iter().map(Box::from).collect(), groups },))
        }
        _ => Err(misshapen()),
    }
}

fn taints(store: &Store<'_>, what: Read<'_>) -> Result<(Vec<TaintRecord>,)> {
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
    store.data().context().map_err(stop)?.view.read(what).map_err(|error| stop(error.into()))
}

/// A string argument, read in place from guest memory.
fn utf8<'s>(store: &'s Store<'_>, text: &WasmStr) -> Result<Cow<'s, str>> {
    text.to_str(store).map_err(|_| stop(Stop::Output("it passed a text that is not UTF-8".to_owned())))
}

fn misshapen() -> wasmtime::Error {
    stop(Stop::Host("a read was answered with a value of another shape"))
}

fn stop(stop: Stop) -> wasmtime::Error {
    wasmtime::Error::new(stop)
}

impl From<WitLevel> for log::LogLevel {
    fn from(level: WitLevel) -> Self {
        match level {
            WitLevel::Debug => Self::Debug,
            WitLevel::Info => Self::Info,
            WitLevel::Warn => Self::Warn,
            WitLevel::Error => Self::Error,
        }
    }
}

impl From<&Taint> for TaintRecord {
    fn from(taint: &Taint) -> Self {
        let Taint { key, value, effect } = taint;
        Self { key: key.as_ref().into(), value: value.as_ref().into(), effect: effect.as_ref().into() }
    }
}
