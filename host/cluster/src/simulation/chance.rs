//! Random numbers that follow from a seed.

/// splitmix64: seeds that follow each other give numbers that have nothing in common.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

// === impl Chance ===

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one less than this.
    pub(super) fn pick(&mut self, below: u64) -> u64 {
        if below == 0 { 0 } else { self.next() % below }
    }

    /// True in `percent` of a hundred cases.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.pick(100) < percent
    }
}
