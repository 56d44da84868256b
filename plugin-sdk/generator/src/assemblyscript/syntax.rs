//! Names and types as AssemblyScript writes them.

use std::collections::BTreeSet;

use crate::{
    Function, Interface, Param, Type,
    typescript::syntax::{camel, pascal},
};

/// The function for a read: `nodesImageSize`.
pub(super) fn function_name(interface: &Interface, function: &Function) -> String {
    camel(&interface.name) + &pascal(&function.name)
}

/// The parameters of a function: `node: u32, key: string`.
pub(super) fn parameters(params: &[Param]) -> String {
    let parameter = |param: &Param| format!("{}: {}", camel(&param.name), as_type(&param.ty));
    params.iter().map(parameter).collect::<Vec<_>>().join(", ")
}

/// A type in AssemblyScript. A value that may be absent must be a reference, so `Some` holds a number.
pub(super) fn as_type(ty: &Type) -> String {
    match ty {
        Type::Text => "string".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::U32 => "u32".to_owned(),
        Type::U64 => "u64".to_owned(),
        Type::S32 => "i32".to_owned(),
        Type::S64 => "i64".to_owned(),
        Type::F64 => "f64".to_owned(),
        Type::List(item) => format!("Array<{}>", as_type(item)),
        Type::Record(name) | Type::Enum(name) => pascal(name),
        Type::Option(some) if is_number(some) => format!("Some<{}> | null", as_type(some)),
        Type::Option(some) => format!("{} | null", as_type(some)),
    }
}

/// The name of a type as part of another name: `TaintList`.
pub(super) fn tag(ty: &Type) -> String {
    match ty {
        Type::List(item) => tag(item) + "List",
        Type::Option(some) => tag(some),
        Type::Text => "Text".to_owned(),
        other => pascal(&as_type(other)),
    }
}

/// Whether a value of the type is a number in AssemblyScript, and so not a reference.
pub(super) fn is_number(ty: &Type) -> bool {
    !matches!(ty, Type::Text | Type::List(_) | Type::Record(_) | Type::Option(_))
}

/// The records and enums within these types, which a file must import.
pub(super) fn named_types<'t>(types: impl Iterator<Item = &'t Type>) -> BTreeSet<String> {
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
    types.for_each(|ty| visit(ty, &mut names));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_may_be_absent_is_held_by_an_object() {
        let option = |ty| Type::Option(Box::new(ty));
        assert_eq!(as_type(&option(Type::S64)), "Some<i64> | null");
        assert_eq!(as_type(&option(Type::Text)), "string | null");
        let list = Type::List(Box::new(Type::Record("label-count".to_owned())));
        assert_eq!((as_type(&list), tag(&list)), ("Array<LabelCount>".to_owned(), "LabelCountList".to_owned()));
        let names = named_types([option(Type::Bool), option(list)].iter());
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["LabelCount"]);
    }
}
