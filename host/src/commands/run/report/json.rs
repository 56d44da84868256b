//! The report for programs.

use std::sync::Arc;

use plimsoll_core::{DryBind, Member, SurveyColumn, Verdict};
use serde_json::{Value, json};

use super::{Binds, ReportRow, RunReport};
use crate::render::answer;

// === impl RunReport ===

impl RunReport {
    pub(in super::super) fn as_json(&self, binds: &Binds<'_>) -> Value {
        let nodes: Vec<Value> = self.shown.iter().map(|at| self.row_json(&self.rows[*at])).collect();
        let column = |column: &SurveyColumn| {
            json!({
                "policy": column.member.id(),
                "verb": column.verb.as_str(),
                "mode": column.member.config.mode.as_str(),
                "onError": column.member.config.on_error(column.verb).as_str(),
                "fault": column.answers.as_ref().err().map(answer::fault_json),
            })
        };
        let not_asked = |(member, why): &(Arc<Member>, &str)| json!({"policy": member.id(), "why": why});
        let bind = |(node, bind): &(&str, &DryBind)| json!({"node": node, "answer": answer::bind_json(bind)});
        json!({
            "pod": self.pod,
            "decision": self.decision_json(),
            "nodes": nodes,
            "binds": binds.iter().map(bind).collect::<Vec<_>>(),
            "asked": self.survey.columns.iter().map(column).collect::<Vec<_>>(),
            "notAsked": self.survey.not_asked.iter().map(not_asked).collect::<Vec<_>>(),
        })
    }

    /// The verdict for all nodes, and its details.
    fn decision_json(&self) -> Value {
        if let Some(error) = &self.filter_error {
            return answer::error_json(error);
        }
        let best = self.best().map(|row| json!({"node": row.node, "score": row.score}));
        json!({
            "verdict": if self.left() == 0 { "unschedulable" } else { "fits" },
            "nodes": self.rows.len(),
            "left": self.left(),
            "best": best,
            "scores": self.score_error.as_ref().map(answer::error_json),
        })
    }

    fn row_json(&self, row: &ReportRow) -> Value {
        let answer = |column: &SurveyColumn| {
            let answer = column.answers.as_ref().ok()?.get(row.at)?.as_ref()?;
            Some(json!({"policy": column.member.id(), "verb": column.verb.as_str(), "answer": answer::json(answer)}))
        };
        let answers: Vec<Value> = self.survey.columns.iter().filter_map(answer).collect();
        let error = || json!({"verdict": "error"});
        json!({
            "node": row.node,
            "fits": row.verdict.as_ref().map(|verdict| *verdict == Verdict::Fits),
            "decision": row.verdict.as_ref().map_or_else(error, answer::verdict_json),
            "score": row.score,
            "answers": answers,
        })
    }
}
