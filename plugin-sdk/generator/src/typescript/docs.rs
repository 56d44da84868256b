//! The comments of the contract, in the words of TypeScript and AssemblyScript.

use super::place::place;
use crate::{Contract, Interface};

/// Maximum characters of a line: 120, without the indent and the ` * ` of a comment.
const WIDTH: usize = 115;

/// Names reads as their methods are named, and the absent value, such as `undefined`, in place of none.
///
/// A read of the same interface is named alone, such as `known`; one of another with its interface: `nodes.requested`.
pub(crate) fn of_methods(contract: &Contract, of: &Interface, docs: &str, absent: &str) -> String {
    let mut text = docs.replace("; none", &format!("; `{absent}`")).replace(" is none", &format!(" is `{absent}`"));
    for interface in &contract.interfaces {
        for function in interface.reads() {
            let Some(place) = place(interface, function) else { continue };
            let full = format!("{}.{}", place.owner, place.name);
            text = text.replace(&format!("`{}.{}`", interface.name, function.name), &format!("`{full}`"));
            if interface.name == of.name {
                // The method of another view needs the name of its class.
                text = text.replace(&format!("`{}`", function.name), &format!("`{full}`"));
            }
        }
    }
    wrapped(&text)
}

/// Breaks a text again where a replacement has made a line too long.
fn wrapped(text: &str) -> String {
    if text.lines().all(|line| line.chars().count() <= WIDTH) {
        return text.to_owned();
    }
    text.split("\n\n").map(wrapped_paragraph).collect::<Vec<_>>().join("\n\n")
}

fn wrapped_paragraph(paragraph: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in paragraph.split_whitespace() {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= WIDTH) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIT: &str = include_str!("../../../wit/v0.1.0/policy.wit");
    const TABLE: &str = include_str!("../../../wit/v0.1.0/reads.yaml");

    #[test]
    fn a_comment_names_methods_and_undefined() {
        let contract = Contract::parse(WIT, TABLE).unwrap();
        let interface = |name: &str| contract.interfaces.iter().find(|interface| interface.name == name).unwrap();
        let table = [
            ("placed", "0 without a view (see `known`).", "0 without a view (see `Node.placedKnown`)."),
            ("placed", "Where `nodes.requested` is none.", "Where `Node.requested` is `undefined`."),
            ("placed", "`count-labelled` of each node.", "`Node.countLabelled` of each node."),
            ("pod", "The class; none if it has none.", "The class; `undefined` if it has none."),
            ("pod", "The request; 0 if none.", "The request; 0 if none."),
        ];
        for (of, docs, expected) in table {
            assert_eq!(of_methods(&contract, interface(of), docs, "undefined"), expected);
        }
    }

    #[test]
    fn a_line_that_has_become_too_long_is_broken_again() {
        let long = "word ".repeat(30);
        assert_eq!(wrapped("One.\nTwo."), "One.\nTwo.");
        assert!(wrapped(&long).lines().all(|line| line.len() <= WIDTH), "{}", wrapped(&long));
    }
}
