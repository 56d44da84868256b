//! The imports of a policy in Go, and a method for each read: for WebAssembly alone.

use std::fmt::Write;

use anyhow::{Context, ensure};

use super::{
    lift::{lifted, moved},
    records,
    syntax::{go_type, import, local, method, parameters, result},
};
use crate::{
    Contract, Function, Interface, Param, Type,
    layout::{Layout, is_spilled},
};

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = "package plimsoll\n\n\
                    import (\n\t\"unsafe\"\n\n\
                    \t\"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/abi\"\n)\n\n"
        .to_owned();
    let Contract { package, version, .. } = contract;
    for interface in &contract.interfaces {
        for function in &interface.functions {
            let (name, import) = (&function.name, import(interface, function));
            let signature = signature(function, contract)?;
            writeln!(text, "//go:wasmimport {package}/{}@{version} {name}", interface.name)?;
            writeln!(text, "func {import}{signature}\n")?;
        }
    }
    for interface in &contract.interfaces {
        for function in interface.reads() {
            text += &host_method(interface, function, contract)?;
        }
    }
    Ok(text + &records::functions(contract)?)
}

/// The flattened parameters and result of an import.
fn signature(function: &Function, contract: &Contract) -> anyhow::Result<String> {
    let mut parameters: Vec<String> = vec![];
    if is_spilled(function, contract)? {
        parameters.push("params unsafe.Pointer".to_owned());
    } else {
        for Param { name, ty, .. } in &function.params {
            ensure!(!matches!(ty, Type::Option(_) | Type::List(_) | Type::Record(_)), "no rule for a flat {ty:?}");
            parameters.push(format!("{} {}", local(name), go_type(ty)?));
        }
    }
    let direct = function.result.as_ref().and_then(direct_type);
    if function.result.is_some() && direct.is_none() {
        parameters.push("out unsafe.Pointer".to_owned());
    }
    let result = direct.map_or_else(String::new, |number| format!(" {number}"));
    Ok(format!("({}){result}", parameters.join(", ")))
}

fn host_method(interface: &Interface, function: &Function, contract: &Contract) -> anyhow::Result<String> {
    let head = format!(
        "func (hostCalls) {}({}) {} {{\n",
        method(interface, function),
        parameters(&function.params)?,
        result(function)?
    );
    let ty = function.result.as_ref().context("a read has a result")?;
    let mut arguments: Vec<String> = function.params.iter().map(|param| local(&param.name)).collect();
    let import = import(interface, function);
    let is_spilled = is_spilled(function, contract)?;
    if direct_type(ty).is_some() && !is_spilled {
        let call = format!("{import}({})", arguments.join(", "));
        let call = if *ty == Type::Bool { format!("{call} != 0") } else { call };
        return Ok(format!("{head}\treturn {call}\n}}\n\n"));
    }
    ensure!(direct_type(ty).is_none(), "{}: no rule for a number from parameters in memory", function.name);
    let mut body = format!("\tout := abi.Begin({})\n", Layout::of(ty, contract)?.size);
    if is_spilled {
        let (layout, offsets) = Layout::of_fields(&function.params, contract)?;
        writeln!(body, "\tparams := abi.Take({})", layout.size)?;
        for (param, offset) in function.params.iter().zip(offsets) {
            let put = records::put_call(&param.ty, &moved("params", offset), &local(&param.name))?;
            writeln!(body, "\t{put}")?;
        }
        arguments = vec!["params".to_owned()];
    }
    arguments.push("out".to_owned());
    let result = if matches!(ty, Type::Option(_)) { "result, ok" } else { "result" };
    writeln!(body, "\t{import}({})", arguments.join(", "))?;
    writeln!(body, "\t{result} := {}", lifted(ty, "out", contract)?)?;
    writeln!(body, "\tabi.End()\n\treturn {result}")?;
    Ok(format!("{head}{body}}}\n\n"))
}

/// The type of a result that is returned itself and not through a pointer.
fn direct_type(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Bool | Type::U32 => Some("uint32"),
        Type::U64 => Some("uint64"),
        Type::S32 => Some("int32"),
        Type::S64 => Some("int64"),
        _ => None,
    }
}
