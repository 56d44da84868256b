//! The directories in which the cases of a policy may be.

use std::path::{Path, PathBuf};

/// Where cases are searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct CasesRoot<'a> {
    pub(super) directory: &'a Path,
    /// Whether `--cases` names it.
    pub(super) is_named: bool,
}

// === impl CasesRoot ===

impl CasesRoot<'_> {
    /// The directories that may have cases of a policy; `is_only`: cases without a name are its own.
    pub(super) fn places(&self, policy: &str, is_only: bool) -> Vec<PathBuf> {
        let at = self.directory;
        let mut places = Vec::new();
        for name in spellings(policy) {
            places.extend([at.join(&name).join("cases"), at.join("cases").join(&name)]);
            if self.is_named && at.file_name().is_some_and(|folder| folder == "cases") {
                places.push(at.join(&name));
            }
        }
        if is_only {
            places.push(at.join("cases"));
            if self.is_named {
                places.push(at.to_owned());
            }
        }
        places
    }
}

/// Cargo writes the module of the package `a-b` as `a_b.wasm`.
fn spellings(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned(), name.replace('_', "-"), name.replace('-', "_")];
    all.dedup();
    all
}
