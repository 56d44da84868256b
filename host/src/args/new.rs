//! The arguments of `plimsoll new`.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The name of the policy, and of the folder: lower-case letters, digits and `-`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The language of the policy
    #[arg(long, env = "PLIMSOLL_LANG", value_name = "LANGUAGE")]
    pub(crate) lang: Language,

    /// A checkout of plimsoll to take the SDK from, instead of a copy of the SDK in the folder [default for rust: the
    /// checkout in whose target directory this program lies, if it belongs to you, or else the repository, over the
    /// network]
    #[arg(long, env = "PLIMSOLL_SDK", value_name = "DIR")]
    pub(crate) sdk: Option<PathBuf>,
}

/// A language with an SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Needs Rust
    Rust,
    /// Needs Go
    Go,
    /// Needs clang and lld; also for C++
    C,
    /// Needs Python 3.10 or later; pip installs the rest
    Python,
    /// Needs Node.js 20 or later; npm installs the rest; also for JavaScript
    Typescript,
    /// Needs Node.js 20 or later; npm installs the rest
    Assemblyscript,
}
