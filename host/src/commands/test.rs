//! `plimsoll test`: puts test cases in YAML to policies, and shows the differences.

mod find;
mod record;
mod report;
mod run;

use std::process::ExitCode;

use anyhow::{Result, bail};

use self::{report::TestReport, run::Tester};
use crate::{
    args::{OutputFormat, TestArgs},
    engine, logging, output,
};

pub(super) fn test(args: &TestArgs) -> Result<ExitCode> {
    let loader = engine::loader_of_command(&args.engine, args.output == OutputFormat::Text)?;
    if let Some(target) = &args.record.target {
        return record::record(args, target, &loader);
    }
    if args.explain {
        logging::start_for_command();
    }
    let found = find::find(args)?;
    let report = Tester { args, loader: &loader }.run(&found);
    refuse_empty(args, &report, found.subjects.is_empty())?;
    match args.output {
        OutputFormat::Text => output::print(&report.as_text())?,
        OutputFormat::Json => output::print_json(&report)?,
    }
    Ok(if report.is_passed(args.strict) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// A command in CI that looks in the wrong place, and so tests nothing, must not succeed.
fn refuse_empty(args: &TestArgs, report: &TestReport, has_no_policy: bool) -> Result<()> {
    if !report.policies.is_empty() {
        return Ok(());
    }
    let places = args.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
    for skipped in &report.skipped {
        output::remark(&skipped.as_line());
    }
    match &args.filter {
        Some(filter) => bail!("no case matches --filter '{filter}'"),
        None if has_no_policy => {
            bail!("there is no policy in {places}: expected .wasm files, or .yaml files with `cel`")
        }
        None => bail!(
            "there are no cases for the policies in {places}: expected YAML files in NAME/cases or cases/NAME \
             beside the policy or in the current directory, or --cases DIR"
        ),
    }
}
