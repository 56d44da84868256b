//! The SDKs within this program, and those of a checkout.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

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

/// Files with their paths in the folder of the SDK.
type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($folder:literal: $($path:literal,)*) => {
        &[$(($path, include_str!(concat!("../../../../plugin-sdk/", $folder, "/", $path)))),*]
    };
}

const ASSEMBLYSCRIPT: Files = files!["assemblyscript":
    "LICENSE",
    "README.md",
    "assembly/answers.ts",
    "assembly/fault.ts",
    "assembly/generated-imports.ts",
    "assembly/generated-views.ts",
    "assembly/generated.ts",
    "assembly/guest.ts",
    "assembly/index.ts",
    "assembly/json.ts",
    "assembly/log.ts",
    "assembly/memory.ts",
    "assembly/quantity.ts",
    "assembly/settings.ts",
    "assembly/some.ts",
    "assembly/verbs.ts",
    "assembly/views.ts",
    "bin/plimsoll-asc.mjs",
    "builder/command.mjs",
    "builder/compile.mjs",
    "builder/entry.mjs",
    "builder/policy.mjs",
    "package.json",
    "testing/abi.mjs",
    "testing/answers.mjs",
    "testing/cluster.mjs",
    "testing/generated.mjs",
    "testing/index.d.mts",
    "testing/index.mjs",
    "testing/known.mjs",
    "testing/metadata.mjs",
    "testing/objects.mjs",
    "testing/policy.mjs",
    "testing/quantity.mjs",
    "testing/reads.mjs",
    "tsconfig.base.json",
];

const C: Files = files!["c":
    "LICENSE",
    "README.md",
    "plimsoll.h",
    "plimsoll_generated.h",
    "plimsoll_test.h",
];

const GO: Files = files!["go":
    "LICENSE",
    "README.md",
    "bind/bind.go",
    "bind/export_wasip1.go",
    "filter/export_wasip1.go",
    "filter/filter.go",
    "go.mod",
    "hostlog/default_wasip1.go",
    "hostlog/hostlog.go",
    "internal/abi/answer_wasip1.go",
    "internal/abi/area_wasip1.go",
    "internal/abi/doc.go",
    "internal/bridge/bridge.go",
    "internal/call/call.go",
    "internal/call/call_wasip1.go",
    "internal/settings/prepare.go",
    "internal/settings/settings.go",
    "plimsoll/answer.go",
    "plimsoll/bind.go",
    "plimsoll/bind_wasip1.go",
    "plimsoll/calls_wasip1.go",
    "plimsoll/doc.go",
    "plimsoll/generated.go",
    "plimsoll/generated_host.go",
    "plimsoll/generated_wasip1.go",
    "plimsoll/hostcalls_native.go",
    "plimsoll/hostcalls_wasip1.go",
    "plimsoll/log.go",
    "plimsoll/quantity.go",
    "plimsoll/views.go",
    "plimsolltest/cluster.go",
    "plimsolltest/host.go",
    "plimsolltest/metadata.go",
    "plimsolltest/objects.go",
    "plimsolltest/world.go",
    "preempt/export_wasip1.go",
    "preempt/preempt.go",
    "rank/export_wasip1.go",
    "rank/rank.go",
    "score/export_wasip1.go",
    "score/score.go",
];

const PYTHON: Files = files!["python":
    "LICENSE",
    "README.md",
    "plimsoll/__init__.py",
    "plimsoll/__main__.py",
    "plimsoll/_generated.py",
    "plimsoll/_guest.py",
    "plimsoll/policy.py",
    "plimsoll/policy.wit",
    "plimsoll/py.typed",
    "plimsoll/quantity.py",
    "plimsoll/settings.py",
    "plimsoll/testing/__init__.py",
    "plimsoll/testing/metadata.py",
    "plimsoll/testing/objects.py",
    "plimsoll/testing/reads.py",
    "plimsoll/types.py",
    "plimsoll/views.py",
    "pyproject.toml",
];

const TYPESCRIPT: Files = files!["typescript":
    "LICENSE",
    "README.md",
    "bin/plimsoll-build.mjs",
    "package.json",
    "policy.wit",
    "src/answers.ts",
    "src/builder/command.ts",
    "src/builder/source-map.ts",
    "src/console.ts",
    "src/generated-host.ts",
    "src/generated-modules.d.ts",
    "src/generated-views.ts",
    "src/generated.ts",
    "src/guest.ts",
    "src/index.ts",
    "src/policy.ts",
    "src/quantity.ts",
    "src/settings.ts",
    "src/testing/cluster.ts",
    "src/testing/index.ts",
    "src/testing/known.ts",
    "src/testing/metadata.ts",
    "src/testing/objects.ts",
    "src/testing/reads.ts",
    "src/trace.ts",
    "src/tsconfig.json",
    "src/views.ts",
    "tsconfig.base.json",
];

// === impl Sdk ===

