//! `host/wasm`: the imports of a guest, each one a `Read`.

use std::fmt::Write;

use super::{
    shape::Shape,
    syntax::{argument_type, camel, snake},
    variant::constructor,
};
use crate::{Contract, Function, Interface, Param, Type};

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let Contract { package, version, interfaces, .. } = contract;
    let mut text = format!(
        "//! `{package}@{version}`: each function that a guest imports to learn something is one `Read`.\n\n\
         use plimsoll_core::{{{}}};\n\
         use wasmtime::{{Result, component::{{Linker, LinkerInstance, WasmStr}}}};\n\n\
         use super::lower::{{{}}};\nuse crate::store::StoreData;\n\n",
        enums(interfaces),
        helpers(interfaces)?,
    );
    let names: Vec<String> = interfaces.iter().map(|interface| format!("{:?}", interface.name)).collect();
    writeln!(text, "/// The interfaces that a policy may import.")?;
    writeln!(text, "pub(crate) const INTERFACES: [&str; {}] = [{}];\n", names.len(), names.join(", "))?;
    writeln!(text, "/// Adds every read to the linker.")?;
    writeln!(text, "pub(super) fn add_reads(linker: &mut Linker<StoreData>) -> Result<()> {{")?;
    for Interface { name, .. } in interfaces {
        writeln!(text, "{}(&mut linker.instance(\"{package}/{name}@{version}\")?)?;", snake(name))?;
    }
    writeln!(text, "Ok(())\n}}\n")?;
    for interface in interfaces {
        let name = snake(&interface.name);
        writeln!(text, "fn {name}({name}: &mut LinkerInstance<'_, StoreData>) -> Result<()> {{")?;
        for function in interface.reads() {
            text += &import(interface, function, &name)?;
        }
        writeln!(text, "Ok(())\n}}\n")?;
    }
    Ok(text)
}

fn import(interface: &Interface, function: &Function, instance: &str) -> anyhow::Result<String> {
    let Function { name, params, .. } = function;
    let list = |each: fn(&Param) -> anyhow::Result<String>| {
        let all: Vec<String> = params.iter().map(each).collect::<anyhow::Result<_>>()?;
        anyhow::Ok(if all.len() == 1 { format!("({},)", all[0]) } else { format!("({})", all.join(", ")) })
    };
    let ty = |param: &Param| {
        Ok(match &param.ty {
            Type::Text => "WasmStr".to_owned(),
            Type::Record(name) => camel(name) + "Param",
            number => argument_type(number)?.to_owned(),
        })
    };
    let arguments = match params.len() {
        0 => "()".to_owned(),
        _ => format!("{}: {}", list(|param| Ok(snake(&param.name)))?, list(ty)?),
    };
    let lifted = |Param { name, ty, .. }: &Param| {
        let helper = match ty {
            Type::Text => "utf8",
            Type::Record(_) => "lifted",
            _ => return None,
        };
        let name = snake(name);
        Some(format!("let {name} = {helper}(&store, &{name})?;\n"))
    };
    let lifted: String = params.iter().filter_map(lifted).collect();
    let shape = Shape::of(function)?;
    let helper = match &shape {
        Shape::Number(number) | Shape::OptionalNumber(number) => format!("{}::<{number}>", shape.helper()),
        _ => shape.helper(),
    };
    let read = constructor(interface, function, "&", ".borrowed()")?;
    Ok(format!("{instance}.func_wrap({name:?}, |store, {arguments}| {{ {lifted} {helper}(&store, {read}) }})?;\n"))
}

/// `Read` and the enums of the reads of one thing.
pub(super) fn enums(interfaces: &[Interface]) -> String {
    let ones = interfaces.iter().filter_map(|interface| interface.one.as_deref());
    ones.map(super::variant::reads_name).chain(["Read".to_owned()]).collect::<Vec<_>>().join(", ")
}

fn helpers(interfaces: &[Interface]) -> anyhow::Result<String> {
    let functions = interfaces.iter().flat_map(Interface::reads);
    let mut helpers: Vec<String> =
        functions.map(|function| Ok(Shape::of(function)?.helper())).collect::<anyhow::Result<_>>()?;
    let by_hand = ["SelectorParam", "lifted", "utf8"];
    helpers.extend(by_hand.map(str::to_owned));
    helpers.sort();
    helpers.dedup();
    Ok(helpers.join(", "))
}
