//! The one function through which a policy learns anything.

use super::View;
use crate::model::{Read, ReadError, Value, excerpt};

/// Maximum bytes of a read that an error names: its keys are of the policy.
const MAX_NAMED_READ_BYTES: usize = 120;

impl View {
    /// Answers one read.
    ///
    /// # Errors
    /// If it names a node, pod or candidate that the request does not have, or passes a limit of the contract, or of
    /// the policy's sidecar.
    pub fn read(&self, read: Read<'_>) -> Result<Value<'_>, ReadError> {
        let written = read;
        let named = |read: &Read<'_>| excerpt(&read.to_string(), MAX_NAMED_READ_BYTES).into();
        let (read, answer) = match self.named_globally(read) {
            Ok(read) if self.reads.as_ref().is_some_and(|reads| !reads.has(&read)) => {
                (read, Err(ReadError::Undescribed(named(&read))))
            }
            Ok(read) if self.refuses_counts && read.counts_pods() => (read, Err(ReadError::Counts(named(&read)))),
            Ok(read) => (read, self.admit(&read).and_then(|()| self.answer(read))),
            Err(error) => (read, Err(error)),
        };
        let answer = answer.and_then(|value| self.check_absence(read, value));
        if let Some(recording) = &self.recording {
            recording.record(&read, &written, &answer, |node| self.node_name(node), || self.counted(&read));
        }
        answer
    }
}
