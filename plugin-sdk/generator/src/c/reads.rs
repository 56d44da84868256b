//! The functions of the contract: their prototypes, and in WebAssembly the imports behind them.

use std::fmt::Write;

use anyhow::ensure;

use super::syntax::{c_type, comment, declared, flat_type, function_name, local};
use crate::{
    Contract, Function, Interface, Param, Type,
    docs::{Words, of_methods},
    layout::is_spilled,
};

/// The words of comments.
const WORDS: Words = Words {
    or_absent: "false",
    is_absent: "has no value",
    name: |interface, function, _| function_name(interface, function),
    width: 117,
};

/// The prototypes, with the comments of the contract.
pub(super) fn declarations(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    for interface in &contract.interfaces {
        let docs = comment(&interface.docs, "");
        writeln!(text, "// ---- {} ----\n{}{docs}", interface.name, if docs.is_empty() { "" } else { "//\n" })?;
        for function in &interface.functions {
            let docs = of_methods(contract, interface, &function.docs, &WORDS);
            writeln!(text, "{}{};\n", comment(&docs, ""), prototype(interface, function))?;
        }
    }
    Ok(text)
}

/// The imports, and the functions by them.
pub(super) fn definitions(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    for interface in &contract.interfaces {
        for function in &interface.functions {
            text += &definition(interface, function, contract)?;
        }
    }
    Ok(text)
}

/// An optional result is a parameter, and the function returns whether there is one.
fn prototype(interface: &Interface, function: &Function) -> String {
    let parameter = |param: &Param| declared(&c_type(&param.ty), &local(&param.name));
    let mut parameters: Vec<String> = function.params.iter().map(parameter).collect();
    let result = match &function.result {
        Some(Type::Option(some)) => {
            parameters.push(format!("{} *out", c_type(some)));
            "bool".to_owned()
        }
        Some(other) => c_type(other),
        None => "void".to_owned(),
    };
    if parameters.is_empty() {
        parameters.push("void".to_owned());
    }
    format!(
        "PLIMSOLL_READ {}",
        declared(&result, &format!("{}({})", function_name(interface, function), parameters.join(", ")))
    )
}

fn definition(interface: &Interface, function: &Function, contract: &Contract) -> anyhow::Result<String> {
    let name = function_name(interface, function);
    let import = name.replacen("plimsoll_", "plimsoll_import_", 1);
    let mut text = String::new();
    let (mut parameters, mut arguments, mut body) = (vec![], vec![], String::new());
    if is_spilled(function, contract)? {
        let ty = name.replacen("plimsoll_", "plimsoll_params_", 1);
        text += "typedef struct {\n";
        writeln!(body, "  {ty} params;")?;
        for Param { name, ty, .. } in &function.params {
            writeln!(text, "  {};", declared(&c_type(ty), &local(name)))?;
            writeln!(body, "  params.{0} = {0};", local(name))?;
        }
        writeln!(text, "}} {ty};\n")?;
        parameters.push(format!("const {ty} *params"));
        arguments.push("&params".to_owned());
    } else {
        for Param { name, ty, .. } in &function.params {
            let own = local(name);
            if *ty == Type::Text {
                parameters.extend([format!("const char *{own}"), format!("size_t {own}_len")]);
                arguments.extend([format!("{own}.data"), format!("{own}.len")]);
            } else {
                parameters.push(declared(&flat_type(ty)?, &own));
                arguments.push(own);
            }
        }
    }
    let direct = function.result.as_ref().and_then(|ty| flat_type(ty).ok());
    let result = direct.clone().unwrap_or_else(|| "void".to_owned());
    match &function.result {
        Some(ty) if direct.is_none() => {
            parameters.push(format!("{} *out", c_type(ty)));
            arguments.push("&own".to_owned());
            writeln!(body, "  {} own = PLIMSOLL_ZERO;", c_type(ty))?;
            writeln!(body, "  {import}({});", arguments.join(", "))?;
            body += if matches!(ty, Type::Option(_)) {
                "  *out = own.value;\n  return own.present;\n"
            } else {
                "  return own;\n"
            };
        }
        Some(_) => {
            ensure!(body.is_empty(), "{name}: no rule for a number from parameters in memory");
            writeln!(body, "  return {import}({});", arguments.join(", "))?;
        }
        None => writeln!(body, "  {import}({});", arguments.join(", "))?,
    }
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    writeln!(text, "PLIMSOLL_IMPORT(\"{}\", \"{}\")", interface.name, function.name)?;
    writeln!(text, "{};\n", declared(&result, &format!("{import}({parameters})")))?;
    writeln!(text, "{} {{\n{body}}}\n", prototype(interface, function))?;
    Ok(text)
}
