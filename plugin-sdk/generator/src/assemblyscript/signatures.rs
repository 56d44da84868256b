//! The types of the imports as data, by which the host of a test reads parameters from memory and writes results there.

use std::fmt::Write;

use crate::{Contract, Type, typescript::syntax::camel};

/// `functions` has the types of parameters and result by module and name, `records` the fields of each record.
pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let Contract { package, version, .. } = contract;
    let mut text = format!(
        "/** The package of the contract, and its version. */\nexport const PACKAGE = \"{package}\";\n\
         export const VERSION = \"{version}\";\n\n\
         /** The cases of each enum. */\nexport const enums = {{\n"
    );
    for (name, cases) in &contract.enums {
        let cases: Vec<String> = cases.iter().map(|case| format!("\"{case}\"")).collect();
        writeln!(text, "  \"{name}\": [{}],", cases.join(", "))?;
    }
    text += "};\n\n/** The fields of each record, in their order: name and type. */\nexport const records = {\n";
    for record in &contract.records {
        let fields: Vec<String> =
            record.fields.iter().map(|field| format!("[\"{}\", {}]", camel(&field.name), shown(&field.ty))).collect();
        writeln!(text, "  \"{}\": [{}],", record.name, fields.join(", "))?;
    }
    text += "};\n\n/** The types of the parameters and of the result of each function, by interface. */\nexport const functions = {\n";
    for interface in &contract.interfaces {
        writeln!(text, "  {}: {{", interface.name)?;
        for function in &interface.functions {
            let params: Vec<String> = function.params.iter().map(|param| shown(&param.ty)).collect();
            let result = function.result.as_ref().map_or_else(|| "null".to_owned(), shown);
            writeln!(text, "    \"{}\": [[{}], {result}],", function.name, params.join(", "))?;
        }
        text += "  },\n";
    }
    Ok(text + "};\n")
}

/// A type as a value of JavaScript: a name, or the kind of a type with the type within it.
fn shown(ty: &Type) -> String {
    match ty {
        Type::Text => "\"string\"".to_owned(),
        Type::Bool => "\"bool\"".to_owned(),
        Type::U32 => "\"u32\"".to_owned(),
        Type::U64 => "\"u64\"".to_owned(),
        Type::S32 => "\"s32\"".to_owned(),
        Type::S64 => "\"s64\"".to_owned(),
        Type::F64 => "\"f64\"".to_owned(),
        Type::Option(inner) => format!("[\"option\", {}]", shown(inner)),
        Type::List(inner) => format!("[\"list\", {}]", shown(inner)),
        Type::Record(name) => format!("[\"record\", \"{name}\"]"),
        Type::Enum(name) => format!("[\"enum\", \"{name}\"]"),
    }
}
