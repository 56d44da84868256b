//! The standard input and output of one call of a program.

mod input;

use std::{mem, sync::Arc};

use plimsoll_core::View;
use wasmtime::Error;

use self::input::Input;
use crate::{limits::MemoryLimiter, stop::Stop};

/// Bytes of an answer to an empty request. An answer may contain each node of the request, encoded again, so this grows
/// with the request.
const MIN_OUTPUT: usize = 1 << 20;

/// Bytes of memory that a standard output gets at once, at least.
const OUTPUT_STEP: usize = 64 << 10;

/// Bytes of one word of the verb; see `componentize/command.wat`.
const WORD: usize = size_of::<u64>();

/// The standard input and output of one call.
pub(crate) struct ProgramStdio {
    verb: &'static str,
    input: Input,
    output: Vec<u8>,
    /// Maximum bytes of the output.
    most: usize,
}

// === impl ProgramStdio ===

impl ProgramStdio {
    /// The request of a view as standard input.
    pub(crate) fn of(view: &Arc<View>, verb: &'static str) -> Self {
        let input = Input::of(view);
        let most = MIN_OUTPUT.saturating_add(input.len().saturating_mul(2));
        Self { verb, input, output: Vec::new(), most }
    }

    /// The next bytes of the input; none at its end.
    pub(crate) fn read(&mut self, most: usize) -> Vec<u8> {
        self.input.read(most)
    }

    /// Eight bytes of the verb, which is filled up with zeros.
    pub(crate) fn verb_word(&self, word: usize) -> u64 {
        let verb = self.verb.as_bytes();
        let bytes = verb.iter().skip(word.saturating_mul(WORD)).take(WORD);
        bytes.rev().fold(0, |value, byte| (value << 8) | u64::from(*byte))
    }

    /// The bytes that it may still write.
    fn room(&self) -> usize {
        self.most.saturating_sub(self.output.len())
    }

    /// Takes the output for one write of this many bytes, with memory for them; [`Self::put_output`] brings it back. So
    /// the bytes go from the memory of the guest to the output without another copy.
    ///
    /// # Errors
    /// If they are more than an answer may have, or there is no memory for them.
    pub(crate) fn take_output(&mut self, length: usize, limiter: &mut MemoryLimiter) -> wasmtime::Result<Vec<u8>> {
        if length > self.room() {
            let detail = format!("more than {} bytes on standard output", self.most);
            return Err(Error::new(Stop::Output(detail)));
        }
        let free = self.output.capacity() - self.output.len();
        if length > free {
            // Twice as much each time, so that a program may write in small pieces.
            let more = length.max(self.output.len()).max(OUTPUT_STEP).min(self.room());
            limiter.keep(more)?;
            self.output.reserve_exact(more);
        }
        Ok(mem::take(&mut self.output))
    }

    /// Brings the output back after a write.
    pub(crate) fn put_output(&mut self, output: Vec<u8>) {
        self.output = output;
    }

    /// The output so far.
    pub(crate) fn output(&self) -> &[u8] {
        &self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::{Charge, Shares};

    #[test]
    fn a_write_that_is_refused_takes_no_memory() {
        let mut limiter = MemoryLimiter::new(64 << 10, Charge::new(&Shares::new(1, 1 << 40), None));
        let mut stdio = ProgramStdio::of(&Arc::new(View::empty("null".into())), "filter");
        for length in [1 << 19, 1 << 29] {
            assert!(stdio.take_output(length, &mut limiter).is_err());
            assert_eq!((stdio.output.capacity(), limiter.taken()), (0, 0));
        }
        let output = stdio.take_output(1, &mut limiter).unwrap();
        assert_eq!((output.capacity(), limiter.taken()), (OUTPUT_STEP, OUTPUT_STEP));
    }
}