impl Sdk {
    /// The SDK for a language.
    ///
    /// # Errors
    /// If the checkout that is named has none.
    pub(super) fn of(language: Language, checkout: Option<&Path>) -> Result<Self> {
        let source = match checkout {
            Some(checkout) => {
                let folder = checkout.join(folder(language));
                ensure!(
                    folder.is_dir(),
                    "{} is no checkout of plimsoll: it has no directory {}",
                    checkout.display(),
                    self::folder(language)
                );
                let absolute = std::path::absolute(&folder);
                let absolute = absolute.with_context(|| format!("{} has no absolute path", folder.display()))?;
                check_path(&absolute)?;
                Source::Checkout(absolute)
            }
            None if language != Language::Rust => Source::Copied,
            None => own_checkout()?.map_or(Source::Repository, Source::Checkout),
        };
        Ok(Self { language, source })
    }

    /// The files to write into the folder of the SDK.
    pub(super) fn copied(&self) -> Files {
        match (&self.source, self.language) {
            (Source::Copied, Language::C) => C,
            (Source::Copied, Language::Go) => GO,
            (Source::Copied, Language::Python) => PYTHON,
            (Source::Copied, Language::Typescript) => TYPESCRIPT,
            (Source::Copied, Language::Assemblyscript) => ASSEMBLYSCRIPT,
            _ => &[],
        }
    }

    /// The copied files that are programs.
    pub(super) fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.copied().iter().map(|(path, _)| *path).filter(|path| path.starts_with("bin/"))
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

/// The Rust SDK of the checkout that this program lies in, as cargo leaves it.
///
/// Others may have written to a folder above the program, such as `/tmp`, so the SDK must belong to the user.
///
/// # Errors
/// If a Makefile cannot have its path.
fn own_checkout() -> Result<Option<PathBuf>> {
    let Ok(program) = env::current_exe() else { return Ok(None) };
    let sdk = program.ancestors().map(|above| above.join(folder(Language::Rust))).find(|sdk| is_own_sdk(sdk));
    sdk.as_deref().map_or(Ok(()), check_path)?;
    Ok(sdk)
}

/// Whether the folder, its parent and its manifest are there and belong to the user of this process.
fn is_own_sdk(sdk: &Path) -> bool {
    let parts = sdk.parent().into_iter().chain([sdk]).map(Path::to_owned).chain([sdk.join("Cargo.toml")]);
    parts.into_iter().all(|part| plimsoll_system::is_own(&part))
}

/// Refuses a path that a Makefile, a shell or another generated file could not have as it is.
fn check_path(path: &Path) -> Result<()> {
    let is_fit = |c: char| c.is_alphanumeric() || "/._-+@,".contains(c);
    ensure!(
        path.to_str().is_some_and(|path| path.chars().all(is_fit)),
        "{}: the path of the SDK is written into Makefiles: expected letters, digits and any of / . _ - + @ , alone",
        plimsoll_core::escaped(&path.to_string_lossy(), |_| false)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    #[test]
    fn the_sdks_within_the_program_are_complete() {
        let all = [
            (Language::C, C),
            (Language::Go, GO),
            (Language::Python, PYTHON),
            (Language::Typescript, TYPESCRIPT),
            (Language::Assemblyscript, ASSEMBLYSCRIPT),
        ];
        for (language, files) in all {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder(language));
            let listed: BTreeSet<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
            assert_eq!(listed, files_of(&root, &root), "{language:?}");
        }
    }

    #[test]
    fn a_path_that_make_or_a_shell_could_read_otherwise_is_refused() {
        for path in ["/home/me/plimsoll/plugin-sdk/c", "/srv/ci+cd/work@2/Müller,x/v1.0_a-b"] {
            assert!(check_path(Path::new(path)).is_ok(), "{path}");
        }
        let bad = [' ', '\t', '\n', '$', '#', '\'', '"', '\\', '`', '(', ';', '%', ':', '*', '\u{200b}'];
        for path in bad.map(|bad| format!("/home/a{bad}b")) {
            let error = check_path(Path::new(&path)).unwrap_err().to_string();
            assert!(error.ends_with("expected letters, digits and any of / . _ - + @ , alone"), "{error}");
            assert!(!error.contains(['\n', '\t']), "{error:?}");
        }
    }

    #[test]
    fn a_checkout_is_taken_unasked_only_from_its_owner() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder(Language::Rust));
        assert!(is_own_sdk(&own));
        assert!(!is_own_sdk(Path::new("/proc/1/no-such-sdk")));
    }

    /// The files of an SDK without those for its development, and those that a build made.
    fn files_of(root: &Path, folder: &Path) -> BTreeSet<String> {
        const FOLDERS: [&str; 7] = ["__pycache__", "build", "dist", "examples", "node_modules", "test", "tests"];
        const FILES: [&str; 2] = ["package-lock.json", "tsconfig.json"];
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let relative = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !FOLDERS.contains(&&*name) && !name.starts_with('.') && !name.ends_with(".egg-info") {
                files.append(&mut files_of(root, &path));
            } else if path.is_file() && !name.ends_with("_test.go") && !FILES.contains(&&*relative) {
                files.insert(relative);
            }
        }
        files
    }
}
