//! Names, types and comments as C writes them.

use anyhow::bail;

use crate::{Function, Interface, Type};

/// Names that the contract has and C++ reserves.
const RESERVED: [&str; 1] = ["namespace"];

/// `image-size` as `image_size`; a name that C++ reserves gets an underscore at its end.
pub(super) fn local(name: &str) -> String {
    let own = name.replace('-', "_");
    if RESERVED.contains(&name) { own + "_" } else { own }
}

/// The function for a read: `plimsoll_nodes_image_size`.
pub(super) fn function_name(interface: &Interface, function: &Function) -> String {
    format!("plimsoll_{}_{}", interface.name, function.name).replace('-', "_")
}

/// A type in C.
pub(super) fn c_type(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::U32 => "uint32_t".to_owned(),
        Type::U64 => "uint64_t".to_owned(),
        Type::S32 => "int32_t".to_owned(),
        Type::S64 => "int64_t".to_owned(),
        Type::F64 => "double".to_owned(),
        other => format!("plimsoll_{}", tag(other)),
    }
}

/// The name of a type as part of another name: `option_list_u32`.
pub(super) fn tag(ty: &Type) -> String {
    match ty {
        Type::Text => "str".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::U32 => "u32".to_owned(),
        Type::U64 => "u64".to_owned(),
        Type::S32 => "s32".to_owned(),
        Type::S64 => "s64".to_owned(),
        Type::F64 => "f64".to_owned(),
        Type::Record(name) | Type::Enum(name) => name.replace('-', "_"),
        Type::Option(some) => format!("option_{}", tag(some)),
        Type::List(item) => format!("list_{}", tag(item)),
    }
}

/// A declaration: `uint32_t node`, or a pointer `uint32_t *node`.
pub(super) fn declared(ty: &str, name: &str) -> String {
    if ty.ends_with('*') { format!("{ty}{name}") } else { format!("{ty} {name}") }
}

/// A text of the contract as a comment.
pub(super) fn comment(text: &str, indent: &str) -> String {
    text.lines().map(|line| format!("{indent}// {line}").trim_end().to_owned() + "\n").collect()
}

/// The type of a value that an import takes or returns by itself.
pub(super) fn flat_type(ty: &Type) -> anyhow::Result<String> {
    match ty {
        Type::Bool | Type::U32 | Type::U64 | Type::S32 | Type::S64 | Type::F64 | Type::Enum(_) => Ok(c_type(ty)),
        other => bail!("the generator has no rule for a flat {other:?} in C"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_contract_with_a_prefix() {
        let list = Type::List(Box::new(Type::Record("label-count".to_owned())));
        assert_eq!(c_type(&Type::Option(Box::new(list))), "plimsoll_option_list_label_count");
        assert_eq!(
            (local("pdb-violations"), local("namespace")),
            ("pdb_violations".to_owned(), "namespace_".to_owned())
        );
        assert_eq!(declared("char *", "at"), "char *at");
        assert_eq!(comment("One.\n\nTwo.", "  "), "  // One.\n  //\n  // Two.\n");
    }
}
