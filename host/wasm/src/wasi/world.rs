//! The rest of WASI 0.2 that has an answer: a program with one argument, `policy`, and without variables, files and
//! network. Its clocks stand still.

use wasmtime::{
    Error, Result,
    component::{ComponentType, LinkerInstance, Lower, Resource, Val},
};

use super::io::{Network, event};
use crate::{limits::TRANSFER, stop::Stop, store::StoreData};

/// 2020-01-01T00:00:00Z on every clock, in seconds; a policy that needs the time asks for it.
const NOW: u64 = 1_577_836_800;

/// The resolution of all clocks, in nanoseconds.
const RESOLUTION: u32 = 1_000;

/// Where the sequence of "random" bytes starts: as in `componentize/adapter.wat`.
const SEED: u32 = 0x9e37_79b9;

/// `wasi:clocks/wall-clock.datetime`
#[derive(ComponentType, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

/// Adds a function, if it has an answer here.
pub(super) fn function(linked: &mut LinkerInstance<'_, StoreData>, interface: &str, name: &str) -> Result<bool> {
    match (interface, name) {
        ("cli/environment", "get-environment") => {
            linked.func_wrap(name, |_, ()| Ok((Vec::<(String, String)>::new(),)))?;
        }
        // Programs read their name as they start.
        ("cli/environment", "get-arguments") => linked.func_wrap(name, |_, ()| Ok((vec!["policy".to_owned()],)))?,
        ("cli/environment", "initial-cwd") => linked.func_wrap(name, |_, ()| Ok((None::<String>,)))?,
        ("cli/exit", "exit") => linked.func_wrap(name, |_, (status,): (Result<(), ()>,)| -> Result<()> {
            Err(Error::new(Stop::Exit(status.is_err().into())))
        })?,
        ("cli/exit", "exit-with-code") => {
            linked.func_wrap(name, |_, (code,): (u8,)| -> Result<()> { Err(Error::new(Stop::Exit(code.into()))) })?;
        }
        ("cli/terminal-stdin", "get-terminal-stdin")
        | ("cli/terminal-stdout", "get-terminal-stdout")
        | ("cli/terminal-stderr", "get-terminal-stderr") => always(linked, name, Val::Option(None))?,
        ("filesystem/preopens", "get-directories") => always(linked, name, Val::List(Vec::new()))?,
        ("sockets/instance-network", "instance-network") => {
            linked.func_wrap(name, |_, ()| Ok((Resource::<Network>::new_own(0),)))?;
        }
        ("sockets/ip-name-lookup", "resolve-addresses") => always(linked, name, refused("name-unresolvable"))?,
        ("sockets/tcp-create-socket", "create-tcp-socket") | ("sockets/udp-create-socket", "create-udp-socket") => {
            always(linked, name, refused("not-supported"))?;
        }
        _ => return Ok(clock(linked, interface, name)? || random(linked, interface, name)?),
    }
    Ok(true)
}

fn clock(linked: &mut LinkerInstance<'_, StoreData>, interface: &str, name: &str) -> Result<bool> {
    match (interface, name) {
        ("clocks/monotonic-clock", "now") => linked.func_wrap(name, |_, ()| Ok((NOW * 1_000_000_000,)))?,
        ("clocks/monotonic-clock", "resolution") => linked.func_wrap(name, |_, ()| Ok((u64::from(RESOLUTION),)))?,
        ("clocks/monotonic-clock", "subscribe-instant" | "subscribe-duration") => {
            linked.func_wrap(name, |_, (_,): (u64,)| Ok((event(),)))?;
        }
        ("clocks/wall-clock", "now") => {
            linked.func_wrap(name, |_, ()| Ok((Datetime { seconds: NOW, nanoseconds: 0 },)))?;
        }
        ("clocks/wall-clock", "resolution") => {
            linked.func_wrap(name, |_, ()| Ok((Datetime { seconds: 0, nanoseconds: RESOLUTION },)))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn random(linked: &mut LinkerInstance<'_, StoreData>, interface: &str, name: &str) -> Result<bool> {
    match (interface, name) {
        ("random/random", "get-random-bytes") | ("random/insecure", "get-insecure-random-bytes") => {
            linked.func_wrap(name, |_, (length,): (u64,)| {
                if length > TRANSFER as u64 {
                    let text = format!("it asked for {length} random bytes at once; at most {TRANSFER} are allowed");
                    return Err(Error::new(Stop::Output(text)));
                }
                Ok((Random(SEED).take(length as usize).collect::<Vec<u8>>(),))
            })?;
        }
        ("random/random", "get-random-u64") | ("random/insecure", "get-insecure-random-u64") => {
            linked.func_wrap(name, |_, ()| Ok((Random(SEED).number(),)))?;
        }
        ("random/insecure-seed", "insecure-seed" | "get-insecure-seed") => linked.func_wrap(name, |_, ()| {
            let mut random = Random(SEED);
            Ok(((random.number(), random.number()),))
        })?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The error of a function of sockets.
fn refused(code: &str) -> Val {
    Val::Result(Err(Some(Box::new(Val::Enum(code.to_owned())))))
}

/// Adds a function that always gives the same answer, which wasmtime compares with the type that the component expects.
fn always(linked: &mut LinkerInstance<'_, StoreData>, name: &str, answer: Val) -> Result<()> {
    linked.func_new(name, move |mut store, _, arguments, results| {
        for argument in arguments {
            if let Val::Resource(borrowed) = argument {
                borrowed.resource_drop(&mut store)?;
            }
        }
        if let Some(result) = results.first_mut() {
            *result = answer.clone();
        }
        Ok(())
    })
}

/// xorshift: the same bytes each time.
struct Random(u32);

// === impl Random ===

impl Random {
    fn number(&mut self) -> u64 {
        self.take(8).fold(0, |number, byte| number << 8 | u64::from(byte))
    }
}

impl Iterator for Random {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        Some(self.0 as u8)
    }
}
