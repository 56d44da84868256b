//! A decision table: which values that were read led to which answer.

use comfy_table::{Table, presets};
use plimsoll_core::{Condition, DecisionRow, DecisionTable, Verb};
use serde_json::{Value, json};

use super::answer;
use crate::text::{count, one_line, push_line};

/// A reminder that the rows are not a rule.
const SEEN: &str = "combinations that were seen, not a rule: other values may lead to other answers";

/// A table for each verb.
pub(crate) fn as_text(tables: &[(Verb, DecisionTable)]) -> String {
    let mut text = String::new();
    for (verb, DecisionTable { rows, truncated, uncacheable }) in tables {
        push_line(&mut text, format_args!("{verb}: {SEEN}"));
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["where", "it said"]);
        for row in rows {
            let conditions: Vec<String> =
                row.conditions.iter().map(|condition| one_line(&condition_text(condition)).into_owned()).collect();
            let conditions = if conditions.is_empty() { "whatever it read".to_owned() } else { conditions.join("\n") };
            table.add_row([conditions, answer::text(&row.answer)]);
        }
        // The table has line breaks; its cells were escaped one by one.
        text += &table.to_string();
        text.push('\n');
        if *truncated > 0 {
            push_line(&mut text, format_args!("... and {}", count(*truncated, "more row")));
        }
        if *uncacheable > 0 {
            let (classes, them) = match uncacheable {
                1 => ("1 class of pods is".to_owned(), "it"),
                several => (format!("{several} classes of pods are"), "them"),
            };
            let why = "the policy reads more than one node";
            push_line(&mut text, format_args!("{classes} not cached: for {them} {why}"));
        }
        text.push('\n');
    }
    text
}

fn condition_text(Condition { read, values, more }: &Condition) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    match (values.as_slice(), more) {
        ([value], 0) => format!("{read} = {value}"),
        (values, 0) => format!("{read} in {}", values.join(", ")),
        (values, more) => format!("{read} in {} and {more} more", values.join(", ")),
    }
}

/// The same for programs, and for the admin listener.
pub(crate) fn as_json(policy: &str, tables: &[(Verb, DecisionTable)]) -> Value {
    let condition = |Condition { read, values, more }: &Condition| json!({"read": read, "values": values.iter().map(answer::value_json).collect::<Vec<_>>(), "more": more});
    let row = |DecisionRow { conditions, answer }: &DecisionRow| json!({"if": conditions.iter().map(condition).collect::<Vec<_>>(), "then": answer::json(answer)});
    let table = |(verb, table): &(Verb, DecisionTable)| {
        json!({
            "verb": verb.as_str(),
            "rows": table.rows.iter().map(row).collect::<Vec<_>>(),
            "truncated": table.truncated,
            "uncacheable": table.uncacheable,
        })
    };
    json!({"policy": policy, "note": SEEN, "tables": tables.iter().map(table).collect::<Vec<_>>()})
}
