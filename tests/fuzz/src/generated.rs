//! The modules that the generator writes, and what it mutates.

use std::{
    fs,
    io::{BufReader, Read},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use plimsoll_guests::{
    bombs::{bombs, chained_types},
    hostile, zone,
};
use plimsoll_harness::workspace;

/// The largest seed: mutations of larger ones would hardly differ from it.
const MAX_SEED_BYTES: usize = 100_000;

/// The largest module that the generator may write.
const MAX_BYTES: u64 = 16 << 20;

/// A running generator; it is killed when this is dropped.
pub(crate) struct Generated {
    generator: Child,
    output: BufReader<ChildStdout>,
}

/// Lays the sample policies and the guests of the tests where the generator finds them.
pub(crate) fn lay_seeds(folder: &Path) -> Result<()> {
    let mut seeds = vec![zone(), chained_types(50)];
    seeds.extend(hostile().iter().map(|guest| guest.bytes.clone()));
    // Those that overflow a stack would end the worker itself.
    let bombs = bombs().into_iter().filter(|bomb| !bomb.refused.contains("stack"));
    seeds.extend(bombs.map(|bomb| bomb.bytes));
    for entry in fs::read_dir(workspace().join("target/policies")).context("`make policies` builds the seeds")? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "wasm") {
            seeds.push(fs::read(path)?);
        }
    }
    fs::create_dir_all(folder)?;
    for (number, seed) in seeds.iter().filter(|seed| seed.len() <= MAX_SEED_BYTES).enumerate() {
        fs::write(folder.join(format!("{number:03}.wasm")), seed)?;
    }
    Ok(())
}

// === impl Generated ===

impl Generated {
    pub(crate) fn start(first: u64, seeds: &Path) -> Result<Self> {
        let program = workspace().join("target/fuzz/build/debug/plimsoll-fuzz-generator");
        let mut generator = Command::new(&program)
            .arg(first.to_string())
            .arg(seeds)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{}: `make fuzz` builds it", program.display()))?;
        let output = BufReader::new(generator.stdout.take().context("an output")?);
        Ok(Self { generator, output })
    }

    /// The next module and its seed.
    pub(crate) fn next(&mut self) -> Result<(u64, Vec<u8>)> {
        let (seed, length) = (self.number()?, self.number()?);
        ensure!(length <= MAX_BYTES, "the generator wrote a module of {length} bytes");
        let mut module = vec![0; length as usize];
        self.output.read_exact(&mut module)?;
        Ok((seed, module))
    }

    fn number(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.output.read_exact(&mut bytes).context("the generator ended")?;
        Ok(u64::from_le_bytes(bytes))
    }
}

impl Drop for Generated {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.generator.kill();
        let _ = self.generator.wait();
    }
}
