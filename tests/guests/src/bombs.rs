//! Files that take far more to read or to compile than they have bytes.

use std::iter;

/// A file, and how plimsoll must refuse it.
#[derive(Debug)]
pub struct Bomb {
    /// For the test's output.
    pub name: String,
    /// The file as it would be in a policies directory.
    pub bytes: Vec<u8>,
    /// A part of the text of the refusal.
    pub refused: &'static str,
}

const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
const FILTER: &[u8] = b"plimsoll:policy/filter@0.1.0#filter";

/// Files that are refused, or end the process that compiles them.
pub fn bombs() -> Vec<Bomb> {
    let nested = "whose stack overflowed";
    let mut bombs = vec![
        bomb("30,000 nested components", nested_components(30_000), "MiB of memory"),
        bomb("2^32-1 data segments", claims_data_segments(u32::MAX), "data segments count exceeds limit"),
        bomb("2^28 data segments", claims_data_segments(1 << 28), "data segments count exceeds limit"),
    ];
    for levels in [3_000, 30_000, 300_000] {
        bombs.push(bomb(&format!("{levels} nested types"), nested_types(levels), nested));
        let world = [&name(b"component-type:own")[..], &nested_types(levels)].concat();
        let module = [CORE_MODULE, &section(0, &world)].concat();
        bombs.push(bomb(&format!("{levels} nested types of a world"), module, nested));
    }
    bombs
}

/// Instance types of which each exports the one before: deep without being nested.
pub fn chained_types(length: u32) -> Vec<u8> {
    let mut types = leb(length);
    // (instance), then (instance (alias outer 1 N (type)) (export "a" (instance (type 0))))
    types.extend([0x42, 0]);
    for before in 0..length - 1 {
        types.extend([0x42, 2, 0x02, 0x03, 0x02, 1]);
        types.extend(leb(before));
        types.extend([0x04, 0x00, 1, b'a', 0x05, 0]);
    }
    let import = [&[1, 0x00, 1, b'i', 0x05][..], &leb(length - 1)].concat();
    [COMPONENT, &section(7, &types), &section(10, &import)].concat()
}

/// One function whose compile takes time and memory for loops times locals.
pub fn loops_over_locals(loops: usize, locals: u32) -> Vec<u8> {
    let mut body = [&[1][..], &leb(locals), &[0x7f]].concat();
    body.extend(iter::repeat_n([0x03, 0x40], loops).flatten());
    for local in 1..=locals {
        // local = local + 1
        body.extend([&[0x20][..], &leb(local), &[0x41, 1, 0x6a, 0x21], &leb(local)].concat());
    }
    // Back to the loop's start if the argument is not 0.
    body.extend(iter::repeat_n([0x20, 0, 0x0d, 0, 0x0b], loops).flatten());
    body.extend([0x41, 0, 0x0b]);
    module(&body)
}

fn bomb(name: &str, bytes: Vec<u8>, refused: &'static str) -> Bomb {
    Bomb { name: name.to_owned(), bytes, refused }
}

fn nested_types(levels: usize) -> Vec<u8> {
    let types = [&[1][..], &[0x41, 1, 1].repeat(levels - 1), &[0x41, 0]].concat();
    [COMPONENT, &section(7, &types)].concat()
}

fn nested_components(levels: usize) -> Vec<u8> {
    let mut heads = vec![];
    let mut size = COMPONENT.len();
    for _ in 1..levels {
        let head = [COMPONENT, &[4], &leb(size as u32)].concat();
        size += head.len();
        heads.push(head);
    }
    heads.into_iter().rev().chain([COMPONENT.to_vec()]).flatten().collect()
}

fn claims_data_segments(count: u32) -> Vec<u8> {
    [module(&[0, 0x41, 0, 0x0b]), section(11, &leb(count))].concat()
}

/// A core module with a memory, whose filter has this body.
fn module(body: &[u8]) -> Vec<u8> {
    let code = [&[1][..], &leb(body.len() as u32), body].concat();
    let exports = [&[2][..], &name(FILTER), &[0, 0], &name(b"memory"), &[2, 0]].concat();
    let sections = [
        section(1, &[1, 0x60, 1, 0x7f, 1, 0x7f]),
        section(3, &[1, 0]),
        section(5, &[1, 0, 1]),
        section(7, &exports),
        section(10, &code),
    ];
    [CORE_MODULE, &sections.concat()].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &leb(content.len() as u32), content].concat()
}

fn name(text: &[u8]) -> Vec<u8> {
    [&leb(text.len() as u32), text].concat()
}

fn leb(mut number: u32) -> Vec<u8> {
    let mut bytes = vec![];
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
