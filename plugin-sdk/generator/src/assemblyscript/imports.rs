//! The functions of the contract: each import, and a function around it with the types of AssemblyScript.

use std::fmt::Write;

use anyhow::ensure;

use super::{
    syntax::{as_type, function_name, is_number, named_types, parameters},
    values::{lift_functions, lifted, lowered},
};
use crate::{
    Contract, Function, Interface, Type,
    layout::{Layout, is_spilled},
    typescript::syntax::{camel, pascal},
};

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let functions = || contract.interfaces.iter().flat_map(|interface| &interface.functions);
    let results = || functions().filter_map(|function| function.result.as_ref());
    let params = || functions().flat_map(|function| &function.params).map(|param| &param.ty);
    let mut imported = named_types(results().chain(params()));
    imported.extend(lift_functions(results()));
    imported.extend(params().filter_map(lower_function));
    let imported: Vec<String> = imported.into_iter().collect();
    let mut text = format!(
        "import {{ {} }} from \"./generated\";\nimport {{ lowerText, liftText, mark, release, take }} from \"./memory\";\n\
         import {{ Some }} from \"./some\";\n\n",
        imported.join(", ")
    );
    for interface in &contract.interfaces {
        writeln!(text, "// ---- {} ----\n", interface.name)?;
        for function in &interface.functions {
            text += &declaration(contract, interface, function)?;
            text += &definition(contract, interface, function)?;
        }
    }
    Ok(text)
}

/// The function that writes a record for the host.
fn lower_function(ty: &Type) -> Option<String> {
    if let Type::Record(name) = ty { Some(format!("lower{}", pascal(name))) } else { None }
}

/// The name of the import behind a function.
fn import_name(interface: &Interface, function: &Function) -> String {
    format!("import{}{}", pascal(&interface.name), pascal(&function.name))
}

/// The result, if the import returns it by itself.
fn direct(function: &Function) -> Option<&Type> {
    function.result.as_ref().filter(|ty| is_number(ty))
}

fn declaration(contract: &Contract, interface: &Interface, function: &Function) -> anyhow::Result<String> {
    let mut parameters = vec![];
    if is_spilled(function, contract)? {
        parameters.push("params: usize".to_owned());
    } else {
        for param in &function.params {
            let own = camel(&param.name);
            match &param.ty {
                Type::Text => parameters.extend([format!("{own}: usize"), format!("{own}Length: usize")]),
                number => {
                    ensure!(is_number(number), "the generator has no rule for a flat {number:?} in AssemblyScript");
                    parameters.push(format!("{own}: {}", as_type(number)));
                }
            }
        }
    }
    if function.result.is_some() && direct(function).is_none() {
        parameters.push("result: usize".to_owned());
    }
    let returned = direct(function).map_or_else(|| "void".to_owned(), as_type);
    Ok(format!(
        "// @ts-ignore: decorator\n@external(\"{}/{}@{}\", \"{}\")\ndeclare function {}({}): {returned};\n\n",
        contract.package,
        interface.name,
        contract.version,
        function.name,
        import_name(interface, function),
        parameters.join(", ")
    ))
}

fn definition(contract: &Contract, interface: &Interface, function: &Function) -> anyhow::Result<String> {
    let returned = function.result.as_ref().map_or_else(|| "void".to_owned(), as_type);
    let mut text = format!(
        "export function {}({}): {returned} {{\n",
        function_name(interface, function),
        parameters(&function.params)
    );
    let (before, mut arguments) = lowered_arguments(contract, function)?;
    let is_in_memory = function.result.is_some() && direct(function).is_none();
    let has_memory = is_in_memory || !before.is_empty();
    if has_memory {
        text += "  const start = mark();\n";
    }
    text += &before;
    if let (true, Some(result)) = (is_in_memory, &function.result) {
        writeln!(text, "  const result = take({});", Layout::of(result, contract)?.size)?;
        arguments.push("result".to_owned());
    }
    let call = format!("{}({})", import_name(interface, function), arguments.join(", "));
    match &function.result {
        Some(result) if is_in_memory => {
            let value = lifted(result, "result", contract)?;
            writeln!(text, "  {call};\n  const answer: {returned} = {value};\n  release(start);\n  return answer;")?;
        }
        Some(_) if has_memory => writeln!(text, "  const answer = {call};\n  release(start);\n  return answer;")?,
        Some(_) => writeln!(text, "  return {call};")?,
        None if has_memory => writeln!(text, "  {call};\n  release(start);")?,
        None => writeln!(text, "  {call};")?,
    }
    Ok(text + "}\n\n")
}

/// The statements that write texts and records for the host, and the arguments of the import.
fn lowered_arguments(contract: &Contract, function: &Function) -> anyhow::Result<(String, Vec<String>)> {
    let (mut text, mut arguments) = (String::new(), vec![]);
    if is_spilled(function, contract)? {
        let (layout, offsets) = Layout::of_fields(&function.params, contract)?;
        writeln!(text, "  const params = take({});", layout.size)?;
        for (param, offset) in function.params.iter().zip(offsets) {
            let at = if offset == 0 { "params".to_owned() } else { format!("params + {offset}") };
            text += &lowered(&param.ty, &at, &camel(&param.name), contract, "  ")?;
        }
        arguments.push("params".to_owned());
        return Ok((text, arguments));
    }
    for param in &function.params {
        let own = camel(&param.name);
        if param.ty == Type::Text {
            writeln!(text, "  const {own}Text = lowerText({own});")?;
            arguments.extend([format!("load<usize>({own}Text)"), format!("load<usize>({own}Text + 4)")]);
        } else {
            arguments.push(own);
        }
    }
    Ok((text, arguments))
}
