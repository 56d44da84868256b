//! Modules to try: generated, mutated, broken, and nested into each other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arbitrary::Unstructured;
use wasm_mutate::WasmMutate;
use wasm_smith::{Component, Config, Module};

use crate::random::Random;

/// The largest module that is tried; generators rarely come near.
const MAX_BYTES: usize = 1 << 20;

/// The exports of a generated policy, and the imports that it may have.
const EXPORTS: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
    (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32) unreachable)
    (func (export "plimsoll:policy/score@0.1.0#score") (param i32) (result i32) unreachable)
    (func (export "plimsoll:policy/rank@0.1.0#rank") (result i32) unreachable)
    (func (export "plimsoll:policy/validate@0.1.0#validate") (result i32) unreachable))"#;
const IMPORTS: &str = r#"(module
    (import "plimsoll:policy/nodes@0.1.0" "label" (func (param i32 i32 i32 i32)))
    (import "plimsoll:policy/nodes@0.1.0" "count" (func (result i32)))
    (import "plimsoll:policy/pod@0.1.0" "label" (func (param i32 i32 i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))"#;

/// Makes modules.
pub(crate) struct Maker {
    /// The modules that are mutated.
    seeds: Vec<Vec<u8>>,
    exports: Vec<u8>,
    imports: Vec<u8>,
}

// === impl Maker ===

impl Maker {
    pub(crate) fn new(seeds: Vec<Vec<u8>>) -> anyhow::Result<Self> {
        anyhow::ensure!(!seeds.is_empty(), "there is no module to mutate");
        Ok(Self { seeds, exports: wat::parse_str(EXPORTS)?, imports: wat::parse_str(IMPORTS)? })
    }

    /// One module; none if a generator gave up.
    pub(crate) fn module(&self, random: &mut Random) -> Option<Vec<u8>> {
        // Generators and mutators have faults of their own, which are not looked for here.
        let made = catch_unwind(AssertUnwindSafe(|| self.made(random))).ok()??;
        let again = random.one_in(6);
        let made = if again { broken(random, made) } else { made };
        Some(made).filter(|module| module.len() <= MAX_BYTES)
    }

    fn made(&self, random: &mut Random) -> Option<Vec<u8>> {
        let (config, seed) = (self.policy_config(random), self.seed(random));
        match random.below(8) {
            0 => generated(random, Config::default()),
            1 | 2 => generated(random, config),
            3 => component(random),
            4 | 5 => mutated(random, seed),
            6 => Some(broken(random, seed.to_vec())),
            _ => self.wrapped(random),
        }
    }

    fn seed(&self, random: &mut Random) -> &[u8] {
        random.pick(&self.seeds).as_slice()
    }

    /// Modules that come as far as the compiler, and to a call.
    fn policy_config(&self, random: &mut Random) -> Config {
        Config {
            exports: Some(self.exports.clone()),
            available_imports: random.one_in(2).then(|| self.imports.clone()),
            gc_enabled: false,
            threads_enabled: false,
            memory64_enabled: false,
            exceptions_enabled: false,
            tail_call_enabled: false,
            max_memories: 1,
            max_tables: 2,
            max_memory32_bytes: 1 << 24,
            max_instructions: 400,
            ..Config::default()
        }
    }

    /// One module within another: as a nested component, as a world, or one behind the other.
    fn wrapped(&self, random: &mut Random) -> Option<Vec<u8>> {
        let inner = if random.one_in(2) { component(random)? } else { self.seed(random).to_vec() };
        Some(match random.below(3) {
            0 => [b"\0asm\x0d\0\x01\0", &section(4, &inner)[..]].concat(),
            1 => {
                let world = [&[18][..], b"component-type:own", &inner].concat();
                [self.seed(random), &section(0, &world)].concat()
            }
            _ => [self.seed(random), inner.get(8..).unwrap_or_default()].concat(),
        })
    }
}

fn generated(random: &mut Random, config: Config) -> Option<Vec<u8>> {
    let size = 1 << random.below(15);
    let bytes = random.bytes(size);
    Module::new(config, &mut Unstructured::new(&bytes)).ok().map(|module| module.to_bytes())
}

fn component(random: &mut Random) -> Option<Vec<u8>> {
    let size = 1 << random.below(14);
    let bytes = random.bytes(size);
    Component::new(Config::default(), &mut Unstructured::new(&bytes)).ok().map(|component| component.to_bytes())
}

fn mutated(random: &mut Random, seed: &[u8]) -> Option<Vec<u8>> {
    let mut module = seed.to_vec();
    for _ in 0..=random.below(4) {
        let mut mutate = WasmMutate::default();
        mutate.seed(random.next()).preserve_semantics(false).fuel(500);
        let next = mutate.run(&module).ok()?.find_map(Result::ok);
        module = next?;
    }
    Some(module)
}

/// Changes a few bytes: flips, numbers at the edge, cuts, copies.
fn broken(random: &mut Random, mut module: Vec<u8>) -> Vec<u8> {
    const EDGES: [&[u8]; 5] =
        [&[0xff, 0xff, 0xff, 0xff, 0x0f], &[0x80, 0x80, 0x80, 0x80, 0x01], &[0x7f], &[0], &[0x41]];
    for _ in 0..=random.below(6) {
        if module.len() < 10 {
            return module;
        }
        // The first eight bytes alone decide whether anything is read at all.
        let at = 8 + random.below(module.len() - 8);
        match random.below(5) {
            0 => module[at] ^= 1 << random.below(8),
            1 => module[at] = random.next() as u8,
            2 => drop(module.splice(at..at + 1, random.pick(&EDGES).iter().copied())),
            3 => module.truncate(at),
            _ => {
                let end = (at + random.below(64)).min(module.len());
                let piece = module[at..end].repeat(1 + random.below(8));
                drop(module.splice(at..at, piece));
            }
        }
    }
    module
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    let (mut head, mut length) = (vec![id], content.len());
    while length > 0x7f {
        head.push(length as u8 | 0x80);
        length >>= 7;
    }
    head.push(length as u8);
    [head, content.to_vec()].concat()
}
