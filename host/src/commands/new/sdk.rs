//! The SDK of a new policy: a copy within this program, or for Rust a Cargo dependency.

mod files;

use std::{
    env,
    path::{self, Component, Path, PathBuf},
};

use self::files::Files;
use crate::args::Language;

/// The folder of a copied SDK.
pub(super) const FOLDER: &str = "sdk";

/// What a policy is built with elsewhere: there is no release yet.
pub(super) const BRANCH: &str = "main";

/// The folder of the Rust SDK in a checkout.
const RUST: &str = "plugin-sdk/rust";

/// Where a new policy takes its SDK from.
pub(super) struct Sdk {
    /// The files to write into the folder of the SDK.
    pub(super) copied: Files,
    /// The place of the SDK, as the files of the policy name it.
    pub(super) reference: String,
    /// A sentence about it.
    pub(super) note: String,
    /// Whether it is that of a checkout on this machine.
    pub(super) is_checkout: bool,
}

// === impl Sdk ===

impl Sdk {
    /// The SDK for a policy in this folder.
    pub(super) fn of(language: Language, folder: &Path) -> Self {
        let (reference, copied) = match language {
            Language::Rust => return Self::of_rust(folder),
            Language::C => (FOLDER.to_owned(), files::C),
            Language::Go => (format!("./{FOLDER}"), files::GO),
            Language::Python => (format!("./{FOLDER}"), files::PYTHON),
            Language::Typescript => (format!("./{FOLDER}"), files::TYPESCRIPT),
            Language::Assemblyscript => (format!("./{FOLDER}"), files::ASSEMBLYSCRIPT),
            Language::Cel => (String::new(), &[][..]),
        };
        let note = format!("The SDK is in {FOLDER}/, a copy of that of plimsoll {}.", env!("CARGO_PKG_VERSION"));
        Self { copied, reference, note, is_checkout: false }
    }

    /// The SDK of the checkout in whose `target` directory this program lies, or else of the repository.
    fn of_rust(folder: &Path) -> Self {
        let repository = env!("CARGO_PKG_REPOSITORY");
        let checkout = own_checkout();
        let is_checkout = checkout.is_some();
        let git = format!("git = \"{repository}\", branch = \"{BRANCH}\"");
        let (reference, note) = match checkout.and_then(|sdk| relative(&sdk, folder)) {
            Some(path) => {
                let path = path.display();
                (
                    format!("path = \"{path}\""),
                    format!(
                        "The SDK is in {path}. Where no checkout is there, give Cargo.toml `plimsoll-policy = {{ {git} }}`."
                    ),
                )
            }
            None => (git, format!("The SDK is that of {repository}, which needs the network.")),
        };
        Self { copied: &[], reference, note, is_checkout }
    }

    /// The copied files that are programs.
    pub(super) fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.copied.iter().map(|(path, _)| *path).filter(|path| path.starts_with("bin/"))
    }
}

/// The path from one folder to another, so that it holds for everybody who has the two side by side.
fn relative(to: &Path, from: &Path) -> Option<PathBuf> {
    let from = path::absolute(from).ok()?;
    let common = to.components().zip(from.components()).take_while(|(to, from)| to == from).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    Some(up.chain(to.components().skip(common)).collect())
}

fn own_checkout() -> Option<PathBuf> {
    // A manifest or a shell script would read another path as something else.
    let is_fit = |path: &str| path.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c));
    let is_sdk = |sdk: &Path| sdk.join("Cargo.toml").is_file() && sdk.to_str().is_some_and(is_fit);
    let program = env::current_exe().ok()?;
    program.ancestors().map(|above| above.join(RUST)).find(|sdk| is_sdk(sdk))
}
