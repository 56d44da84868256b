//! Writes the code that follows from the contract: `make generate`.
//!
//! ```text
//!  policy.wit + reads.yaml ──> Contract ──> rust::core    the type `Read` and its attributes
//!                                      ├──> rust::wasm    the imports of a guest, each one a `Read`
//!                                      ├──> rust::abi     the SDK's imports, in WebAssembly
//!                                      ├──> rust::native  the same methods over core's `View`, in native tests
//!                                      ├──> rust::views   the SDK's public methods
//!                                      ├──> c             the C SDK's types and reads
//!                                      ├──> go            the Go SDK's imports and public methods, and its test host
//!                                      ├──> typescript    the TypeScript SDK's imports and public methods
//!                                      ├──> assemblyscript  the same of the AssemblyScript SDK, and the types for its test host
//!                                      ├──> python        the Python SDK's functions as protocols, and its public methods
//!                                      └──> page          docs/contract.md, and the contract in the Python and npm packages
//! ```
//!
//! The results are checked in; those in Rust are files named `generated.rs`, those in Go, TypeScript and AssemblyScript begin
//! with `generated`, the one in C is `plimsoll_generated.h`, and the one in Python `_generated.py`. The SDK of another
//! language gets a module beside `rust`, `go`, `typescript`, `c` and `python`, which starts from the same [`Contract`].

mod assemblyscript;
mod c;
mod contract;
mod docs;
mod go;
mod layout;
mod page;
mod python;
mod rust;
mod typescript;

use std::{fs, path::Path};

use anyhow::Context;

pub use self::contract::{Cached, Contract, Cost, Function, Interface, Param, Record, Type};

/// The folder of the contract, from the workspace.
const CONTRACT: &str = "plugin-sdk/wit/v0.1.0";

/// One generated file.
#[derive(Debug)]
pub struct GeneratedFile {
    /// Its path, from the workspace.
    pub path: &'static str,
    /// Its text.
    pub text: String,
}

/// Generates every file.
///
/// # Errors
/// If the contract cannot be read, has something that no rule covers, or rustfmt cannot be run.
pub fn generate(workspace: &Path) -> anyhow::Result<Vec<GeneratedFile>> {
    let folder = workspace.join(CONTRACT);
    let contract = Contract::read(&folder)?;
    let file = |(path, text): (&'static str, anyhow::Result<String>)| {
        let text = text.and_then(|text| rust::formatted(&text, workspace)).with_context(|| path.to_owned())?;
        Ok(GeneratedFile { path, text })
    };
    let mut files: Vec<GeneratedFile> = rust::files(&contract).into_iter().map(file).collect::<anyhow::Result<_>>()?;
    for (path, text) in go::files(&contract) {
        files.push(GeneratedFile { path, text: go::with_header(&text.context(path)?) });
    }
    for (path, text) in typescript::files(&contract) {
        files.push(GeneratedFile { path, text: typescript::with_header(&text.context(path)?) });
    }
    for (path, text) in assemblyscript::files(&contract) {
        files.push(GeneratedFile { path, text: typescript::with_header(&text.context(path)?) });
    }
    files.push(GeneratedFile { path: c::PATH, text: c::file(&contract).context(c::PATH)? });
    files.push(GeneratedFile { path: python::PATH, text: python::file(&contract).context(python::PATH)? });
    let wit = fs::read_to_string(folder.join("policy.wit")).context("policy.wit")?;
    files.push(GeneratedFile { path: "docs/contract.md", text: page::text(&contract, &wit)? });
    // A package holds all that it needs to build a module.
    for path in ["plugin-sdk/python/plimsoll/policy.wit", "plugin-sdk/typescript/policy.wit"] {
        files.push(GeneratedFile { path, text: wit.clone() });
    }
    Ok(files)
}

/// The generated files that differ from those in the workspace.
///
/// # Errors
/// As for [`generate`].
pub fn stale(workspace: &Path) -> anyhow::Result<Vec<GeneratedFile>> {
    let differs = |file: &GeneratedFile| {
        fs::read_to_string(workspace.join(file.path)).map_or(true, |checked_in| checked_in != file.text)
    };
    Ok(generate(workspace)?.into_iter().filter(differs).collect())
}
