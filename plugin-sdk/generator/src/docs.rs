//! The comments of the contract, in the words of a language.

use crate::{
    Contract, Function, Interface,
    contract::{Place, place},
};

/// The words by which a language replaces those of the contract.
pub(crate) struct Words {
    /// Follows `;` where the contract has `none`: `ok is false`.
    pub(crate) or_absent: &'static str,
    /// Follows the name of a read where the contract has `is none`: `has no value`.
    pub(crate) is_absent: &'static str,
    /// The name of a read's method: `Node.Requested`.
    pub(crate) name: fn(&Interface, &Function, &Place) -> String,
    /// The most characters of a line, without its indent and the signs of a comment.
    pub(crate) width: usize,
}

/// Names reads as their methods are named, and an absent value as the language has it.
///
/// A read of the same interface is named alone in the contract, such as `known`; one of another with its interface:
/// `nodes.requested`.
pub(crate) fn of_methods(contract: &Contract, of: &Interface, docs: &str, words: &Words) -> String {
    let mut text = docs.replace("; none", &format!("; {}", words.or_absent));
    text = text.replace(" is none", &format!(" {}", words.is_absent));
    for interface in &contract.interfaces {
        for function in interface.reads() {
            let Some(place) = place(interface, function) else { continue };
            let full = (words.name)(interface, function, &place);
            text = text.replace(&format!("`{}.{}`", interface.name, function.name), &format!("`{full}`"));
            if interface.name == of.name {
                // The method of another view needs the name of its class.
                text = text.replace(&format!("`{}`", function.name), &format!("`{full}`"));
            }
        }
    }
    wrapped(&text, words.width)
}

/// Breaks a text again where a replacement has made a line too long.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    if text.lines().all(|line| line.chars().count() <= width) {
        return text.to_owned();
    }
    text.split("\n\n").map(|paragraph| wrapped_paragraph(paragraph, width)).collect::<Vec<_>>().join("\n\n")
}

fn wrapped_paragraph(paragraph: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in paragraph.split_whitespace() {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIT: &str = include_str!("../../wit/v0.1.0/policy.wit");
    const TABLE: &str = include_str!("../../wit/v0.1.0/reads.yaml");
    const WORDS: Words = Words {
        or_absent: "`None`",
        is_absent: "is `None`",
        name: |_, _, place| format!("{}::{}", place.owner, place.name),
        width: 40,
    };

    #[test]
    fn a_comment_names_methods_and_the_absent_value() {
        let contract = Contract::parse(WIT, TABLE).unwrap();
        let interface = |name: &str| contract.interfaces.iter().find(|interface| interface.name == name).unwrap();
        let table = [
            ("placed", "0 without (see `known`).", "0 without (see `node::placed-known`)."),
            ("placed", "Where `nodes.requested` is none.", "Where `node::requested` is `None`."),
            ("placed", "`count-labelled` of each.", "`node::count-labelled` of each."),
            ("pod", "The class; none if it has none.", "The class; `None` if it has none."),
            ("pod", "The request; 0 if none.", "The request; 0 if none."),
        ];
        for (of, docs, expected) in table {
            assert_eq!(of_methods(&contract, interface(of), docs, &WORDS), expected);
        }
    }

    #[test]
    fn a_line_that_has_become_too_long_is_broken_again() {
        let long = "word ".repeat(30);
        assert_eq!(wrapped("One.\nTwo.", 40), "One.\nTwo.");
        assert!(wrapped(&long, 40).lines().all(|line| line.len() <= 40), "{}", wrapped(&long, 40));
    }
}
