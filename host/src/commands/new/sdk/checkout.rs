//! The SDK of a checkout: the checkout that this program lies in, and paths that generated files can have.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

use crate::args::Language;

/// The checkout that this program lies in, as cargo leaves it in `target/`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OwnCheckout {
    /// There is none.
    Absent,
    /// The folder of its Rust SDK.
    Fit(PathBuf),
    /// It must not be taken unasked: a sentence that says why.
    PassedOver(String),
}

/// The folder of an SDK in a checkout.
pub(super) fn folder(language: Language) -> &'static str {
    match language {
        Language::Rust => "plugin-sdk/rust",
        Language::Go => "plugin-sdk/go",
        Language::C => "plugin-sdk/c",
        Language::Python => "plugin-sdk/python",
        Language::Typescript => "plugin-sdk/typescript",
        Language::Assemblyscript => "plugin-sdk/assemblyscript",
    }
}

/// The Rust SDK of the checkout that this program lies in.
pub(super) fn own() -> OwnCheckout {
    env::current_exe().map_or(OwnCheckout::Absent, |program| above(&program, is_own))
}

/// The Rust SDK in a folder above the program.
///
/// Others may have written to such a folder, for instance to `/tmp`, so its files must belong to the user.
fn above(program: &Path, is_own: impl Fn(&Path) -> bool) -> OwnCheckout {
    let with_sdk = |above: &&Path| above.join(folder(Language::Rust)).join("Cargo.toml").is_file();
    let Some(checkout) = program.ancestors().find(with_sdk) else { return OwnCheckout::Absent };
    let sdk = checkout.join(folder(Language::Rust));
    let name = shown(checkout);
    if !is_own(&sdk) {
        return OwnCheckout::PassedOver(format!("The checkout {name} belongs to another user; --sdk {name} takes it."));
    }
    match check_path(Language::Rust, &sdk) {
        Ok(()) => OwnCheckout::Fit(sdk),
        Err(error) => OwnCheckout::PassedOver(format!("The checkout that this program lies in is not used: {error}.")),
    }
}

/// Whether the folder of an SDK, its parent and its manifest belong to the user of this process.
fn is_own(sdk: &Path) -> bool {
    let parts = sdk.parent().into_iter().chain([sdk]).map(Path::to_owned).chain([sdk.join("Cargo.toml")]);
    parts.into_iter().all(|part| plimsoll_system::is_own(&part))
}

/// Refuses a path that the files of a policy could not have as it is: cargo would not read its manifest, or make, a
/// shell, Go, npm or pip would read something else.
pub(super) fn check_path(language: Language, path: &Path) -> Result<()> {
    let is_fit = |path: &str| match language {
        Language::Rust => !path.contains(|c: char| c.is_control() || "\"\\".contains(c)),
        _ => path.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c)) && !path.contains("//"),
    };
    let (file, expected) = match language {
        Language::Rust => ("Cargo.toml", "neither \" nor \\ nor control characters"),
        _ => ("the Makefile and other files", "letters, digits and any of / . _ - + @ alone, and no two / in a row"),
    };
    ensure!(
        path.to_str().is_some_and(is_fit),
        "{}: the path of the SDK is written into {file}: expected {expected}",
        shown(path)
    );
    Ok(())
}

/// A path on one line.
fn shown(path: &Path) -> String {
    plimsoll_core::escaped(&path.to_string_lossy(), |_| false).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const OTHERS: [Language; 5] =
        [Language::Go, Language::C, Language::Python, Language::Typescript, Language::Assemblyscript];

    #[test]
    fn a_path_that_make_or_a_shell_could_read_otherwise_is_refused() {
        for path in ["/home/me/plimsoll/plugin-sdk/c", "/srv/ci+cd/work@2/Müller/v1.0_a-b"] {
            assert!(OTHERS.iter().all(|language| check_path(*language, Path::new(path)).is_ok()), "{path}");
        }
        let bad = [' ', '\t', '\n', '$', '#', '\'', '"', '\\', '`', '(', ';', '%', ':', '*', ',', '\u{200b}'];
        let paths = bad.map(|bad| format!("/home/a{bad}b")).into_iter().chain(["//srv/a".to_owned()]);
        for (path, language) in paths.flat_map(|path| OTHERS.map(|language| (path.clone(), language))) {
            let error = check_path(language, Path::new(&path)).unwrap_err().to_string();
            assert!(error.ends_with("any of / . _ - + @ alone, and no two / in a row"), "{error}");
            assert!(!error.contains(['\n', '\t']), "{error:?}");
        }
    }

    #[test]
    fn a_path_for_cargo_is_refused_only_if_a_string_of_toml_cannot_have_it() {
        for path in ["/home/me/My Projects/plimsoll", "/srv/a,b/$(x)'#/Müller", "//srv/a"] {
            assert!(check_path(Language::Rust, Path::new(path)).is_ok(), "{path}");
        }
        for path in ["/home/a\"b", "/home/a\\b", "/home/a\nb"] {
            let error = check_path(Language::Rust, Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("is written into Cargo.toml: expected neither"), "{error}");
        }
    }

    /// A program in a checkout of this name.
    fn program_in(checkout: &Path) -> PathBuf {
        fs::create_dir_all(checkout.join(folder(Language::Rust))).unwrap();
        fs::write(checkout.join(folder(Language::Rust)).join("Cargo.toml"), "").unwrap();
        checkout.join("target/debug/plimsoll")
    }

    #[test]
    fn the_checkout_around_the_program_is_taken_unasked_if_cargo_can_have_its_path() {
        let parent = plimsoll_harness::tempdir().unwrap();
        assert_eq!(above(&parent.path().join("plimsoll"), is_own), OwnCheckout::Absent);
        let checkout = parent.path().join("My Projects");
        assert_eq!(above(&program_in(&checkout), is_own), OwnCheckout::Fit(checkout.join("plugin-sdk/rust")));
        let unfit = above(&program_in(&parent.path().join("a\"b")), is_own);
        assert!(matches!(&unfit, OwnCheckout::PassedOver(why) if why.contains("written into Cargo.toml")), "{unfit:?}");
    }

    #[test]
    fn a_checkout_of_another_user_is_not_taken_unasked_and_is_named() {
        let checkout = plimsoll_harness::tempdir().unwrap();
        let program = program_in(checkout.path());
        let name = checkout.path().display();
        let why = format!("The checkout {name} belongs to another user; --sdk {name} takes it.");
        assert_eq!(above(&program, |_| false), OwnCheckout::PassedOver(why));
        assert!(!is_own(Path::new("/proc/1/no-such-sdk")));
    }
}
