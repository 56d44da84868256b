//! The random numbers of all tests that make their own: they follow from a seed.
//!
//! A test prints the seed that it starts from ([`seed`]), which libtest shows if the test fails, and
//! `PLIMSOLL_SEED=N cargo test ... -- NAME` runs the same again. Tests with fixed seeds name the seed in their messages.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

use std::{
    env,
    hash::{BuildHasher, RandomState},
};

/// The variable that names a seed.
const SEED: &str = "PLIMSOLL_SEED";

/// The generator `SplitMix64`: consecutive seeds give numbers that have nothing in common.
#[derive(Debug, Clone)]
pub struct Random(u64);

/// The seed in `PLIMSOLL_SEED`, if there is one.
pub fn given_seed() -> Option<u64> {
    let text = env::var(SEED).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{SEED} is not a number: {text}")))
}

/// The seed in `PLIMSOLL_SEED`, or a new one for each run; prints how to get it again.
#[expect(clippy::print_stdout, reason = "libtest shows it with a failure")]
pub fn seed() -> u64 {
    let seed = given_seed().unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("{SEED}={seed} runs the same again");
    seed
}

// === impl Random ===

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one; 0 below 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64().checked_rem(end).unwrap_or(0)
    }

    /// True in this many of a hundred cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_seed_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        // From the reference implementation by Sebastiano Vigna.
        assert_eq!([random.next_u64(), random.next_u64()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
        assert_eq!(random.below(0), 0);
        assert!(random.below(7) < 7 && !random.percent(0) && random.percent(100));
        assert_eq!(random.pick(&["only"]), "only");
    }
}
