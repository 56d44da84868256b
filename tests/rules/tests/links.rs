//! A link from one page of the repository to another leads to a file, and to a heading that is there.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the pages should stop")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use plimsoll_harness::workspace;

#[test]
fn every_link_between_pages_leads_somewhere() {
    let (mut seen, mut broken) = (0, Vec::new());
    for page in pages(workspace()) {
        for link in links(&without_code(&fs::read_to_string(&page).unwrap())) {
            seen += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            if !target.exists() || (!anchor.is_empty() && !headings(&target).contains(&anchor.to_owned())) {
                broken.push(format!("{}: {link}", page.strip_prefix(workspace()).unwrap().display()));
            }
        }
    }
    assert!(seen > 100, "only {seen} links were found: does the search still work?");
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn a_heading_has_the_anchor_that_github_gives_it() {
    assert_eq!(anchor("`/api/policies` and *more*, (now)"), "apipolicies-and-more-now");
    assert_eq!(links("see [a](b.md#c), [d](https://e.example) and `[f](g)`"), ["b.md#c"]);
}

/// Every page below the folder, except those that a build made.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_built = name == "target" || name == "node_modules" || name.starts_with('.');
        if path.is_dir() && !path.is_symlink() && !is_built {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found
}

/// The page without its blocks of code.
fn without_code(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// The targets of links to files and headings.
fn links(page: &str) -> Vec<String> {
    let text: String = page.split('`').step_by(2).collect();
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let is_inside = |target: &&str| !target.contains("://") && !target.contains(char::is_whitespace);
    targets.map(|(target, _)| target).filter(is_inside).map(str::to_owned).collect()
}

fn headings(page: &Path) -> Vec<String> {
    let text = without_code(&fs::read_to_string(page).unwrap());
    text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

/// The anchor of a heading: small letters, digits and hyphens, with a hyphen for each space.
fn anchor(heading: &str) -> String {
    let small = heading.to_lowercase();
    let kept = small.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}
