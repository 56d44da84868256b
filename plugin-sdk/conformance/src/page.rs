//! The parts of plugin-sdk/conformance/spec.md that follow from the data.

use std::fmt::Write as _;

use crate::{
    Case, Without,
    case::{ANSWERS, cases},
    world,
};

/// The whole page, for authors who have the command alone.
pub const PAGE: &str = include_str!("../spec.md");

/// The line of the page before the parts that are generated; they reach to [`END`].
pub const BEGIN: &str = "<!-- generated: UPDATE_GOLDEN=1 cargo test --workspace --lib page -->\n";

/// The line after the parts that are generated.
pub const END: &str = "<!-- end of the generated part -->\n";

/// The table of cases, the texts of the answers, and the world.
pub fn generated() -> String {
    let mut text = String::from("| case | settings | asked | nodes | expected |\n|---|---|---|---|---|\n");
    for case in cases() {
        push(&mut text, format_args!("{}", row(case)));
    }
    push(&mut text, format_args!("\n## The texts\n"));
    for (name, answer) in ANSWERS {
        push(&mut text, format_args!("`@{name}`:\n\n```text\n{answer}```\n"));
    }
    push(&mut text, format_args!("## The world\n\n```yaml\n{}```", world::YAML));
    text
}

fn row(case: &Case) -> String {
    let known = if case.without == Without::Nothing {
        String::new()
    } else {
        format!(" (the gateway knows no {})", case.without.as_str())
    };
    let time = case.milliseconds.map_or_else(String::new, |limit| format!(" (within {limit} ms)"));
    let nodes = case.nodes.join(", ");
    format!("| {} | `{}` | {}{known}{time} | {nodes} | {} |", case.name, case.settings(), case.verb, expected(case))
}

fn expected(case: &Case) -> String {
    let faults: Vec<String> = case.faults.iter().map(|kind| format!("`{kind}`")).collect();
    let detail = case.detail.as_ref().map_or_else(String::new, |detail| format!(" with `{detail}`"));
    let faults = (!faults.is_empty()).then(|| format!("fault {}{detail}", faults.join(" or ")));
    let answers: Vec<String> = case.written.iter().map(|answer| format!("`{}`", answer.replace('\n', "` `"))).collect();
    let answers = (!answers.is_empty()).then(|| answers.join(", "));
    faults.into_iter().chain(answers).collect::<Vec<_>>().join(", or ")
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use super::*;

    #[test]
    fn the_page_has_the_cases_the_texts_and_the_world_of_the_data() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec.md");
        let page = fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (own, after) = rest.split_once(END).unwrap();
        let generated = format!("\n{}\n", generated());
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, format!("{before}{BEGIN}{generated}{END}{after}")).unwrap();
        } else {
            assert_eq!(own, generated, "{}: UPDATE_GOLDEN=1 writes it again", path.display());
        }
    }
}
