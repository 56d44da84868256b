//! `plimsoll test`: puts test cases in YAML to policies, and shows the differences.

mod copies;
mod find;
mod once;
mod places;
mod record;
mod report;
mod request;
mod run;
mod walk;
mod watch;

use std::process::ExitCode;

use anyhow::Result;

use crate::{
    args::{ReportFormat, TestArgs},
    engine,
};

pub(super) fn test(args: &TestArgs) -> Result<ExitCode> {
    let loader = engine::loader_of_command(&args.engine, args.output == ReportFormat::Text)?;
    if let Some(target) = &args.record.target {
        return record::record(args, target, &loader);
    }
    if args.watch {
        return watch::watch(args, &loader);
    }
    let report = once::report(&find::find(args)?, args, &loader)?;
    once::print(&report, args.output)?;
    Ok(if report.is_passed(args.strict) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
