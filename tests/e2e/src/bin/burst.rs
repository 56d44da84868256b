//! Bursts of pods under "at most 4 pods of this app on a node", on a real kube-scheduler and API server.

use std::io::Write as _;

use anyhow::{Result, ensure};
use clap::Parser;
use plimsoll_e2e::{Burst, BurstOutcome};
use plimsoll_harness::{binary, policies};

/// Measures bursts of pods under a filter that counts.
#[derive(Debug, Parser)]
#[command(name = "plimsoll-burst")]
struct Args {
    /// Sizes, each as NODES:PODS
    #[arg(long, value_delimiter = ',', default_values_t = ["60:200".to_owned(), "1000:2000".to_owned()])]
    sizes: Vec<String>,

    /// Run only the cases whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> Result<()> {
    let args = Args::parse();
    // Nothing is built while it is measured.
    let _built = (binary(), policies());
    let mut is_kept = true;
    for size in &args.sizes {
        let (nodes, pods) = size.split_once(':').unwrap_or((size, "200"));
        let limited = Burst::of(nodes.parse()?, pods.parse()?);
        let cases = [
            ("no limit", Burst { is_limited: false, ..limited }),
            ("limit", limited),
            ("no limit, 2 replicas", Burst { is_limited: false, replicas: 2, ..limited }),
            ("limit, 2 replicas", Burst { replicas: 2, ..limited }),
            ("limit, 2 replicas, leader killed", Burst { replicas: 2, kills: true, ..limited }),
        ];
        for (name, burst) in cases.into_iter().filter(|(name, _)| name.contains(&args.only)) {
            let outcome = burst.run()?;
            is_kept &= outcome.too_many == 0 || !burst.is_limited;
            report(size, name, &outcome)?;
        }
    }
    ensure!(is_kept, "a limit was exceeded");
    Ok(())
}

fn report(size: &str, name: &str, outcome: &BurstOutcome) -> Result<()> {
    let BurstOutcome { took, too_many, most, refused, retries, waits, waited_ms, missed } = outcome;
    writeln!(
        std::io::stdout(),
        "{size} {name}: {:.1} s, {too_many} too many (at most {most} on a node), {refused} refused at bind, \
         {retries} asked again, {waits} waits of {waited_ms:.0} ms together, {missed} missed",
        took.as_secs_f64()
    )?;
    Ok(())
}
