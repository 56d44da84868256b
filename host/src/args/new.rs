//! The arguments of `plimsoll new`.

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The name of the policy, and of its folder or file: lower-case letters, digits and `-`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The language of the policy
    #[arg(long, env = "PLIMSOLL_LANG", value_name = "cel|rust|go|c|python|typescript|assemblyscript")]
    pub(crate) lang: Language,
}

/// A language for policies; all but CEL have an SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Needs nothing: a rule of a few lines in a YAML file
    Cel,
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
