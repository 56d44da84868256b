//! The imports of a guest in `plimsoll:policy@0.1.0`. The reads are in `generated`, all others are here.

use plimsoll_core::{bounded, one_line};
use wasmtime::{
    Result,
    component::{Linker, LinkerInstance, WasmList, WasmStr},
};

use super::{
    ADAPTER, generated,
    lower::{stop, utf8},
};
use crate::{
    log::{self, LogLevel},
    stop::Stop,
    store::StoreData,
    wasi,
};

/// Maximum bytes of a panic's message.
const MAX_PANIC_BYTES: usize = 256;

/// Adds the functions of the contract to the linker.
pub(crate) fn add_to_linker(linker: &mut Linker<StoreData>) -> Result<()> {
    generated::add_reads(linker)?;
    host(&mut linker.instance("plimsoll:policy/host@0.1.0")?)?;
    adapter(&mut linker.instance(ADAPTER)?)
}

/// The functions that tell the host something.
fn host(host: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    host.func_wrap("log", |mut store, (level, message): (LogLevel, WasmStr)| {
        let message = utf8(&store, &message)?;
        let message = bounded(&message, log::MAX_LINE_BYTES).to_owned();
        store.data_mut().log().map_err(stop)?.line(level, &message);
        Ok(())
    })?;
    host.func_wrap("panic", |store, (message,): (WasmStr,)| -> Result<()> {
        let message = utf8(&store, &message)?;
        Err(stop(Stop::Panic(one_line(bounded(&message, MAX_PANIC_BYTES)).into_owned())))
    })
}

/// The imports of the preview 1 adapters of core modules.
fn adapter(adapter: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    adapter.func_wrap("write", |mut store, (fd, bytes): (u32, WasmList<u8>)| wasi::write(&mut store, fd, &bytes))?;
    adapter.func_wrap("read", |mut store, (most,): (u32,)| {
        let stdio = store.data_mut().stdio().map_err(stop)?;
        Ok((stdio.read(most as usize),))
    })?;
    adapter.func_wrap("verb", |mut store, (word,): (u32,)| {
        let stdio = store.data_mut().stdio().map_err(stop)?;
        Ok((stdio.verb_word(word as usize),))
    })?;
    adapter.func_wrap("exit", |_, (code,): (u32,)| -> Result<()> { Err(stop(Stop::Exit(code))) })
}
