//! The imports of a module: what it may read, and what it gets of WASI.

use plimsoll_wasm::{CONTRACT, Inspection, WasiImport};
use serde_json::{Value, json};

/// Maximum functions of the contract that are listed by name. An SDK whose linker drops nothing imports all of them,
/// which says nothing about the policy.
const LISTED: usize = 16;

/// The functions of the contract, in one line.
pub(super) fn of_contract(inspection: &Inspection) -> String {
    let imports = &inspection.imports;
    if imports.len() <= LISTED {
        return if imports.is_empty() { "none".to_owned() } else { imports.join(", ") };
    }
    let mut interfaces: Vec<&str> = imports.iter().filter_map(|name| name.split('.').next()).collect();
    interfaces.dedup();
    format!("{} functions of {CONTRACT} ({}); --output json lists them", imports.len(), interfaces.join(", "))
}

/// The interfaces of WASI, one line for each thing that they get.
pub(super) fn of_wasi(inspection: &Inspection) -> Vec<String> {
    let mut lines: Vec<(&str, Vec<&str>)> = vec![];
    for import in &inspection.wasi {
        match lines.iter_mut().find(|(gets, _)| *gets == import.gets) {
            Some((_, interfaces)) => interfaces.push(import.interface()),
            None => lines.push((import.gets, vec![import.interface()])),
        }
    }
    lines.into_iter().map(|(gets, interfaces)| format!("{}: {gets}", interfaces.join(", "))).collect()
}

pub(super) fn as_json(inspection: &Inspection) -> Value {
    inspection.wasi.iter().map(|WasiImport { name, gets }| json!({"interface": name, "gets": gets})).collect()
}
