//! The Rust SDK in native tests: the methods of `abi` over core's `View`.

use std::fmt::Write;

use super::{
    abi::is_by_hand,
    shape::Shape,
    syntax::{method, parameters},
    variant::constructor,
    wasm::enums,
};
use crate::Contract;

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = format!(
        "//! Each function of the contract as a method that core's own `View` answers.\n\n\
         use plimsoll_core::{{{}}};\n\nuse super::HostCalls;\nuse crate::values::{{Groups, LabelCount, Owner, Selector, Taint}};\n\n",
        enums(&contract.interfaces)
    );
    writeln!(text, "impl<'a> HostCalls<'a> {{")?;
    for interface in &contract.interfaces {
        for function in interface.reads().filter(|function| !is_by_hand(interface, function)) {
            let (name, shape) = (method(interface, function), Shape::of(function)?);
            let (parameters, read) = (parameters(function)?, constructor(interface, function, "", ".into()")?);
            writeln!(text, "pub(crate) fn {name}(self{parameters}) -> {} {{", shape.rust())?;
            writeln!(text, "self.{}({read})\n}}\n", shape.helper())?;
        }
    }
    Ok(text + "}\n")
}
