//! The SDKs within this program, and those of a checkout.

mod checkout;
mod files;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use self::{
    checkout::{OwnCheckout, folder},
    files::Files,
};
use crate::args::Language;

/// The folder of a copied SDK.
pub(super) const FOLDER: &str = "sdk";

/// Where a new policy takes its SDK from.
pub(super) struct Sdk {
    language: Language,
    source: Source,
    /// Why the checkout that this program lies in is not the source.
    passed_over: Option<String>,
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
        let of = |source, passed_over| Self { language, source, passed_over };
        let Some(checkout) = checkout else {
            return Ok(match language {
                Language::Rust => match checkout::own() {
                    OwnCheckout::Fit(sdk) => of(Source::Checkout(sdk), None),
                    OwnCheckout::PassedOver(why) => of(Source::Repository, Some(why)),
                    OwnCheckout::Absent => of(Source::Repository, None),
                },
                _ => of(Source::Copied, None),
            });
        };
        let sdk = checkout.join(folder(language));
        ensure!(
            sdk.is_dir(),
            "{} is no checkout of plimsoll: it has no directory {}",
            checkout.display(),
            folder(language)
        );
        let absolute = std::path::absolute(&sdk);
        let absolute = absolute.with_context(|| format!("{} has no absolute path", sdk.display()))?;
        checkout::check_path(language, &absolute)?;
        Ok(of(Source::Checkout(absolute), None))
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

    /// Why it is not that of the checkout that this program lies in, if that could be expected.
    pub(super) fn passed_over(&self) -> Option<&str> {
        self.passed_over.as_deref()
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
