//! Names, types and comments as Python writes them.

use std::collections::BTreeSet;

use crate::{Contract, Param, Type};

/// `label-count` as `LabelCount`, the name of a class.
pub(super) fn pascal(name: &str) -> String {
    name.split('-').map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// `image-size` as `image_size`.
pub(super) fn snake(name: &str) -> String {
    name.replace('-', "_")
}

/// The parameters of a method, each with a comma before it: `, node: int, key: str`.
pub(super) fn parameters(params: &[Param]) -> String {
    let parameter = |param: &Param| format!(", {}: {}", snake(&param.name), py_type(&param.ty));
    params.iter().map(parameter).collect()
}

/// A type in Python.
pub(super) fn py_type(ty: &Type) -> String {
    match ty {
        Type::Text => "str".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::U32 | Type::U64 | Type::S32 | Type::S64 => "int".to_owned(),
        Type::F64 => "float".to_owned(),
        Type::Option(some) => format!("Optional[{}]", py_type(some)),
        Type::List(item) => format!("Sequence[{}]", py_type(item)),
        Type::Record(name) | Type::Enum(name) => pascal(name),
    }
}

/// The records and enums that functions take and return.
pub(super) fn named_types(contract: &Contract) -> Vec<String> {
    fn visit(ty: &Type, names: &mut BTreeSet<String>) {
        match ty {
            Type::Record(name) | Type::Enum(name) => {
                names.insert(pascal(name));
            }
            Type::List(inner) | Type::Option(inner) => visit(inner, names),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    for function in contract.interfaces.iter().flat_map(|interface| &interface.functions) {
        function.params.iter().map(|param| &param.ty).chain(&function.result).for_each(|ty| visit(ty, &mut names));
    }
    names.into_iter().collect()
}

/// A text as the docstring of a method.
pub(super) fn docstring(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("        {line}").trim_end().to_owned()).collect();
    format!("        \"\"\"{}\"\"\"\n", lines.join("\n").trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_types_and_comments_are_those_of_python() {
        let list = Type::Option(Box::new(Type::List(Box::new(Type::Record("label-count".to_owned())))));
        assert_eq!((py_type(&list), snake("uid")), ("Optional[Sequence[LabelCount]]".to_owned(), "uid".to_owned()));
        assert_eq!(docstring("One."), "        \"\"\"One.\"\"\"\n");
        assert_eq!(docstring("One.\n\nTwo."), "        \"\"\"One.\n\n        Two.\"\"\"\n");
    }
}
