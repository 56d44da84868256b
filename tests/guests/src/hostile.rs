//! The hostile guests, and how each must end.

use std::sync::OnceLock;

use plimsoll_core::{FaultKind, Verb};

use crate::compile;

/// A guest that does harm if it can.
#[derive(Debug)]
pub struct Guest {
    /// As its file is called.
    pub name: &'static str,
    /// The verb that it is asked.
    pub verb: Verb,
    /// The file as it would be in a policies directory.
    pub bytes: Vec<u8>,
    /// The end that it must come to.
    pub expected: Expected,
}

/// The end that a hostile guest must come to, and a part of the text that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It is not even loaded.
    Refused(&'static str),
    /// Each call of it is this fault.
    Fault(FaultKind, &'static str),
}

/// Calls a macro with `name: file kind, verb, expected;` for every hostile guest.
///
/// The kinds: `wat` is a text to be compiled, `raw` a file as it is, `half` the first half of a compiled text.
#[macro_export]
macro_rules! for_each_hostile {
    ($each:ident) => {
        $each! {
            adapter_import: wat, Filter, Refused("it imports plimsoll:adapter/host@0.1.0; a policy may import");
            answer_out_of_bounds: wat, Filter, Fault(Output, "pointer");
            asynchronous: wat, Score, Refused("it uses asynchronous functions of the component model");
            asynchronous_wasi: wat, Score, Refused("it uses asynchronous functions of the component model");
            bind_endless: wat, Bind, Fault(Timeout, "is over");
            bind_flood: wat, Bind, Fault(Output, "65 annotations; at most 64 are allowed");
            bind_huge: wat, Bind, Fault(Output, "it handed over more than 1024 KiB at once");
            bind_invalid_value: wat, Bind, Fault(Output, "utf-8");
            bind_long_refusal: wat, Bind, Fault(Output, "a reason of 65536 bytes; at most 1024 are allowed");
            bind_out_of_bounds: wat, Bind, Fault(Output, "out of bounds of memory");
            bind_reserved_key: wat, Bind, Fault(Output, "the annotation key 'kubernetes.io/config.mirror'");
            deep_recursion: wat, Filter, Fault(Stack, "it recursed until its stack was full");
            endless_loop: wat, Filter, Fault(Timeout, "is over");
            endless_loop_in_realloc: wat, Filter, Fault(Timeout, "is over");
            endless_loop_in_start: wat, Filter, Fault(Timeout, "it was starting");
            exit: wat, Filter, Fault(Panic, "exit code 2: panic: index out of range");
            handle_bomb: wat, Score, Fault(Memory, "handle limit exceeded");
            host_panic: wat, Filter, Fault(Panic, "no device is  [31mleft");
            invalid_key: wat, Filter, Fault(Output, "it passed a text that is not UTF-8");
            invalid_reason: wat, Filter, Fault(Output, "utf-8");
            log_flood: wat, Filter, Fault(Timeout, "is over");
            megabyte_reason: wat, Filter, Fault(Output, "a reason of 983040 bytes; at most 1024 are allowed");
            memory_at_start: wat, Filter, Fault(Memory, "128 MiB was refused: its limit is 64 MiB");
            memory_bomb: wat, Filter, Fault(Memory, "was refused: its limit is 64 MiB");
            no_verb: wat, Filter, Refused("it exports no verb; expected at least one of filter, score");
            not_wasm: raw, Filter, Refused("this is not WebAssembly: a module starts with the bytes 00 61 73 6d");
            output_flood: wat, Filter, Fault(Timeout, "is over");
            rank_huge: wat, Rank, Fault(Output, "it handed over more than 1024 KiB at once");
            rank_too_short: wat, Rank, Fault(Output, "1 answers for 4 nodes");
            read_in_realloc: wat, Filter, Fault(Trap, "cannot leave component instance");
            realloc_out_of_bounds: wat, Filter, Fault(Output, "beyond end of memory");
            reason_of_all_memory: wat, Filter, Fault(Output, "it handed over more than 1024 KiB at once");
            reason_out_of_bounds: wat, Filter, Fault(Output, "out of bounds");
            replace_huge: wat, Preempt, Fault(Output, "it handed over more than 1024 KiB at once");
            replace_more_than_placed: wat, Preempt, Fault(Output, "a replacement by 60000 pods of a node that has 1");
            replace_nobody: wat, Preempt, Fault(Output, "a replacement without victims");
            score_four_billion: wat, Score, Fault(Output, "a score of 4000000000; at most 100 is allowed");
            shared_memory: wat, Filter, Refused("it shares its memory between threads");
            sleeps: wat, Filter, Fault(Timeout, "is over");
            table_bomb: wat, Filter, Fault(Memory, "a table of 100001 elements was refused");
            three_memories: wat, Score, Refused("memories");
            trap_in_start: wat, Filter, Fault(Start, "unreachable");
            trap_after_read: wat, Filter, Fault(Trap, "unreachable");
            trap_in_verb: wat, Filter, Fault(Trap, "integer divide by zero, in share; it was asked about n3");
            truncated: half, Filter, Refused("is the file complete?");
            two_memories: wat, Score, Fault(Memory, "was refused: its limit is 64 MiB");
            unknown_function: wat, Filter, Refused("env");
            unknown_import: wat, Filter, Refused("it imports acme:database/rows@1.0.0, wasi:cli/environment@0.4.0; a policy may import");
            unknown_verb: wat, Filter, Refused("it exports plimsoll:policy/bless@0.1.0, which is no verb");
            unknown_verdict: wat, Filter, Fault(Output, "discriminant");
            unknown_version: wat, Filter, Refused("it speaks plimsoll:policy/filter@7.0.0; this plimsoll speaks plimsoll:policy@0.1.0");
            wasi_event_bomb: wat, Score, Fault(Memory, "handle limit exceeded");
            wasi_exit: wat, Score, Fault(Panic, "exit code 1");
            wasi_forged_handle: wat, Score, Fault(Output, "unknown handle index 77");
            wasi_forged_kind: wat, Score, Fault(Output, "handle index 1 used with the wrong type");
            wasi_http: wat, Score, Fault(Trap, "it called wasi:http/types@0.2.10#[constructor]fields, which policies do not have");
            wasi_huge_write: wat, Score, Fault(Output, "it handed over more than 1024 KiB at once");
            wasi_no_interface: wat, Score, Refused("it does not fit plimsoll:policy@0.1.0");
            wasi_out_of_bounds: wat, Score, Fault(Output, "out of bounds of memory");
            wasi_output_flood: wat, Score, Fault(Timeout, "is over");
            wasi_polls_nothing: wat, Score, Fault(Output, "it waited for an empty list of events");
            wasi_random_bomb: wat, Score, Fault(Output, "it asked for 18446744073709551615 random bytes at once");
            wasi_sleeps: wat, Score, Fault(Timeout, "is over");
            wasi_wrong_type: wat, Score, Refused("it does not fit plimsoll:policy@0.1.0");
            wrong_import_type: wat, Score, Refused("it does not fit plimsoll:policy@0.1.0");
            wrong_index: wat, Filter, Fault(Read, "there is no node 5000000; the request has 4");
            wrong_signature: wat, Filter, Refused("expected `[I32] -> [I32]` but found `[I64] -> [I32]`");
            wrong_type: wat, Score, Refused("its plimsoll:policy/score@0.1.0#score is not as in plimsoll:policy@0.1.0");
        }
    };
}

macro_rules! table {
    ($($name:ident: $kind:ident, $verb:ident, $expected:ident($($detail:expr),*);)*) => {
        vec![$(Guest {
            name: stringify!($name),
            verb: Verb::$verb,
            bytes: table!(@bytes $kind, $name),
            expected: table!(@expected $expected($($detail),*)),
        }),*]
    };
    (@bytes wat, $name:ident) => {
        compile(stringify!($name), include_str!(concat!("../guests/hostile/", stringify!($name), ".wat")))
    };
    (@bytes half, $name:ident) => { half(table!(@bytes wat, $name)) };
    (@bytes raw, $name:ident) => {
        include_bytes!(concat!("../guests/hostile/", stringify!($name), ".txt")).to_vec()
    };
    (@expected Refused($text:expr)) => { Expected::Refused($text) };
    (@expected Fault($kind:expr, $text:expr)) => { Expected::Fault($kind, $text) };
}

/// Every hostile guest.
pub fn hostile() -> &'static [Guest] {
    use FaultKind::{Memory, Output, Panic, Read, Stack, Start, Timeout, Trap};
    static GUESTS: OnceLock<Vec<Guest>> = OnceLock::new();
    GUESTS.get_or_init(|| for_each_hostile!(table))
}

fn half(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() / 2);
    bytes
}
