//! The types of the contract, and its functions as a component imports them.

use std::fmt::Write;

use super::syntax::{camel, comment, imports_of, parameters, pascal, result, ts_type};
use crate::{Contract, Function, Interface, Record, Type};

/// The records, the functions of each interface, and all of them as one type.
pub(super) fn types(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, cases) in &contract.enums {
        let cases: Vec<String> = cases.iter().map(|case| format!("\"{case}\"")).collect();
        writeln!(text, "export type {} = {};\n", pascal(name), cases.join(" | "))?;
    }
    for record in &contract.records {
        text += &record_type(record)?;
    }
    for interface in &contract.interfaces {
        text += &interface_type(interface)?;
    }
    text += "/** All imports of a policy. In a component the host answers them, in a test a world. */\nexport interface Imports {\n";
    for interface in &contract.interfaces {
        writeln!(text, "  readonly {}: {};", interface.name, imports_of(interface))?;
    }
    Ok(text + "}\n")
}

fn record_type(record: &Record) -> anyhow::Result<String> {
    let mut text = comment(&record.docs, "");
    writeln!(text, "export interface {} {{", pascal(&record.name))?;
    for field in &record.fields {
        text += &comment(&field.docs, "  ");
        match &field.ty {
            Type::Option(some) => {
                writeln!(text, "  readonly {}?: {} | undefined;", camel(&field.name), ts_type(some)?)?;
            }
            other => writeln!(text, "  readonly {}: {};", camel(&field.name), ts_type(other)?)?,
        }
    }
    Ok(text + "}\n\n")
}

fn interface_type(interface: &Interface) -> anyhow::Result<String> {
    let mut text = comment(&interface.docs, "");
    writeln!(text, "export interface {} {{", imports_of(interface))?;
    for function in &interface.functions {
        text += &comment(&function.docs, "  ");
        writeln!(text, "  {}({}): {};", camel(&function.name), parameters(&function.params)?, returned(function)?)?;
    }
    Ok(text + "}\n\n")
}

/// The result as componentize-qjs passes it: `null` for none.
fn returned(function: &Function) -> anyhow::Result<String> {
    if function.result.is_none() {
        return Ok("void".to_owned());
    }
    let (ty, is_optional) = result(function)?;
    Ok(if is_optional { format!("{ty} | null") } else { ty })
}

/// The imports of a component, as one value.
pub(super) fn host(contract: &Contract) -> String {
    let module =
        |interface: &Interface| format!("import {0} from \"{1}\";\n", interface.name, module_name(contract, interface));
    let modules: String = contract.interfaces.iter().map(module).collect();
    let names: Vec<&str> = contract.interfaces.iter().map(|interface| interface.name.as_str()).collect();
    format!(
        "{modules}import type {{ Imports }} from \"./generated.js\";\n\n\
         /** The host's functions. They exist within a component only. */\n\
         export const imports: Imports = {{ {} }};\n",
        names.join(", ")
    )
}

/// The declarations of the modules that exist within a component only.
pub(super) fn modules(contract: &Contract) -> String {
    let module = |interface: &Interface| {
        format!(
            "declare module \"{}\" {{\n  const functions: import(\"./generated.js\").{};\n  export default functions;\n}}\n",
            module_name(contract, interface),
            imports_of(interface)
        )
    };
    contract.interfaces.iter().map(module).collect::<Vec<_>>().join("\n")
}

/// `plimsoll:policy/nodes@0.1.0`
fn module_name(contract: &Contract, interface: &Interface) -> String {
    format!("{}/{}@{}", contract.package, interface.name, contract.version)
}
