//! When the facts file is read again, and with which result.

use std::mem;

/// The text of the file, or why it cannot be read.
pub(super) type FileState = Result<Vec<u8>, String>;

/// The results of reading the facts file again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reloads {
    pub(crate) loaded: u64,
    pub(crate) refused: u64,
    /// Why the file as it is now is not in force.
    pub(crate) error: Option<String>,
}

/// Two reads in a row must give the same text, so that a file that is being written is not judged; each text is judged
/// once.
pub(super) struct Debouncer {
    last: FileState,
    judged: FileState,
}

// === impl Debouncer ===

impl Debouncer {
    pub(super) fn new(text: Vec<u8>) -> Self {
        Self { last: Ok(text.clone()), judged: Ok(text) }
    }

    /// Adds a state, and returns it if it has to be judged.
    pub(super) fn add(&mut self, state: FileState) -> Option<FileState> {
        let before = mem::replace(&mut self.last, state);
        if before != self.last || self.last == self.judged {
            return None;
        }
        self.judged.clone_from(&self.last);
        Some(self.last.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_judged_once_when_it_stays() {
        let mut debouncer = Debouncer::new(b"a".to_vec());
        let (text, gone) = (|text: &str| Ok(text.as_bytes().to_vec()), || Err("gone".to_owned()));
        let story = [
            (text("a"), false),
            (text("b"), false),
            (text("c"), false),
            (text("c"), true),
            (text("c"), false),
            (gone(), false),
            (text("c"), false),
            (text("c"), false),
            (gone(), false),
            (gone(), true),
            (text("c"), false),
            (text("c"), true),
        ];
        for (at, (state, is_judged)) in story.into_iter().enumerate() {
            assert_eq!(debouncer.add(state).is_some(), is_judged, "{at}");
        }
    }
}
