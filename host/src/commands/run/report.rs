//! The table of `plimsoll run`.

use std::{collections::BTreeMap, fmt::Write};

use comfy_table::{Table, presets};
use plimsoll_core::{DecideError, FilterOutcome, Pod, Survey, SurveyAnswer, SurveyColumn, Verdict};
use serde_json::{Value, json};

/// What became of one pod.
pub(super) struct Report {
    pod: String,
    survey: Survey,
    rows: Vec<Row>,
    /// Why there is no decision, by verb.
    errors: Vec<(&'static str, DecideError)>,
}

/// What became of one node.
struct Row {
    /// Its index in the request.
    at: usize,
    node: String,
    reason: Option<String>,
    unresolvable: bool,
    score: Option<u8>,
}

// === impl Report ===

impl Report {
    pub(super) fn new(
        pod: &Pod,
        nodes: Vec<String>,
        survey: Survey,
        filter: Result<FilterOutcome, DecideError>,
        kept: &[usize],
        scores: Result<Vec<u8>, DecideError>,
    ) -> Self {
        let row = |(at, node)| Row { at, node, reason: None, unresolvable: false, score: None };
        let mut rows: Vec<Row> = nodes.into_iter().enumerate().map(row).collect();
        let mut errors = Vec::new();
        match filter {
            Ok(outcome) => {
                for rejection in &outcome.rejected {
                    let row = &mut rows[rejection.node as usize];
                    row.reason = Some(outcome.reason(*rejection).to_owned());
                    row.unresolvable = rejection.unresolvable;
                }
            }
            Err(error) => errors.push(("filter", error)),
        }
        match scores {
            Ok(scores) => kept.iter().zip(scores).for_each(|(at, score)| rows[*at].score = Some(score)),
            Err(error) => errors.push(("prioritize", error)),
        }
        // The best first; those turned down last, in the order of the cluster.
        rows.sort_by_key(|row| (row.reason.is_some(), row.score.map_or(0, |score| -i16::from(score)), row.at));
        Self { pod: format!("{}/{}", pod.namespace(), pod.name()), survey, rows, errors }
    }

    pub(super) fn as_text(&self, most_rows: usize) -> String {
        let mut text = format!("pod {}\n\n{}\n", self.pod, self.table(most_rows));
        // Writing to a string cannot fail.
        if self.rows.len() > most_rows {
            let _ = writeln!(text, "... and {} more nodes (--rows, --node)", self.rows.len() - most_rows);
        }
        let _ = writeln!(text, "\n{}", self.summary());
        for (reason, count) in self.histogram() {
            let _ = writeln!(text, "  {count:>5}  {reason}");
        }
        for column in &self.survey.columns {
            if let Err(fault) = &column.answers {
                let _ = writeln!(text, "policy {} failed to {}: {fault}", column.member.id(), column.verb);
            }
        }
        for (member, why) in &self.survey.not_asked {
            let _ = writeln!(text, "policy {} is not asked: {why}", member.id());
        }
        for (verb, error) in &self.errors {
            let _ = writeln!(text, "{verb}: {error}");
        }
        text
    }

    pub(super) fn as_json(&self) -> Value {
        let nodes: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        let column = |column: &SurveyColumn| {
            let fault = column.answers.as_ref().err().map(ToString::to_string);
            json!({"policy": column.member.id(), "verb": column.verb.as_str(), "mode": column.member.config.mode.as_str(), "fault": fault})
        };
        let not_asked =
            |(member, why): &(std::sync::Arc<plimsoll_core::Member>, &str)| json!({"policy": member.id(), "why": why});
        json!({
            "pod": self.pod,
            "nodes": nodes,
            "asked": self.survey.columns.iter().map(column).collect::<Vec<_>>(),
            "not_asked": self.survey.not_asked.iter().map(not_asked).collect::<Vec<_>>(),
            "errors": self.errors.iter().map(|(verb, error)| json!({"verb": verb, "error": error.to_string()})).collect::<Vec<_>>(),
        })
    }

    fn table(&self, most_rows: usize) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let heads = self.survey.columns.iter().map(|column| format!("{}\n{}", column.member.id(), column.verb));
        table.set_header(["node", "decision", "score"].map(ToOwned::to_owned).into_iter().chain(heads));
        for row in self.rows.iter().take(most_rows) {
            let decision = match (&row.reason, row.unresolvable) {
                (None, _) => "fits",
                (Some(_), false) => "unschedulable",
                (Some(_), true) => "unresolvable",
            };
            let score = row.score.map_or_else(String::new, |score| score.to_string());
            let cells = self.survey.columns.iter().map(|column| cell(column, row.at));
            table.add_row([row.node.clone(), decision.to_owned(), score].into_iter().chain(cells));
        }
        table
    }

    fn summary(&self) -> String {
        let left = self.rows.iter().filter(|row| row.reason.is_none()).count();
        let best = self.rows.first().filter(|row| row.reason.is_none());
        let best = best.map_or_else(String::new, |row| {
            let score = row.score.map_or_else(String::new, |score| format!(" with {score}"));
            format!("; best is {}{score}", row.node)
        });
        format!("{left} of {} nodes are left{best}", self.rows.len())
    }

    /// How many nodes each reason turned down, the most first.
    fn histogram(&self) -> Vec<(&str, usize)> {
        let mut counts = BTreeMap::<&str, usize>::new();
        for reason in self.rows.iter().filter_map(|row| row.reason.as_deref()) {
            *counts.entry(reason).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    fn row_json(&self, row: &Row) -> Value {
        let answer = |column: &SurveyColumn| {
            let answer = column.answers.as_ref().ok()?.get(row.at)?.as_ref()?;
            Some(json!({"policy": column.member.id(), "verb": column.verb.as_str(), "answer": answer_json(answer)}))
        };
        let answers: Vec<Value> = self.survey.columns.iter().filter_map(answer).collect();
        json!({
            "node": row.node,
            "fits": row.reason.is_none(),
            "reason": row.reason,
            "unresolvable": row.unresolvable,
            "score": row.score,
            "answers": answers,
        })
    }
}

fn cell(column: &SurveyColumn, at: usize) -> String {
    let Ok(answers) = &column.answers else { return "fault".to_owned() };
    match answers.get(at).and_then(Option::as_ref) {
        None => "node not seen".to_owned(),
        Some(SurveyAnswer::Score(score)) => score.to_string(),
        Some(SurveyAnswer::Verdict(Verdict::Fits)) => "fits".to_owned(),
        Some(SurveyAnswer::Verdict(Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason))) => {
            reason.to_string()
        }
    }
}

fn answer_json(answer: &SurveyAnswer) -> Value {
    match answer {
        SurveyAnswer::Score(score) => json!(score),
        SurveyAnswer::Verdict(Verdict::Fits) => json!("fits"),
        SurveyAnswer::Verdict(Verdict::Unschedulable(reason)) => json!({ "unschedulable": reason }),
        SurveyAnswer::Verdict(Verdict::Unresolvable(reason)) => json!({ "unresolvable": reason }),
    }
}
