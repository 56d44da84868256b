//! The environment of plimsoll in a soak: that of the image, and an allocator that gives back what is freed.

use std::fs;

use anyhow::{Context, Result, ensure};
use plimsoll_harness::workspace;

/// With the settings of the image, the allocator keeps tens of MiB that were freed, and takes hours to find that size,
/// which looks like a leak. With these, RSS follows what is in use: large blocks go back to the system at once, a thread
/// has no blocks of its own, and there is only one heap. Decision 43 says why users do not get them.
const GIVES_BACK: [(&str, &str); 4] = [
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ("MALLOC_TRIM_THRESHOLD_", "131072"),
    ("MALLOC_ARENA_MAX", "1"),
    ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"),
];

/// The variables that `deploy/Dockerfile` sets, but those that let freed memory go back at once take precedence.
pub(crate) fn environment() -> Result<Vec<(String, String)>> {
    let file = workspace().join("deploy/Dockerfile");
    let mut variables = variables(&fs::read_to_string(&file).with_context(|| file.display().to_string())?);
    ensure!(!variables.is_empty(), "{} sets no variable", file.display());
    variables.retain(|(name, _)| GIVES_BACK.iter().all(|(own, _)| own != name));
    variables.extend(GIVES_BACK.map(|(name, value)| (name.to_owned(), value.to_owned())));
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
