//! The arguments of `plimsoll new`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;

#[derive(Debug, clap::Args)]
#[command(override_usage = "plimsoll new [OPTIONS] --lang <LANGUAGE> <NAME>")]
pub(crate) struct NewArgs {
    /// The name of the policy, and of the folder: lower-case letters, digits and `-`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The language of the policy
    #[arg(long, env = "PLIMSOLL_LANG", value_name = "LANGUAGE")]
    pub(crate) lang: Option<Language>,

    /// A checkout of plimsoll to take the SDK from, instead of a copy of the SDK in the folder [default for rust: the
    /// checkout in whose target directory this program lies, or else the repository, over the network]
    #[arg(long, env = "PLIMSOLL_SDK", value_name = "DIR")]
    pub(crate) sdk: Option<PathBuf>,
}

/// A language with an SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Needs Rust [alias: rs]
    #[value(alias = "rs")]
    Rust,
    /// Needs Go [alias: golang]
    #[value(alias = "golang")]
    Go,
    /// Needs clang and lld; also for C++ [aliases: c++, cpp]
    #[value(aliases = ["c++", "cpp"])]
    C,
    /// Needs Python 3.10 or later; pip installs the rest [alias: py]
    #[value(alias = "py")]
    Python,
    /// Needs Node.js 20 or later; npm installs the rest; also for JavaScript [aliases: ts, js, javascript]
    #[value(aliases = ["ts", "js", "javascript"])]
    Typescript,
    /// Needs Node.js 20 or later; npm installs the rest
    Assemblyscript,
}

// === impl NewArgs ===

impl NewArgs {
    /// The language, which must be given: the error of clap about a flag that is missing does not list its values.
    ///
    /// # Errors
    /// If it is not given.
    pub(crate) fn language(&self) -> Result<Language> {
        let names = Language::value_variants().iter().filter_map(Language::to_possible_value);
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        self.lang.with_context(|| format!("in which language? --lang takes one of {}", names.join(", ")))
    }
}
