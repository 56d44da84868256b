//! Names, types and comments as TypeScript writes them.

use anyhow::{Context, bail};

use crate::{Function, Interface, Param, Type};

/// `pod-name` as `PodName`, the name of a type.
pub(crate) fn pascal(name: &str) -> String {
    name.split('-').map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// `pod-name` as `podName`, the name of a value.
pub(crate) fn camel(name: &str) -> String {
    match name.split_once('-') {
        Some((first, rest)) => first.to_owned() + &pascal(rest),
        None => name.to_owned(),
    }
}

/// The field of a view for a parameter that chooses: `ofNode`, since a view may have a `node`.
pub(crate) fn field(param: &str) -> String {
    format!("of{}", pascal(param))
}

/// The type with the functions of an interface: `NodesImports`.
pub(super) fn imports_of(interface: &Interface) -> String {
    pascal(&interface.name) + "Imports"
}

/// The parameters of a function: `node: number, key: string`.
pub(super) fn parameters(params: &[Param]) -> anyhow::Result<String> {
    let parameter = |param: &Param| Ok(format!("{}: {}", camel(&param.name), ts_type(&param.ty)?));
    Ok(params.iter().map(parameter).collect::<anyhow::Result<Vec<_>>>()?.join(", "))
}

/// The result of a read, and whether it may be absent.
pub(super) fn result(function: &Function) -> anyhow::Result<(String, bool)> {
    match function.result.as_ref().with_context(|| format!("{} has no result", function.name))? {
        Type::Option(some) => Ok((ts_type(some)?, true)),
        other => Ok((ts_type(other)?, false)),
    }
}

/// A type in TypeScript. A number of 64 bits is a `number`, as componentize-qjs passes it.
pub(super) fn ts_type(ty: &Type) -> anyhow::Result<String> {
    Ok(match ty {
        Type::Text => "string".to_owned(),
        Type::Bool => "boolean".to_owned(),
        Type::U32 | Type::U64 | Type::S32 | Type::S64 | Type::F64 => "number".to_owned(),
        Type::List(item) => format!("readonly {}[]", ts_type(item)?),
        Type::Record(name) | Type::Enum(name) => pascal(name),
        Type::Option(_) => bail!("the generator has no rule for {ty:?} in TypeScript"),
    })
}

/// The record or enum that a type is, or holds.
pub(super) fn named_type(ty: &Type) -> Option<String> {
    match ty {
        Type::Record(name) | Type::Enum(name) => Some(pascal(name)),
        Type::List(inner) | Type::Option(inner) => named_type(inner),
        _ => None,
    }
}

/// A text of the contract as a comment.
pub(crate) fn comment(text: &str, indent: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines[..] {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        _ => {
            let lines: String =
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n").collect();
            format!("{indent}/**\n{lines}{indent} */\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_types_and_comments_are_those_of_typescript() {
        assert_eq!((pascal("label-count"), camel("api-version")), ("LabelCount".to_owned(), "apiVersion".to_owned()));
        let list = Type::List(Box::new(Type::Record("label-count".to_owned())));
        assert_eq!(ts_type(&list).unwrap(), "readonly LabelCount[]");
        assert_eq!(comment("One.", "  "), "  /** One. */\n");
        assert_eq!(comment("One.\n\nTwo.", ""), "/**\n * One.\n *\n * Two.\n */\n");
    }
}
