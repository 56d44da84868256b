//! Log lines of a policy; they appear in the host's log under the policy's name, bounded in number and size.
//!
//! ```
//! use plimsoll_policy::log;
//! log::debug!("{} devices are free", 3);
//! ```

pub use crate::level::Level;
pub use crate::{__debug as debug, __error as error, __info as info, __warn as warn};

/// Writes one line.
pub fn write(level: Level, message: &str) {
    crate::host_calls::log(level, message);
}

/// Logs at debug level.
#[doc(hidden)]
#[macro_export]
macro_rules! __debug {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Debug, &::std::format!($($message)+)) };
}

/// Logs at info level.
#[doc(hidden)]
#[macro_export]
macro_rules! __info {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Info, &::std::format!($($message)+)) };
}

/// Logs at warn level.
#[doc(hidden)]
#[macro_export]
macro_rules! __warn {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Warn, &::std::format!($($message)+)) };
}

/// Logs at error level.
#[doc(hidden)]
#[macro_export]
macro_rules! __error {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Error, &::std::format!($($message)+)) };
}
