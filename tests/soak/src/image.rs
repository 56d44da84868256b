//! The environment that the image gives to plimsoll: a soak judges what users run.

use std::fs;

use anyhow::{Context, Result, ensure};
use plimsoll_harness::workspace;

/// The variables that `deploy/Dockerfile` sets.
pub(crate) fn environment() -> Result<Vec<(String, String)>> {
    let file = workspace().join("deploy/Dockerfile");
    let variables = variables(&fs::read_to_string(&file).with_context(|| file.display().to_string())?);
    ensure!(!variables.is_empty(), "{} sets no variable", file.display());
    Ok(variables)
}

fn variables(dockerfile: &str) -> Vec<(String, String)> {
    let unbroken = dockerfile.replace("\\\n", " ");
    let lines = unbroken.lines().filter_map(|line| line.strip_prefix("ENV "));
    let pairs = lines.flat_map(str::split_whitespace).filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_variables_of_an_image_are_found() {
        let text = "FROM a\nARG X=1\nENV A=1 \\\n    B=2\nRUN x C=3\nENV D=4\n";
        let found: Vec<String> = variables(text).into_iter().map(|(name, value)| name + &value).collect();
        assert_eq!(found, ["A1", "B2", "D4"]);
        assert!(!environment().unwrap().is_empty());
    }
}
