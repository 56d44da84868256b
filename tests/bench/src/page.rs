//! The tables of a run as a page of the documentation.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::Result;

use crate::report::{Aim, Both, Report};

/// Writes `results.md` into the directory.
pub(crate) fn write(report: &Report, directory: &Path) -> Result<()> {
    let mut page = "# The last run of `make bench`\n\nWritten by the bench itself (`make bench BENCH=--plots`); \
                    [performance.md](../performance.md) says how to read it.\n"
        .to_owned();
    writeln!(page, "{} cores; load of the machine (1, 5, 15 minutes): {}.\n", cores(), load())?;
    page += "| work | mode | nodes | policies | plimsoll, us | Go, us | echo, us | Go / plimsoll | plimsoll / echo |\n\
             |---|---|---|---|---|---|---|---|---|\n";
    for both in report.both() {
        let Both { work, mode, nodes, policies } = both;
        let figures = both.figures(report).join(" | ");
        writeln!(page, "| {work} | {mode} | {nodes} | {policies} | {figures} |")?;
    }
    page += "\n| aim | | found | |\n|---|---|---|---|\n";
    for Aim { what, bound, found, met } in report.aims() {
        writeln!(page, "| {what} | {bound} | {found} | {} |", if *met { "met" } else { "missed" })?;
    }
    Ok(fs::write(directory.join("results.md"), page)?)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, usize::from)
}

/// The load of other programs while it is measured.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(", ")
}
