//! The SDKs within this program, and those of a checkout.

mod files;

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use self::files::Files;
use crate::args::Language;

/// The folder of a copied SDK.
pub(super) const FOLDER: &str = "sdk";

/// Where a new policy takes its SDK from.
pub(super) struct Sdk {
    language: Language,
    source: Source,
}

enum Source {
    /// Files that are written into the folder of the policy.
    Copied,
    /// A checkout of plimsoll.
    Checkout(PathBuf),
    /// The repository of the project.
    Repository,
}

// === impl Sdk ===

impl Sdk {
    /// The SDK for a language.
    ///
    /// # Errors
    /// If the checkout that is named has none.
    pub(super) fn of(language: Language, checkout: Option<&Path>) -> Result<Self> {
        let source = match checkout {
            None if language == Language::Rust => own().map_or(Source::Repository, Source::Checkout),
            None => Source::Copied,
            Some(checkout) => {
                let sdk = checkout.join(folder(language));
                ensure!(
                    sdk.is_dir(),
                    "{} is no checkout of plimsoll: it has no directory {}",
                    checkout.display(),
                    folder(language)
                );
                let sdk = std::path::absolute(&sdk);
                let sdk = sdk.with_context(|| format!("{} has no absolute path", checkout.display()))?;
                check_path(&sdk)?;
                Source::Checkout(sdk)
            }
        };
        Ok(Self { language, source })
    }

    /// The files to write into the folder of the SDK.
    pub(super) fn copied(&self) -> Files {
        match (&self.source, self.language) {
            (Source::Copied, Language::C) => files::C,
            (Source::Copied, Language::Go) => files::GO,
            (Source::Copied, Language::Python) => files::PYTHON,
            (Source::Copied, Language::Typescript) => files::TYPESCRIPT,
            (Source::Copied, Language::Assemblyscript) => files::ASSEMBLYSCRIPT,
            _ => &[],
        }
    }

    /// The copied files that are programs.
    pub(super) fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.copied().iter().map(|(path, _)| *path).filter(|path| path.starts_with("bin/"))
    }

    /// Whether it is that of a checkout on this machine.
    pub(super) fn is_checkout(&self) -> bool {
        matches!(self.source, Source::Checkout(_))
    }

    /// Its folder in a checkout.
    pub(super) fn folder(&self) -> &'static str {
        folder(self.language)
    }

    /// The place of the SDK, as the files of the policy name it.
    pub(super) fn reference(&self) -> String {
        match (&self.source, self.language) {
            (Source::Checkout(path), Language::Rust) => format!("path = \"{}\"", path.display()),
            (Source::Checkout(path), _) => path.display().to_string(),
            (_, Language::Rust) => {
                let (repository, version) = (env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION"));
                format!("git = \"{repository}\", tag = \"v{version}\"")
            }
            (_, Language::Go | Language::Python | Language::Typescript | Language::Assemblyscript) => {
                format!("./{FOLDER}")
            }
            (_, Language::C) => FOLDER.to_owned(),
        }
    }

    /// A sentence about it.
    pub(super) fn note(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        match &self.source {
            Source::Copied => format!("The SDK is in {FOLDER}/, a copy of that of plimsoll {version}."),
            Source::Checkout(path) => format!("The SDK is in {}.", path.display()),
            Source::Repository => {
                let repository = env!("CARGO_PKG_REPOSITORY");
                format!(
                    "The SDK is v{version} of {repository}, which needs the network; --sdk DIR takes it from a checkout."
                )
            }
        }
    }
}

/// The folder of an SDK in a checkout.
fn folder(language: Language) -> &'static str {
    match language {
        Language::Rust => "plugin-sdk/rust",
        Language::Go => "plugin-sdk/go",
        Language::C => "plugin-sdk/c",
        Language::Python => "plugin-sdk/python",
        Language::Typescript => "plugin-sdk/typescript",
        Language::Assemblyscript => "plugin-sdk/assemblyscript",
    }
}

/// The Rust SDK of the checkout in whose `target` directory this program lies.
fn own() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let mut sdks = program.ancestors().map(|above| above.join(folder(Language::Rust)));
    sdks.find(|sdk| sdk.join("Cargo.toml").is_file() && check_path(sdk).is_ok())
}

/// Refuses a path that make, a shell, npm, pip, Go or cargo would read as something else.
fn check_path(path: &Path) -> Result<()> {
    let is_fit = |path: &str| path.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c));
    ensure!(
        path.to_str().is_some_and(is_fit),
        "{}: the path of the SDK is written into the Makefile and other files: expected letters, digits and any of / . _ - + @ alone",
        plimsoll_core::escaped(&path.to_string_lossy(), |_| false)
    );
    Ok(())
}
