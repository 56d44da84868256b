//! The results of reading the facts file again.

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
