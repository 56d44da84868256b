//! The report for people: a table of the nodes, and a summary.

use comfy_table::{Table, presets};
use plimsoll_core::{DecideError, FaultKind, Mode, OnError, SurveyAnswer, SurveyColumn, Verb, Verdict};

use super::{Binds, ReportRow, RunReport};
use crate::{
    render::answer,
    text::{count, one_line, push_line},
};

// === impl RunReport ===

impl RunReport {
    pub(in super::super) fn as_text(&self, most_rows: usize, binds: &Binds<'_>) -> String {
        let mut text = String::new();
        push_line(&mut text, format_args!("pod {}", self.pod));
        // The table has line breaks; its cells were escaped one by one.
        text.push('\n');
        text += &self.table(most_rows).to_string();
        text.push('\n');
        if self.shown.len() > most_rows {
            let more = count(self.shown.len() - most_rows, "more node");
            push_line(&mut text, format_args!("... and {more} (--rows, --node)"));
        }
        text.push('\n');
        push_line(&mut text, format_args!("{}", self.summary()));
        for (reason, count) in self.histogram() {
            push_line(&mut text, format_args!("  {count:>5}  {reason}"));
        }
        // Without a decision kube-scheduler binds to no node.
        for (node, bind) in binds.iter().filter(|_| self.filter_error.is_none()) {
            push_line(&mut text, format_args!("bind on {node}: {}", answer::bind_text(bind)));
        }
        if let Some(error) = &self.score_error {
            push_line(&mut text, format_args!("no scores: {error}: kube-scheduler goes on without them"));
        }
        for column in &self.survey.columns {
            if let Err(fault) = &column.answers
                && !self.is_said(column, fault.kind)
            {
                let (id, verb, nodes) = (column.member.id(), column.verb, count(self.rows.len(), "node"));
                let (effect, remark) = (consequence(column, fault.kind), self.remark_on_fault(column));
                push_line(
                    &mut text,
                    format_args!(
                        "policy {id} failed to {verb} in a call about all {nodes}: {fault} ({effect}){remark}"
                    ),
                );
            }
        }
        for (member, why) in &self.survey.not_asked {
            push_line(&mut text, format_args!("policy {} is not asked: {why}", member.id()));
        }
        text
    }

    /// Whether the fault is the reason, said above, that there is no decision or no scores: the call for the decision and
    /// that for the column fail alike, perhaps about other nodes.
    fn is_said(&self, column: &SurveyColumn, of_column: FaultKind) -> bool {
        [&self.filter_error, &self.score_error].into_iter().flatten().any(|error| match error {
            DecideError::Policy { policy, verb, fault } => {
                *policy == column.member.id() && *verb == column.verb && fault.kind == of_column
            }
            _ => false,
        })
    }

    /// Why a column may have no answers although there is a decision: the columns are about all nodes.
    fn remark_on_fault(&self, column: &SurveyColumn) -> &'static str {
        let is_decided = if column.verb == Verb::Filter { self.filter_error.is_none() } else { self.is_decided() };
        if is_decided && column.member.config.mode == Mode::Enforce {
            "; the decision above is what kube-scheduler gets: for it each policy is asked only about the nodes that are left"
        } else {
            ""
        }
    }

    fn table(&self, most_rows: usize) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let heads = self.survey.columns.iter().map(|column| {
            let shadow = if column.member.config.mode == Mode::Shadow { " (shadow)" } else { "" };
            format!("{}\n{}{}{shadow}", column.member.id(), column.verb, scale(column))
        });
        let first = ["node".to_owned(), "decision".to_owned(), format!("score\n0 to {}", self.scale.max())];
        table.set_header(first.into_iter().chain(heads));
        for row in self.shown.iter().take(most_rows).map(|at| &self.rows[*at]) {
            let decision = match &row.verdict {
                None => "error",
                Some(Verdict::Fits) => "fits",
                Some(Verdict::Unschedulable(_)) => "unschedulable",
                Some(Verdict::Unresolvable(_)) => "unresolvable",
            };
            let score = row.score.map_or_else(String::new, |score| score.to_string());
            let cells = self.survey.columns.iter().map(|column| cell(column, row.at));
            table.add_row([one_line(&row.node).into_owned(), decision.to_owned(), score].into_iter().chain(cells));
        }
        table
    }

    fn summary(&self) -> String {
        if let Some(error) = &self.filter_error {
            return answer::no_decision(error);
        }
        let best = match self.best() {
            Some(best) => self.best_text(best),
            None if self.left() > 0 && !self.is_scored => "; no policy scores them".to_owned(),
            None => String::new(),
        };
        let are = if self.left() == 1 || self.rows.len() == 1 { "is" } else { "are" };
        format!("{} of {} {are} left{best}", self.left(), count(self.rows.len(), "node"))
    }

    fn best_text(&self, best: &ReportRow) -> String {
        let score = best.score.map_or_else(String::new, |score| format!(" with {score} of {}", self.scale.max()));
        let equal = self.rows.iter().filter(|row| row.fits() && row.score == best.score).count() - 1;
        let others = match equal {
            0 => String::new(),
            1 => "; 1 other has the same score".to_owned(),
            equal => format!("; {equal} others have the same score"),
        };
        format!("; best is {}{score}{others}", best.node)
    }
}

/// The scale of a column's numbers, and the weight that they have in the score.
fn scale(column: &SurveyColumn) -> String {
    match (column.verb, column.member.config.weight) {
        (Verb::Filter, _) => String::new(),
        (_, 1) => ", 0 to 100".to_owned(),
        (_, weight) => format!(", 0 to 100\nweight {weight}"),
    }
}

/// The effect of a policy's fault on the decision, and the setting that decides it.
fn consequence(column: &SurveyColumn, kind: FaultKind) -> String {
    let config = &column.member.config;
    let setting = answer::setting_for(kind);
    match (config.mode, config.on_fault(column.verb, kind)) {
        (Mode::Shadow, _) => "in shadow: it decides nothing".to_owned(),
        (_, OnError::Fail) => format!("{setting}: fail"),
        (_, OnError::Ignore) => format!("{setting}: ignore: it is left out"),
    }
}

fn cell(column: &SurveyColumn, at: usize) -> String {
    let Ok(answers) = &column.answers else { return "fault".to_owned() };
    match answers.get(at).and_then(Option::as_ref) {
        None => "node not seen".to_owned(),
        Some(SurveyAnswer::Verdict(Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason))) => {
            one_line(reason).into_owned()
        }
        Some(answer) => answer::text(answer),
    }
}
