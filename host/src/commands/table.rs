//! `plimsoll table`: the decision table that a policy shows when it is asked about some pods and all nodes.

use std::{borrow::Cow, fmt::Write, process::ExitCode, sync::Arc, time::Instant};

use anyhow::{Context, Result};
use comfy_table::{Table, presets};
use plimsoll_core::{Condition, DecisionRow, DecisionTable, Nodes, Query, Roster, Verb};
use serde_json::{Value, json};

use super::laptop;
use crate::args::{Output, TableArgs};

pub(super) fn table(args: &TableArgs) -> Result<ExitCode> {
    let (snapshot, kubeconfig) = (args.snapshot.as_deref(), args.kubeconfig.as_deref());
    let (gateway, cluster) = laptop::gateway(&args.policies, snapshot, kubeconfig, &args.engine)?;
    let roster = gateway.roster();
    let member = roster.members().find(|member| member.id() == args.policy);
    let member = member.with_context(|| format!("{} has no policy '{}'", args.policies.display(), args.policy))?;
    // By itself it is asked about every node, whatever others would turn down before it.
    let alone =
        Roster::new([(Arc::clone(&member.group), plimsoll_core::Group::new(vec![Arc::clone(member)]))].into(), vec![]);
    gateway.set_roster(Arc::new(alone));
    let names: Vec<Cow<'_, str>> =
        cluster.slots().iter().map(|slot| Cow::Borrowed(slot.node.name().as_ref())).collect();
    for path in &args.pods {
        let pod = Arc::new(laptop::read_pod(path)?);
        let query = || Query { pod: Arc::clone(&pod), nodes: Nodes::Names(&names), received: Instant::now() };
        gateway.filter(&member.group, &query())?.1.run();
        gateway.prioritize(&member.group, &query())?.1.run();
    }
    let tables = gateway.decision_tables(&args.policy)?;
    match args.output {
        Output::Text => super::print(&as_text(&tables))?,
        Output::Json => super::print(&format!("{:#}\n", as_json(&args.policy, &tables)))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn as_text(tables: &[(Verb, DecisionTable)]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (verb, DecisionTable { rows, is_cut, asked_each_time }) in tables {
        let _ = writeln!(text, "{verb}");
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["if", "then"]);
        for row in rows {
            let conditions: Vec<String> = row.conditions.iter().map(condition_text).collect();
            let conditions = if conditions.is_empty() { "always".to_owned() } else { conditions.join("\n") };
            table.add_row([conditions.as_str(), row.answer.as_str()]);
        }
        let _ = writeln!(text, "{table}");
        if *is_cut {
            let _ = writeln!(text, "... and more");
        }
        if *asked_each_time > 0 {
            let _ = writeln!(
                text,
                "{asked_each_time} kinds of pods are asked about each time: it reads of more than one node"
            );
        }
        text.push('\n');
    }
    text
}

fn condition_text(Condition { read, values, more }: &Condition) -> String {
    match (values.as_slice(), more) {
        ([value], 0) => format!("{read} = {value}"),
        (values, 0) => format!("{read} in {}", values.join(", ")),
        (values, more) => format!("{read} in {} and {more} more", values.join(", ")),
    }
}

/// The same for programs, and for the admin listener.
pub(crate) fn as_json(policy: &str, tables: &[(Verb, DecisionTable)]) -> Value {
    let condition =
        |Condition { read, values, more }: &Condition| json!({"read": read, "values": values, "more": more});
    let row = |DecisionRow { conditions, answer }: &DecisionRow| json!({"if": conditions.iter().map(condition).collect::<Vec<_>>(), "then": answer});
    let table = |(verb, table): &(Verb, DecisionTable)| {
        json!({
            "verb": verb.as_str(),
            "rows": table.rows.iter().map(row).collect::<Vec<_>>(),
            "cut": table.is_cut,
            "asked_each_time": table.asked_each_time,
        })
    };
    json!({"policy": policy, "tables": tables.iter().map(table).collect::<Vec<_>>()})
}
