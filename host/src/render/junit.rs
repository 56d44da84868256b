//! Reports as XML in the form of JUnit, which CI systems read.

use std::{borrow::Cow, fmt::Write as _, time::Duration};

use crate::text;

/// Tests that belong together.
pub(crate) struct TestSuite {
    pub(crate) name: String,
    pub(crate) cases: Vec<TestCase>,
}

/// One test.
pub(crate) struct TestCase {
    pub(crate) name: String,
    pub(crate) file: Option<String>,
    pub(crate) took: Duration,
    pub(crate) outcome: TestOutcome,
}

/// The outcome of a test; the text says why, its first line alone too.
pub(crate) enum TestOutcome {
    Passed,
    /// The test was run, and the answer is no.
    Failure(String),
    /// The test could not be run.
    Error(String),
    /// The test was not to be run.
    Skipped(String),
}

/// The whole document.
pub(crate) fn document(suites: &[TestSuite]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = counts(suites.iter().flat_map(|suite| &suite.cases));
    push(&mut xml, format_args!("<testsuites name=\"plimsoll\"{all}>"));
    for TestSuite { name, cases } in suites {
        push(&mut xml, format_args!("  <testsuite name=\"{}\"{}>", escaped(name), counts(cases)));
        for case in cases {
            push_case(&mut xml, name, case);
        }
        push(&mut xml, format_args!("  </testsuite>"));
    }
    push(&mut xml, format_args!("</testsuites>"));
    xml
}

/// The attributes with the numbers of tests by outcome.
fn counts<'c>(cases: impl IntoIterator<Item = &'c TestCase>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped, mut time) = (0, 0, 0, 0, Duration::ZERO);
    for case in cases {
        tests += 1;
        time += case.took;
        match case.outcome {
            TestOutcome::Passed => {}
            TestOutcome::Failure(_) => failures += 1,
            TestOutcome::Error(_) => errors += 1,
            TestOutcome::Skipped(_) => skipped += 1,
        }
    }
    let seconds = time.as_secs_f64();
    format!(
        " tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds:.6}\""
    )
}

fn push_case(xml: &mut String, suite: &str, TestCase { name, file, took, outcome }: &TestCase) {
    let file = file.as_ref().map(|file| format!(" file=\"{}\"", escaped(file))).unwrap_or_default();
    let (suite, name, seconds) = (escaped(suite), escaped(name), took.as_secs_f64());
    let head = format!("    <testcase classname=\"{suite}\" name=\"{name}\"{file} time=\"{seconds:.6}\"");
    let (element, why) = match outcome {
        TestOutcome::Passed => return push(xml, format_args!("{head}/>")),
        TestOutcome::Failure(why) => ("failure", why),
        TestOutcome::Error(why) => ("error", why),
        TestOutcome::Skipped(why) => ("skipped", why),
    };
    let first = escaped(why.trim_start().lines().next().unwrap_or_default());
    push(xml, format_args!("{head}>\n      <{element} message=\"{first}\">{}</{element}>", escaped(why)));
    push(xml, format_args!("    </testcase>"));
}

fn push(xml: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(xml, "{line}");
}

/// A text as XML writes it, without the characters that XML cannot have.
fn escaped(foreign: &str) -> String {
    let shown: Cow<'_, str> = text::printable(foreign);
    let mut xml = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_breaks_out_of_the_document() {
        let outcome = TestOutcome::Failure("a \"<&>\" b\nsecond \u{1b}[31m\u{ffff}]]>".to_owned());
        let case = TestCase { name: "n<".to_owned(), file: Some("f&".to_owned()), took: Duration::ZERO, outcome };
        let passed = TestCase { name: "p".to_owned(), file: None, took: Duration::ZERO, outcome: TestOutcome::Passed };
        let xml = document(&[TestSuite { name: "s\"".to_owned(), cases: vec![case, passed] }]);
        let counts = "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\"";
        assert_eq!(xml.matches(counts).count(), 2, "{xml}");
        assert!(xml.contains("message=\"a &quot;&lt;&amp;&gt;&quot; b\""), "{xml}");
        assert!(xml.contains("\nsecond \\u001b[31m\u{fffd}]]&gt;</failure>"), "{xml}");
        assert!(xml.contains("classname=\"s&quot;\" name=\"n&lt;\" file=\"f&amp;\""), "{xml}");
    }
}
