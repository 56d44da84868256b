//! The reads as an interface, which the world of a native test implements.

use std::fmt::Write;

use super::syntax::{method, parameters, result};
use crate::Contract;

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = "//go:build !wasip1\n\npackage plimsoll\n\n\
                    // hostReads answers each read of the contract in a native test; package plimsolltest has one.\n\
                    type hostReads interface {\n"
        .to_owned();
    for interface in &contract.interfaces {
        for function in interface.reads() {
            let (name, parameters) = (method(interface, function), parameters(&function.params)?);
            writeln!(text, "\t// {name} is `{}.{}` of the contract.", interface.name, function.name)?;
            writeln!(text, "\t{name}({parameters}) {}", result(function)?)?;
        }
    }
    Ok(text + "}\n")
}
