//! The AssemblyScript code that follows from the contract: a policy's imports, the methods of its views, and a table of the
//! imports, by which the host of a test passes values.

mod imports;
mod signatures;
mod syntax;
mod values;
mod views;

use crate::Contract;

/// Every file, with its path from the workspace.
pub(crate) fn files(contract: &Contract) -> Vec<(&'static str, anyhow::Result<String>)> {
    vec![
        ("plugin-sdk/assemblyscript/assembly/generated.ts", values::file(contract)),
        ("plugin-sdk/assemblyscript/assembly/generated-imports.ts", imports::file(contract)),
        ("plugin-sdk/assemblyscript/assembly/generated-views.ts", views::file(contract)),
        ("plugin-sdk/assemblyscript/testing/generated.mjs", signatures::file(contract)),
    ]
}
