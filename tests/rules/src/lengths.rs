//! The lengths of product files, without their tests.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// The lines of each Rust file below a crate's `src`, except generated files and modules that only tests have.
///
/// # Errors
///
/// A folder or file that cannot be read.
pub fn product_lines(source: &Path) -> io::Result<BTreeMap<PathBuf, usize>> {
    let mut lines = BTreeMap::new();
    collect(source, &mut lines)?;
    Ok(lines)
}

fn collect(folder: &Path, lines: &mut BTreeMap<PathBuf, usize>) -> io::Result<()> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    for folder in folders {
        collect(&folder, lines)?;
    }
    let mut test_only = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        test_only.extend(test_modules(&text).map(|name| children_of(&file).join(name)));
        if file.file_name().is_none_or(|name| name != "generated.rs") {
            lines.insert(file, lines_without_tests(&text));
        }
    }
    // A file stands beside its modules, or they are in its folder: all of them are known by now.
    for module in test_only {
        lines.retain(|file, _| !file.starts_with(&module) && *file != module.with_extension("rs"));
    }
    Ok(())
}

/// The number of lines before `mod tests { … }`, which is the last item of a file.
#[must_use]
pub fn lines_without_tests(text: &str) -> usize {
    let end = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].lines().count()
}

/// The modules in files of their own that only tests have.
fn test_modules(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[cfg(test)]\n").skip(1).filter_map(|after| {
        let item = after.lines().next()?.strip_suffix(';')?;
        item.split_once("mod ").map(|(_, name)| name)
    })
}

/// The folder of a file's child modules.
fn children_of(file: &Path) -> PathBuf {
    let is_root = ["lib.rs", "main.rs", "mod.rs"].iter().any(|name| file.ends_with(name));
    if is_root { file.parent().unwrap_or(Path::new("")).to_owned() } else { file.with_extension("") }
}
