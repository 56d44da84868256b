//! Writes modules to its standard output, without end: a seed, a length, and as many bytes.
//!
//! `plimsoll-fuzz-generator SEED FOLDER`: module n is made from seed SEED + n and the modules in FOLDER, so that each
//! can be made again.

mod make;
mod random;

use std::{env, fs, io::Write};

use anyhow::{Context, Result};

use make::Maker;
use random::Random;

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let mut next = || args.next().context("expected a seed and a folder of modules");
    let (first, folder): (u64, String) = (next()?.parse()?, next()?);
    // Generators have faults of their own, which nobody looks for here.
    std::panic::set_hook(Box::new(|_| {}));
    let mut names: Vec<_> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    names.sort();
    let maker = Maker::new(names.iter().map(fs::read).collect::<Result<_, _>>()?)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for seed in first.. {
        let Some(module) = maker.module(&mut Random::new(seed)) else { continue };
        out.write_all(&seed.to_le_bytes())?;
        out.write_all(&(module.len() as u64).to_le_bytes())?;
        out.write_all(&module)?;
    }
    Ok(())
}
