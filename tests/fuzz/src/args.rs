//! The command line.

use std::{collections::hash_map::RandomState, hash::BuildHasher, time::Duration};

use clap::Parser;

/// The longest run, in minutes: a week.
const MAX_MINUTES: f64 = 10_080.0;

/// Feed generated, mutated and broken modules to all code that reads modules
#[derive(Debug, Parser)]
#[command(name = "plimsoll-fuzz")]
pub(crate) struct Args {
    /// The minutes that it runs, at most a week
    #[arg(long, value_name = "N", default_value = "1", value_parser = minutes)]
    pub(crate) minutes: Duration,

    /// The seed of the first module; each further module has the next one [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Be one of the processes that try modules
    #[arg(long, hide = true)]
    pub(crate) worker: bool,
}

fn minutes(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= MAX_MINUTES => Ok(Duration::from_secs_f64(minutes * 60.0)),
        _ => Err(format!("expected a number of minutes above 0, at most {MAX_MINUTES}")),
    }
}

// === impl Args ===

impl Args {
    /// The seed of the first module.
    pub(crate) fn first_seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| RandomState::new().hash_one(0) >> 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Args, String> {
        let words = ["plimsoll-fuzz"].into_iter().chain(arguments.split_whitespace());
        Args::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn the_seed_and_the_time_are_taken() {
        let args = parse("--minutes 0.5 --seed 7").unwrap();
        assert_eq!((args.minutes, args.first_seed()), (Duration::from_secs(30), 7));
        assert_eq!(parse("").unwrap().minutes, Duration::from_mins(1));
    }

    #[test]
    fn an_error_names_the_flag_and_the_expected_value() {
        for (arguments, flag, expected) in [
            ("--minutes 0", "--minutes", "expected a number of minutes above 0"),
            ("--minutes nan", "--minutes", "expected a number of minutes above 0"),
            ("--minutes 1e300", "--minutes", "at most 10080"),
            ("--seed -1", "-1", "unexpected argument"),
            ("--seed x", "--seed", "invalid digit"),
            ("--minute 1", "--minute", "unexpected argument"),
        ] {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(flag) && error.contains(expected), "{arguments}: {error}");
        }
    }
}
