//! `docs/troubleshooting.md` has an entry for each error text and each warning that the host's code can print.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use plimsoll_harness::workspace;

/// The places where texts for people are made: the rest of the call holds them.
const MAKERS: [&str; 25] = [
    "#[error(",
    "warn!(",
    "error!(",
    "bail!(",
    "anyhow!(",
    "ensure!(",
    ".context(",
    "with_context(",
    "LoadError::permanent(",
    "LoadError::transient(",
    "Refusal::new(",
    "Refusal::passing(",
    "ObjectError::new(",
    "Fault::new(",
    "Stop::Output(",
    "Stop::Host(",
    "refused(",
    "wrong(",
    "breach(",
    "problem = Some(",
    "Ok(Err(",
    "write!(f, ",
    "let expected = ",
    "let text = ",
    "let text =\n",
];

/// Terms of a library; our texts use other words.
const NOT_SHOWN: [&str; 3] = ["mapping start", "sequence start", "string scalar"];

/// Shorter pieces of a text would be found on the page by chance.
const TELLING: usize = 12;

#[test]
fn every_text_that_a_user_can_meet_has_an_entry() {
    let page = plain(&fs::read_to_string(workspace().join("docs/troubleshooting.md")).unwrap());
    let mut texts = 0;
    let mut missing = BTreeSet::new();
    for file in sources() {
        let source = fs::read_to_string(&file).unwrap();
        // Unit tests stand at the end of a file.
        let code = source.split("#[cfg(test)]").next().unwrap();
        for fixed in texts_of(code).iter().filter_map(|text| fixed_part(text)) {
            texts += 1;
            if !NOT_SHOWN.contains(&fixed.as_str()) && !page.contains(&plain(&fixed)) {
                missing.insert(format!("{}: {fixed}", file.strip_prefix(workspace()).unwrap().display()));
            }
        }
    }
    assert!(texts > 100, "only {texts} texts were found: does the search still work?");
    let list = missing.iter().cloned().collect::<Vec<_>>().join("\n");
    assert!(missing.is_empty(), "docs/troubleshooting.md has no entry for {} texts:\n{list}", missing.len());
}

#[test]
fn the_search_finds_texts_however_they_are_written() {
    let code = r#"
        #[error("{} is empty: expected {expected}", path.display())]
        tracing::warn!(%error, "cannot keep a \"module\"");
        let text =
            format!("the request is larger than {limit} bytes: raise --body-limit");
    "#;
    let fixed: Vec<_> = texts_of(code).iter().filter_map(|text| fixed_part(text)).collect();
    let expected = ["is empty: expected", "cannot keep a \"module\"", "the request is larger than"];
    assert_eq!(fixed, expected);
}

/// The string literals that become texts for people.
fn texts_of(code: &str) -> Vec<String> {
    let mut texts: Vec<(usize, String)> = MAKERS
        .iter()
        .flat_map(|maker| code.match_indices(maker).map(|(at, maker)| at + maker.len()))
        .flat_map(|start| literals(&code[start..]).into_iter().map(move |(at, text)| (start + at, text)))
        .collect();
    texts.sort();
    texts.dedup();
    texts.into_iter().map(|(_, text)| text).collect()
}

/// The literals up to the end of the call or statement, with where they stand.
fn literals(code: &str) -> Vec<(usize, String)> {
    let (mut depth, mut found) = (0, Vec::new());
    let mut characters = code.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' | ';' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            '"' => {
                let mut text = String::new();
                while let Some((_, character)) = characters.next() {
                    match character {
                        '"' => break,
                        '\\' => text
                            .extend(characters.next().map(|(_, escaped)| if escaped == 'n' { ' ' } else { escaped })),
                        other => text.push(other),
                    }
                }
                found.push((at, text));
            }
            _ => {}
        }
    }
    found
}

/// The longest piece between `{...}`, if it can be recognised.
fn fixed_part(text: &str) -> Option<String> {
    let pieces = text.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, rest)| rest));
    let longest =
        pieces.map(|piece| piece.trim_matches([' ', ':', ',', ';', '\'', '(', ')'])).max_by_key(|piece| piece.len())?;
    (longest.len() >= TELLING && longest.contains(' ')).then(|| longest.to_owned())
}

/// Without what Markdown adds, on one line.
fn plain(text: &str) -> String {
    text.replace('`', "").replace("\\|", "|").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sources of the host.
fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in [
        "host/src",
        "host/core/src",
        "host/wasm/src",
        "host/directory/src",
        "host/facts/src",
        "host/http/src",
        "host/cluster/src",
    ] {
        collect(&workspace().join(folder), &mut files);
    }
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // The simulation is a test, and nobody but its reader meets its texts.
        if name == "tests" || name == "simulation" {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}
