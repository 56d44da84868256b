/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For the policy's author.
    Debug,
    /// For the curious.
    Info,
    /// Something to look at.
    Warn,
    /// Something that should not be.
    Error,
}
