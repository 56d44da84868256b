//! Names, types and comments as Go writes them.

use anyhow::{Context, bail};

use crate::{Function, Interface, Param, Type, docs::wrapped};

/// The most characters of a comment's line, without `// `.
pub(super) const WIDTH: usize = 117;

/// Records with another form in Go, written by hand.
pub(super) const BY_HAND: [(&str, &str); 1] = [("grouping", "Groups")];

/// Words that are upper case as a whole in Go.
const INITIALISMS: [&str; 5] = ["api", "id", "json", "pdb", "uid"];

/// `image-size` as `ImageSize`.
pub(super) fn exported(name: &str) -> String {
    let word = |word: &str| {
        if INITIALISMS.contains(&word) {
            return word.to_ascii_uppercase();
        }
        word[..1].to_ascii_uppercase() + &word[1..]
    };
    name.split('-').map(word).collect()
}

/// `pod-name` as `podName`, the name of a variable.
pub(super) fn local(name: &str) -> String {
    match name.split_once('-') {
        Some((first, rest)) => first.to_owned() + &exported(rest),
        None => name.to_owned(),
    }
}

/// The method for a function: `NodesImageSize`.
pub(super) fn method(interface: &Interface, function: &Function) -> String {
    exported(&interface.name) + &exported(&function.name)
}

/// The import for a function: `importNodesImageSize`.
pub(super) fn import(interface: &Interface, function: &Function) -> String {
    "import".to_owned() + &method(interface, function)
}

/// The parameters of a method: `node uint32, key string`.
pub(super) fn parameters(params: &[Param]) -> anyhow::Result<String> {
    let parameter = |param: &Param| Ok(format!("{} {}", local(&param.name), go_type(&param.ty)?));
    Ok(params.iter().map(parameter).collect::<anyhow::Result<Vec<_>>>()?.join(", "))
}

/// The result of a method: an optional result is a value and whether there is one.
pub(super) fn result(function: &Function) -> anyhow::Result<String> {
    match function.result.as_ref().context("a read has a result")? {
        Type::Option(some) => Ok(format!("({}, bool)", go_type(some)?)),
        other => go_type(other),
    }
}

/// The result as [`result`], with names if there are two.
pub(super) fn named_result(function: &Function, arguments: &[Param]) -> anyhow::Result<String> {
    let Some(Type::Option(some)) = &function.result else { return result(function) };
    let name = if arguments.iter().any(|param| param.name == "value") { "result" } else { "value" };
    Ok(format!("({name} {}, ok bool)", go_type(some)?))
}

/// A type in Go.
pub(super) fn go_type(ty: &Type) -> anyhow::Result<String> {
    Ok(match ty {
        Type::Text => "string".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::U32 | Type::Enum(_) => "uint32".to_owned(),
        Type::U64 => "uint64".to_owned(),
        Type::S32 => "int32".to_owned(),
        Type::S64 => "int64".to_owned(),
        Type::F64 => "float64".to_owned(),
        Type::List(item) => format!("[]{}", go_type(item)?),
        Type::Record(name) => record_name(name),
        Type::Option(_) => bail!("the generator has no rule for {ty:?} in Go"),
    })
}

pub(super) fn record_name(record: &str) -> String {
    let by_hand = BY_HAND.iter().find(|(name, _)| *name == record);
    by_hand.map_or_else(|| exported(record), |(_, name)| (*name).to_owned())
}

/// A comment of the contract as one that begins with the name and a verb, as Go's do.
pub(super) fn docs(name: &str, verb: &str, text: &str) -> String {
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let verb = match first {
        "How" | "When" | "Whether" | "Which" if verb == "is" => "says",
        "How" | "When" | "Whether" | "Which" => "reports",
        _ => verb,
    };
    let is_name = first.starts_with('`') || first.chars().skip(1).any(char::is_uppercase);
    let first = if is_name { first.to_owned() } else { first.to_lowercase() };
    let text = wrapped(&format!("{name} {verb} {first} {rest}"), WIDTH);
    text.trim_end().lines().map(|line| format!("// {line}").trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_comments_are_those_of_go() {
        assert_eq!((exported("uid"), exported("pdb-violations")), ("UID".to_owned(), "PDBViolations".to_owned()));
        assert_eq!((exported("api-version"), local("api-version")), ("APIVersion".to_owned(), "apiVersion".to_owned()));
        assert_eq!(docs("Label", "returns", "The value of a label."), "// Label returns the value of a label.\n");
        assert_eq!(
            docs("Count", "returns", "How many there are.\nAll."),
            "// Count reports how many there are.\n// All.\n"
        );
        assert_eq!(docs("Name", "returns", "`metadata.name`."), "// Name returns `metadata.name`.\n");
        assert_eq!(docs("FieldText", "is", "JSON text at a pointer."), "// FieldText is JSON text at a pointer.\n");
    }
}
