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

use self::run::Tester;
use crate::{
    args::{ReportFormat, TestArgs},
    engine,
    logging::GuestLines,
};

pub(super) fn test(args: &TestArgs) -> Result<ExitCode> {
    let loader = engine::loader_of_command(&args.engine, args.output == ReportFormat::Text)?;
    if let Some(target) = &args.record.target {
        return record::record(args, target, &loader);
    }
    let lines = args.explain.then(GuestLines::start_for_cases);
    let tester = Tester { args, loader: &loader, lines: lines.as_ref() };
    if args.watch {
        return watch::watch(&tester);
    }
    let report = once::report(&find::find(args)?, &tester)?;
    once::print(&report, args.output)?;
    Ok(if report.is_passed(args.strict) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
