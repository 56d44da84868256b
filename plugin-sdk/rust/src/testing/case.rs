//! Cases in YAML, run against a policy natively.

use std::path::Path;

use plimsoll_cases::{Case, cases};

use super::Native;
use crate::__private::Exported;

/// Runs every case of a directory, relative to the package, natively.
///
/// # Panics
/// With all that differs, if anything does.
pub fn run_cases<P: Exported>(directory: impl AsRef<Path>) {
    let cases = cases(directory).unwrap_or_else(|error| panic!("{error}"));
    let check = |case: &Case| case.check(&Native::<P>::new()).err().map(|error| error.to_string());
    let failed: Vec<String> = cases.iter().filter_map(check).collect();
    assert!(failed.is_empty(), "{} of {} cases failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, Node, Pod, Verdict, prelude::Deserialize};

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Full {}

    impl Filter for Full {
        fn filter(&self, _: &Pod, node: &Node) -> Verdict {
            if node.name() == "free" { Verdict::Fits } else { Verdict::unschedulable("node is full") }
        }
    }

    crate::export!(Full: filter);

    fn failure(rest: &str) -> String {
        let yaml = format!("description: d\nnodes: [{{metadata: {{name: busy}}}}]\n{rest}");
        let case = Case::from_yaml("cases/a.yaml", &yaml).unwrap();
        case.check(&Native::<Full>::new()).unwrap_err().to_string()
    }

    #[test]
    fn a_failed_case_is_told_in_the_words_of_cases() {
        let table = [
            ("expect: {filter: {busy: fits}}", "\n  filter: busy: expected fits, was {unschedulable: node is full}"),
            ("expect: {filter: {}}", "\n  filter: busy: nothing is expected, was {unschedulable: node is full}"),
            ("expect: {refused: no}", "\n  settings: expected refused with `no`, was accepted"),
            (
                "settings: {x: 1}\nexpect: {filter: {busy: fits}}",
                "\n  settings: expected accepted, was refused with `there is no field x; expected none`",
            ),
        ];
        for (rest, expected) in table {
            let told = failure(rest);
            assert!(told.starts_with("cases/a.yaml (d):") && told.ends_with(expected), "{rest}: {told}");
            assert!(!told.contains("Fault {") && !told.contains("Some("), "{told}");
        }
        let told = failure("expect: {score: {busy: 1}}");
        assert_eq!(told, "cases/a.yaml: expect.score: the policy has no verb score, only filter, validate");
    }
}
