//! The folder of a policy's source, given in place of a directory of policies.

use std::path::Path;

/// Files that say how something is built.
const BUILD_FILES: [&str; 4] = ["Makefile", "Cargo.toml", "go.mod", "package.json"];

/// The folder to which `make deploy` copies the module and its sidecar.
const DEPLOYED: &str = "policies";

/// Why a directory is the source of a policy, and what to give instead; none if it is not.
///
/// All its sub-directories would be groups, and each YAML file in them a sidecar: an error for each hides the mistake.
pub(super) fn mistaken(directory: &Path) -> Option<String> {
    let build_file = BUILD_FILES.into_iter().find(|name| directory.join(name).is_file())?;
    if !directory.join("cases").is_dir() || has_module(directory) {
        return None;
    }
    let (shown, deployed) = (directory.display(), directory.join(DEPLOYED));
    let first = if has_module(&deployed) { "" } else { "run `make deploy` there, then " };
    Some(format!(
        "{shown} is the folder of a policy's source, with {build_file} and cases, but no .wasm: {first}give {}",
        deployed.display()
    ))
}

fn has_module(directory: &Path) -> bool {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|ending| ending == "wasm"))
}
