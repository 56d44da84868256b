//! `plimsoll new`: a folder with a policy that builds, is tested and runs at once; for CEL, one file with its cases.

mod cel;
mod sdk;
mod template;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};

use self::{cel::NewRule, sdk::Sdk, template::Template};
use crate::{
    args::{Language, NewArgs},
    output,
};

/// The longest name of a policy.
const MAX_NAME_BYTES: usize = 63;

pub(super) fn new(args: &NewArgs) -> Result<ExitCode> {
    let language = args.lang;
    ensure!(
        is_name(&args.name),
        "'{}' is no name for a new policy: expected a lower-case letter, then lower-case letters, digits and '-', at most \
         {MAX_NAME_BYTES}",
        plimsoll_core::escaped(&args.name, |_| false)
    );
    if language == Language::Cel {
        return new_rule(&NewRule::of(&args.name));
    }
    let folder = PathBuf::from(&args.name);
    ensure!(is_free(&folder)?, "{}: it exists and is not empty: choose another name", folder.display());
    let sdk = Sdk::of(language, &folder);
    let template = Template::of(language);
    for (path, text) in template.files(&args.name, &sdk) {
        write(&folder.join(path), &text)?;
    }
    for (path, text) in sdk.copied {
        write(&folder.join(sdk::FOLDER).join(path), text)?;
    }
    if language == Language::Rust {
        make_executable(&folder.join(template::BUILD_WASM))?;
    }
    for program in sdk.programs() {
        make_executable(&folder.join(sdk::FOLDER).join(program))?;
    }
    output::print(&report(&args.name, &sdk, template))?;
    Ok(ExitCode::SUCCESS)
}

fn new_rule(rule: &NewRule) -> Result<ExitCode> {
    for path in &rule.paths {
        ensure!(!Path::new(path).exists(), "{path}: it exists: choose another name");
    }
    for (path, text) in &rule.files {
        write(Path::new(path), text)?;
    }
    output::print(&rule.report())?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the name is one for a policy, a crate, a Go module and a folder.
fn is_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(is_fit)
}

/// Whether nothing is in the way of a new folder.
fn is_free(folder: &Path) -> Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).with_context(|| format!("{} cannot be used", folder.display())),
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    let parent = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(file, text))
        .with_context(|| format!("{} cannot be written", file.display()))
}

fn make_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("{} cannot be made executable", file.display()))
}

/// The files that were written, and the next commands.
fn report(name: &str, sdk: &Sdk, template: &Template) -> String {
    let Template { language, source, tests, .. } = template;
    let files = if source == tests { (*source).to_owned() } else { format!("{source}, tests in {tests}") };
    let note = &sdk.note;
    format!(
        "{name}/ has a policy in {language}: {files}; README.md says what the other files are.
{note}

  cd {name}
  make        # builds the module and checks it
  make test   # runs the tests and the cases
  make deploy # copies the module and its sidecar to policies/
  plimsoll run --policies policies --pod pods/needs-gpu.yaml --sample   # asks it about a sample cluster
  make dev    # on every save: builds, checks, tests and deploys to policies/
  plimsoll serve --policies policies --kubeconfig ~/.kube/config --no-bind --no-wake --no-nominate   # answers for a cluster, only reads
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_for_every_language() {
        for name in ["a", "needs-label", "v2"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "2a", "Needs", "a_b", "a/b", "..", "é", &"a".repeat(64)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
