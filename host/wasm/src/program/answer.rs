//! The standard output of a program: `ExtenderFilterResult` or `HostPriorityList`, checked against the request.
//!
//! A first pass bounds what the parser can take; the parser ends at the first mistake, or when the time is over. Nothing
//! of the output is copied but reasons for nodes of the view, so an answer takes no more memory than the view's nodes
//! need, whatever a program writes.

mod fault;
mod parts;
mod reader;
mod scan;
mod statements;

use std::time::Instant;

use plimsoll_core::{Fault, Verdict, View, excerpt};

pub(super) use self::scan::parser_memory;
use self::{fault::output_fault, parts::Part, statements::Statements};

/// Maximum bytes of an answer that a message quotes.
const QUOTED: usize = 60;

const FILTER_RESULT: &str = "an ExtenderFilterResult, {\"NodeNames\": [...], \"FailedNodes\": {...}, \"FailedAndUnresolvableNodes\": {...}, \"Error\": \"\"}";
const PRIORITY_LIST: &str = "a HostPriorityList, [{\"Host\": \"...\", \"Score\": 0}, ...]";

/// The verdict about each node of the view.
///
/// # Errors
/// If the output is no such result, names a node that the view does not have, or says nothing or two things about one,
/// or if the deadline is over.
pub(super) fn filter(output: &[u8], view: &View, deadline: Instant) -> Result<Vec<Verdict>, Fault> {
    parse(output, Statements::about(view, deadline), Part::FilterResult, FILTER_RESULT, "{")?.verdicts()
}

/// The score of each node of the view, 0 to [`MAX_SCORE`](plimsoll_core::MAX_SCORE); a node that is not listed has 0, as
/// for kube-scheduler.
///
/// # Errors
/// If the output is no such list, names a node that the view does not have or names one twice, or has a score out of
/// range, or if the deadline is over.
pub(super) fn prioritize(output: &[u8], view: &View, deadline: Instant) -> Result<Vec<u32>, Fault> {
    // A nil slice of Go is a null.
    Ok(parse(output, Statements::about(view, deadline), Part::Priorities, PRIORITY_LIST, "[n")?.scores())
}

fn parse<'v>(
    output: &[u8],
    mut statements: Statements<'v>,
    whole: Part,
    expected: &str,
    opening: &str,
) -> Result<Statements<'v>, Fault> {
    let text = output.trim_ascii();
    if text.is_empty() {
        return Err(output_fault(&format!("it wrote nothing to standard output; expected {expected}")));
    }
    let wrong = |why: &str| {
        let begins = excerpt(&String::from_utf8_lossy(&text[..text.len().min(4 * QUOTED)]), QUOTED);
        output_fault(&format!("its standard output begins with `{begins}`, and is not {expected}: {why}"))
    };
    // Otherwise the message would be about a type, and not about the verb.
    if !opening.as_bytes().contains(&text[0]) {
        return Err(wrong("its sidecar says which verbs it is asked (stdio.verbs)"));
    }
    match reader::read(text, whole, &mut statements) {
        Ok(()) => Ok(statements),
        Err(error) => Err(statements.take_fault().unwrap_or_else(|| wrong(&error.to_string()))),
    }
}

#[cfg(test)]
mod tests;
