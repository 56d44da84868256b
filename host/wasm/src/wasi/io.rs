//! Streams and events of WASI 0.2: standard input is empty, output becomes log lines, each event is there at once.

use wasmtime::{
    Error, Result, StoreContextMut,
    component::{ComponentType, LinkerInstance, Lower, Resource, ResourceType, WasmList},
};

use crate::{log, stop::Stop, store::StoreData};

/// Standard output and standard error, as a stream's number.
const STDOUT: u32 = 1;
const STDERR: u32 = 2;

/// The resources that these functions make, by their names in WASI.
enum InputStream {}
enum OutputStream {}
pub(super) enum Pollable {}
enum IoError {}
pub(super) enum Network {}

/// `wasi:io/streams.stream-error`
#[derive(ComponentType, Lower)]
#[component(variant)]
enum StreamError {
    #[expect(dead_code, reason = "writing to the log and reading nothing do not fail")]
    #[component(name = "last-operation-failed")]
    LastOperationFailed(Resource<IoError>),
    #[component(name = "closed")]
    Closed,
}

/// The type of a resource that the functions here and in `world` use.
pub(super) fn resource(name: &str) -> Option<ResourceType> {
    Some(match name {
        "input-stream" => ResourceType::host::<InputStream>(),
        "output-stream" => ResourceType::host::<OutputStream>(),
        "pollable" => ResourceType::host::<Pollable>(),
        "error" => ResourceType::host::<IoError>(),
        "network" => ResourceType::host::<Network>(),
        _ => return None,
    })
}

/// A pollable. All are alike: ready at once.
pub(super) fn event() -> Resource<Pollable> {
    Resource::new_own(0)
}

/// Adds a function, if it has an answer here.
pub(super) fn function(linked: &mut LinkerInstance<'_, StoreData>, interface: &str, name: &str) -> Result<bool> {
    match (interface, name) {
        ("cli/stdin", "get-stdin") => linked.func_wrap(name, |_, ()| Ok((Resource::<InputStream>::new_own(0),)))?,
        ("cli/stdout", "get-stdout") => {
            linked.func_wrap(name, |_, ()| Ok((Resource::<OutputStream>::new_own(STDOUT),)))?;
        }
        ("cli/stderr", "get-stderr") => {
            linked.func_wrap(name, |_, ()| Ok((Resource::<OutputStream>::new_own(STDERR),)))?;
        }
        ("io/error", "[method]error.to-debug-string") => {
            linked.func_wrap(name, |_, (_,): (Resource<IoError>,)| Ok((String::new(),)))?;
        }
        ("io/poll", _) => return poll(linked, name),
        ("io/streams", _) => return Ok(input(linked, name)? || output(linked, name)?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn poll(linked: &mut LinkerInstance<'_, StoreData>, name: &str) -> Result<bool> {
    match name {
        "[method]pollable.ready" => linked.func_wrap(name, |_, (_,): (Resource<Pollable>,)| Ok((true,)))?,
        "[method]pollable.block" => linked.func_wrap(name, |_, (_,): (Resource<Pollable>,)| Ok(()))?,
        "poll" => linked.func_wrap(name, |_, (events,): (Vec<Resource<Pollable>>,)| {
            if events.is_empty() {
                return Err(Error::new(Stop::Output("it waited for an empty list of events".to_owned())));
            }
            Ok(((0..events.len() as u32).collect::<Vec<u32>>(),))
        })?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn input(linked: &mut LinkerInstance<'_, StoreData>, name: &str) -> Result<bool> {
    let Some(method) = name.strip_prefix("[method]input-stream.") else { return Ok(false) };
    match method {
        "read" | "blocking-read" => linked
            .func_wrap(name, |_, (_, _): (Resource<InputStream>, u64)| Ok((Err::<Vec<u8>, _>(StreamError::Closed),)))?,
        "skip" | "blocking-skip" => linked
            .func_wrap(name, |_, (_, _): (Resource<InputStream>, u64)| Ok((Err::<u64, _>(StreamError::Closed),)))?,
        "subscribe" => linked.func_wrap(name, |_, (_,): (Resource<InputStream>,)| Ok((event(),)))?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn output(linked: &mut LinkerInstance<'_, StoreData>, name: &str) -> Result<bool> {
    let Some(method) = name.strip_prefix("[method]output-stream.") else { return Ok(false) };
    match method {
        "check-write" => linked.func_wrap(name, |_, (_,): (Resource<OutputStream>,)| {
            Ok((Ok::<_, StreamError>(log::MAX_WRITE_BYTES as u64),))
        })?,
        "write" | "blocking-write-and-flush" => {
            linked.func_wrap(name, |mut store, (stream, bytes): (Resource<OutputStream>, WasmList<u8>)| {
                write(&mut store, stream.rep(), &bytes)?;
                Ok((Ok::<_, StreamError>(()),))
            })?;
        }
        "flush" | "blocking-flush" => {
            linked.func_wrap(name, |_, (_,): (Resource<OutputStream>,)| Ok((Ok::<_, StreamError>(()),)))?;
        }
        // Zeroes are nothing to read in a log.
        "write-zeroes" | "blocking-write-zeroes-and-flush" => {
            linked.func_wrap(name, |_, (_, _): (Resource<OutputStream>, u64)| Ok((Ok::<_, StreamError>(()),)))?;
        }
        "splice" | "blocking-splice" => {
            linked.func_wrap(name, |_, (_, _, _): (Resource<OutputStream>, Resource<InputStream>, u64)| {
                Ok((Err::<u64, _>(StreamError::Closed),))
            })?;
        }
        "subscribe" => linked.func_wrap(name, |_, (_,): (Resource<OutputStream>,)| Ok((event(),)))?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Passes bytes that a guest wrote to standard output (1) or error (2) to the log of its call; the standard output of a
/// program is its answer.
pub(crate) fn write(store: &mut StoreContextMut<'_, StoreData>, fd: u32, bytes: &WasmList<u8>) -> Result<()> {
    if fd == STDOUT && store.data().is_program() {
        // Refused before anything is copied.
        let length = bytes.as_le_slice(&*store).len();
        let mut output = store.data_mut().take_output(length)?;
        output.extend_from_slice(bytes.as_le_slice(&*store));
        store.data_mut().stdio().map_err(Error::new)?.put_output(output);
        return Ok(());
    }
    let all = bytes.as_le_slice(&*store);
    let bytes = all[..all.len().min(log::MAX_WRITE_BYTES)].to_vec();
    store.data_mut().log().map_err(Error::new)?.write(fd, &bytes);
    Ok(())
}
