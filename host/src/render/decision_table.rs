//! A decision table: which values that were read led to which answer.

use plimsoll_core::{Condition, DecisionRow, DecisionTable, Verb};
use serde_json::{Value, json};

use super::answer;
/// A reminder that the rows are not a rule.
const SEEN: &str = "combinations that were seen, not a rule: other values may lead to other answers";

/// A table for each verb.
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
