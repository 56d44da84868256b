//! Buffers for whole files and pipes.

/// Buffers from this size on are large.
const LARGE: usize = 1 << 20;

/// More than the size from which glibc gives a block a mapping of its own in any case: its threshold follows the largest
/// block freed so far, up to 32 MiB.
const ALWAYS_MAPPED: usize = (32 << 20) + 1;

/// An empty buffer that can take this many bytes without growing.
///
/// Large ones give their memory back to the system when they are dropped. Otherwise each thread that once held a module
/// of 14 MiB would keep up to 28 MiB in its part of the heap. Memory that is not written to costs nothing.
pub fn buffer(bytes: usize) -> Vec<u8> {
    Vec::with_capacity(if bytes < LARGE { bytes } else { bytes.max(ALWAYS_MAPPED) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_buffer_takes_what_it_needs_and_a_large_one_is_beyond_the_threshold() {
        let capacities = [100, LARGE, 64 << 20].map(|bytes| buffer(bytes).capacity());
        assert_eq!(capacities, [100, ALWAYS_MAPPED, 64 << 20]);
    }
}
