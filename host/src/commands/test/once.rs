//! One run of all that was found.

use anyhow::{Result, bail};

use super::{find::Found, report::TestReport, run::Tester};
use crate::{args::ReportFormat, output, render::junit};

/// Runs the cases that were found.
///
/// # Errors
/// If that tests nothing: a command in CI that looks in the wrong place must not succeed.
pub(super) fn report(found: &Found, tester: &Tester<'_>) -> Result<TestReport> {
    let (report, args) = (tester.run(found), tester.args);
    if report.is_empty() {
        let places = args.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
        for skipped in &report.skipped {
            output::remark(&skipped.as_line());
        }
        match &args.filter {
            Some(filter) => bail!("no case matches --filter '{filter}'"),
            None if found.subjects.is_empty() => bail!("there is no policy in {places}: expected .wasm files"),
            None => bail!(
                "there are no cases for the policies in {places}: expected YAML files in NAME/cases or cases/NAME \
                 beside NAME.wasm or in the current directory, or --cases DIR"
            ),
        }
    }
    Ok(report)
}

pub(super) fn print(report: &TestReport, format: ReportFormat) -> Result<()> {
    match format {
        ReportFormat::Text => output::print(&report.as_text()),
        ReportFormat::Json => output::print(&format!("{:#}\n", report.as_json())),
        ReportFormat::Junit => output::print(&junit::document(&report.as_suites())),
    }
}
