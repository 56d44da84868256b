//! The report of `plimsoll run` on one pod: a table of the nodes and a summary for people, JSON for programs.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use comfy_table::{Table, presets};
use plimsoll_core::{
    DecideError, FaultKind, FilterOutcome, Member, Mode, OnError, Pod, SchedulerFilters, SchedulerRejection,
    ScoreScale, Survey, SurveyAnswer, SurveyColumn, Verb, Verdict,
};
use serde_json::{Value, json};

use crate::{
    render::answer,
    text::{count, one_line, push_line},
};

/// The result for one pod.
pub(super) struct RunReport<'f> {
    pod: String,
    /// The filters of kube-scheduler that the pod uses and that were not asked; none: none of them was asked.
    not_modelled: Option<Vec<&'static str>>,
    /// Why kube-scheduler tries the pod on no node.
    not_tried: Option<&'static str>,
    survey: Survey,
    /// One for each node, the best first.
    rows: Vec<ReportRow<'f>>,
    /// Why there is no decision: then nothing is known about any node.
    filter_error: Option<DecideError>,
    /// Why there are no scores; kube-scheduler continues without them.
    score_error: Option<DecideError>,
}

/// The result for one node.
struct ReportRow<'f> {
    /// Its index in the cluster.
    at: usize,
    /// Its index in the request; none if kube-scheduler's own filters reject it.
    asked: Option<usize>,
    node: String,
    rejection: Option<SchedulerRejection<'f>>,
    /// The requested resources whose devices kube-scheduler counts; empty if there are none.
    devices: String,
    /// None if there is no decision.
    verdict: Option<Verdict>,
    score: Option<u32>,
    /// Whether the row is shown; the decision is about all nodes.
    is_shown: bool,
}

// === impl ReportRow ===

impl ReportRow<'_> {
    fn fits(&self) -> bool {
        self.verdict == Some(Verdict::Fits)
    }

    fn reason(&self) -> Option<&str> {
        match self.verdict.as_ref()? {
            Verdict::Fits => None,
            Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason) => Some(reason),
        }
    }
}

// === impl RunReport ===

impl<'f> RunReport<'f> {
    /// The report without scores. The policies were asked about the nodes that kube-scheduler's own filters do not reject.
    pub(super) fn new(
        pod: &Pod,
        nodes: Vec<(&str, Option<SchedulerRejection<'f>>, String)>,
        filters: Option<&SchedulerFilters<'_>>,
        survey: Survey,
        filter: Result<FilterOutcome, DecideError>,
    ) -> Self {
        let fits = filter.is_ok().then_some(Verdict::Fits);
        let mut indices = 0..nodes.len();
        let row =
            |(at, (node, rejection, devices)): (usize, (&str, Option<SchedulerRejection<'f>>, String))| ReportRow {
                at,
                asked: if rejection.is_none() { indices.next() } else { None },
                node: node.to_owned(),
                verdict: rejection.as_ref().map_or_else(|| fits.clone(), |rejection| Some(verdict_of(rejection))),
                rejection,
                devices,
                score: None,
                is_shown: true,
            };
        let mut rows: Vec<ReportRow<'f>> = nodes.into_iter().enumerate().map(row).collect();
        if let Ok(outcome) = &filter {
            let mut asked: Vec<&mut ReportRow<'f>> = rows.iter_mut().filter(|row| row.asked.is_some()).collect();
            for rejection in &outcome.rejected {
                let reason = outcome.reason(*rejection).to_string().into();
                let verdict =
                    if rejection.unresolvable { Verdict::Unresolvable(reason) } else { Verdict::Unschedulable(reason) };
                asked[rejection.node as usize].verdict = Some(verdict);
            }
        }
        let pod = format!("{}/{}", pod.namespace(), pod.name());
        Self {
            pod,
            not_modelled: filters.map(|filters| filters.not_modelled().to_vec()),
            not_tried: filters.and_then(SchedulerFilters::not_tried),
            survey,
            rows,
            filter_error: filter.err(),
            score_error: None,
        }
    }

    /// The name of the node at an index of the cluster, before the rows are sorted.
    pub(super) fn node(&self, at: usize) -> &str {
        &self.rows[at].node
    }

    /// The indices of the nodes that fit.
    pub(super) fn kept(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().filter(|row| row.fits()).map(|row| row.at)
    }

    /// Adds the scores of the nodes at these indices, if a policy scores them.
    pub(super) fn add_scores(&mut self, kept: &[usize], scores: Result<Vec<u32>, DecideError>) {
        let is_scored = self.survey.columns.iter().any(scores_nodes);
        match scores {
            Ok(scores) if is_scored => {
                kept.iter().zip(scores).for_each(|(at, score)| self.rows[*at].score = Some(score));
            }
            Ok(_) => {}
            Err(error) => self.score_error = Some(error),
        }
    }

    /// The best first; rejected nodes last, in the order of the cluster.
    pub(super) fn sort(&mut self) {
        self.rows.sort_by_key(|row| (!row.fits(), row.score.map_or(0, |score| -i64::from(score)), row.at));
    }

    /// Shows only the rows of these nodes.
    pub(super) fn show_only(&mut self, nodes: &[String]) {
        self.rows.iter_mut().for_each(|row| row.is_shown = nodes.contains(&row.node));
    }

    /// Whether kube-scheduler would have got all its answers.
    pub(super) fn is_decided(&self) -> bool {
        self.filter_error.is_none() && self.score_error.is_none()
    }

    pub(super) fn as_json(&self) -> Value {
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
        let mut json = json!({
            "pod": self.pod,
            "decision": self.decision_json(),
            "nodes": self.shown().map(|row| self.row_json(row)).collect::<Vec<_>>(),
            "asked": self.survey.columns.iter().map(column).collect::<Vec<_>>(),
            "notAsked": self.survey.not_asked.iter().map(not_asked).collect::<Vec<_>>(),
        });
        if let Some(plugins) = &self.not_modelled {
            json["notModelled"] = plugins.as_slice().into();
            json["notTried"] = self.not_tried.into();
        }
        json
    }

    /// The verdict for all nodes, and its details.
    fn decision_json(&self) -> Value {
        if let Some(error) = &self.filter_error {
            return answer::error_json(error);
        }
        json!({
            "verdict": if self.left() == 0 { "unschedulable" } else { "fits" },
            "nodes": self.rows.len(),
            "asked": self.asked(),
            "left": self.left(),
            "best": self.best().map(|row| json!({"node": row.node, "score": row.score})),
            "scores": self.score_error.as_ref().map(answer::error_json),
        })
    }

    fn row_json(&self, row: &ReportRow<'_>) -> Value {
        let answer = |column: &SurveyColumn| {
            let answer = column.answers.as_ref().ok()?.get(row.asked?)?.as_ref()?;
            Some(json!({"policy": column.member.id(), "verb": column.verb.as_str(), "answer": answer::json(answer)}))
        };
        let mut json = json!({
            "node": row.node,
            "fits": row.verdict.as_ref().map(|verdict| *verdict == Verdict::Fits),
            "decision": row.verdict.as_ref().map_or_else(|| json!({"verdict": "error"}), answer::verdict_json),
            "score": row.score,
            "answers": self.survey.columns.iter().filter_map(answer).collect::<Vec<_>>(),
        });
        if self.not_modelled.is_some() {
            let rejection = row.rejection.as_ref();
            json["kubeScheduler"] = json!({
                "fits": rejection.is_none(),
                "plugin": rejection.map(|rejection| rejection.plugin),
                "reasons": rejection.map_or(&[][..], |rejection| &rejection.reasons),
            });
            if !row.devices.is_empty() {
                json["kubeScheduler"]["devices"] = row.devices.as_str().into();
            }
        }
        json
    }

    pub(super) fn as_text(&self, most_rows: usize) -> String {
        let mut text = String::new();
        push_line(&mut text, format_args!("pod {}", self.pod));
        if let Some(why) = self.not_tried {
            push_line(&mut text, answer::not_tried_text(why));
        }
        let rows = self.grouped_rows();
        // The table has line breaks; its cells were escaped one by one.
        text.extend(["\n", &self.table(rows.iter().take(most_rows)).trim_fmt(), "\n"]);
        let left_out: usize = rows.iter().skip(most_rows).map(|(_, nodes, _)| nodes).sum();
        if left_out > 0 {
            push_line(&mut text, format_args!("... and {} (--rows, --node)", count(left_out, "more node")));
        }
        text.push('\n');
        push_line(&mut text, self.summary());
        for (reason, count) in self.histogram() {
            push_line(&mut text, format_args!("  {count:>5}  {reason}"));
        }
        for (reason, count) in self.further_reasons() {
            push_line(&mut text, format_args!("  {count:>5}  of these also {reason}"));
        }
        if let Some(error) = &self.score_error {
            push_line(&mut text, format_args!("no scores: {error}: kube-scheduler goes on without them"));
        }
        for column in &self.survey.columns {
            if let Err(fault) = &column.answers {
                let (id, verb, nodes) = (column.member.id(), column.verb, count(self.asked(), "node"));
                let effect = consequence(column, fault.kind);
                push_line(
                    &mut text,
                    format_args!("policy {id} failed to {verb} in a call about all {nodes}: {fault} ({effect})"),
                );
            }
        }
        if let Some(plugins) = self.not_modelled.as_ref().filter(|plugins| !plugins.is_empty()) {
            let plugins = plugins.join(", ");
            push_line(&mut text, format_args!("not asked of kube-scheduler: {plugins}; they may reject more nodes"));
        }
        for (member, why) in &self.survey.not_asked {
            push_line(&mut text, format_args!("policy {} is not asked: {why}", member.id()));
        }
        text
    }

    /// The first node of those that differ only in their names, their number, and the other cells; each node that is asked for.
    fn grouped_rows(&self) -> Vec<(&str, usize, Vec<String>)> {
        let is_choice = self.rows.iter().any(|row| !row.is_shown);
        let mut groups: Vec<(&str, usize, Vec<String>)> = vec![];
        let mut group_of = HashMap::<Vec<String>, usize>::new();
        for row in self.shown() {
            let cells = self.cells(row);
            match group_of.get(&cells) {
                Some(at) if !is_choice => groups[*at].1 += 1,
                _ => {
                    group_of.insert(cells.clone(), groups.len());
                    groups.push((&row.node, 1, cells));
                }
            }
        }
        groups
    }

    /// The cells of a row behind the node's name.
    fn cells(&self, row: &ReportRow<'_>) -> Vec<String> {
        let decision = match &row.verdict {
            None => "error",
            Some(Verdict::Fits) => "fits",
            Some(Verdict::Unschedulable(_)) => "unschedulable",
            Some(Verdict::Unresolvable(_)) => "unresolvable",
        };
        let score = row.score.map_or_else(String::new, |score| score.to_string());
        let scheduler = self.not_modelled.is_some().then(|| match &row.rejection {
            None if row.devices.is_empty() => "fits".to_owned(),
            None => one_line(&row.devices).into_owned(),
            Some(rejection) => one_line(&rejection.reasons.join(", ")).into_owned(),
        });
        let answers = self.survey.columns.iter().map(|column| cell(column, row.asked));
        [decision.to_owned(), score].into_iter().chain(scheduler).chain(answers).collect()
    }

    fn table<'r>(&self, rows: impl Iterator<Item = &'r (&'r str, usize, Vec<String>)>) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let heads = self.survey.columns.iter().map(|column| {
            let shadow = if column.member.config.mode == Mode::Shadow { " (shadow)" } else { "" };
            format!("{}\n{}{}{shadow}", column.member.id(), column.verb, scale(column))
        });
        let first = ["node".to_owned(), "decision".to_owned(), format!("score\n0 to {}", ScoreScale::Coarse.max())];
        let scheduler = self.not_modelled.is_some().then(|| "kube-scheduler\nfilters".to_owned());
        table.set_header(first.into_iter().chain(scheduler).chain(heads));
        for (node, nodes, cells) in rows {
            let others = if *nodes > 1 { format!(" and {} more", nodes - 1) } else { String::new() };
            table.add_row([format!("{}{others}", one_line(node))].iter().chain(cells));
        }
        table
    }

    fn summary(&self) -> String {
        if let Some(error) = &self.filter_error {
            return answer::no_decision(error);
        }
        let best = match self.best() {
            Some(best) => self.best_text(best),
            None if self.left() > 0 && self.score_error.is_none() => "; no policy scores them".to_owned(),
            None => String::new(),
        };
        let are = if self.left() == 1 || self.rows.len() == 1 { "is" } else { "are" };
        let scheduler = match self.rows.len() - self.asked() {
            0 => String::new(),
            rejected => format!("; kube-scheduler's own filters reject {rejected}"),
        };
        let otherwise = if self.not_tried.is_some() { "otherwise " } else { "" };
        format!("{otherwise}{} of {} {are} left{scheduler}{best}", self.left(), count(self.rows.len(), "node"))
    }

    fn best_text(&self, best: &ReportRow<'_>) -> String {
        let score =
            best.score.map_or_else(String::new, |score| format!(" with {score} of {}", ScoreScale::Coarse.max()));
        let equal = self.rows.iter().filter(|row| row.fits() && row.score == best.score).count() - 1;
        let others = match equal {
            0 => String::new(),
            1 => "; 1 other has the same score".to_owned(),
            equal => format!("; {equal} others have the same score"),
        };
        format!("; best is {}{score}{others}", best.node)
    }

    fn shown(&self) -> impl Iterator<Item = &ReportRow<'f>> {
        self.rows.iter().filter(|row| row.is_shown)
    }

    /// The number of nodes that the policies were asked about.
    fn asked(&self) -> usize {
        self.rows.iter().filter(|row| row.asked.is_some()).count()
    }

    fn left(&self) -> usize {
        self.kept().count()
    }

    /// The first node of the highest score; none if nobody scores the nodes.
    fn best(&self) -> Option<&ReportRow<'f>> {
        self.rows.first().filter(|row| row.fits() && row.score.is_some())
    }

    /// The number of nodes rejected for each reason, the largest first.
    fn histogram(&self) -> Vec<(&str, usize)> {
        histogram(self.rows.iter().filter_map(ReportRow::reason))
    }

    /// The number of rejected nodes that policies beside the one that decides reject too, by the reason.
    fn further_reasons(&self) -> Vec<(String, usize)> {
        let filters = self.survey.columns.iter().filter(|column| {
            column.verb == Verb::Filter && column.member.config.mode == Mode::Enforce && column.answers.is_ok()
        });
        let reasons = filters.flat_map(|column| {
            let reason_at = move |row: &ReportRow<'_>| {
                let answer = column.answers.as_ref().ok()?.get(row.asked?)?.as_ref()?;
                let SurveyAnswer::Verdict(Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason)) = answer
                else {
                    return None;
                };
                let text = format!("{}: {}", column.member.name, one_line(reason).trim());
                (row.reason()? != text).then_some(text)
            };
            self.rows.iter().filter_map(reason_at)
        });
        histogram(reasons)
    }
}

/// How often each text is there, the most frequent first.
fn histogram<T: Ord>(texts: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts = BTreeMap::<T, usize>::new();
    texts.for_each(|text| *counts.entry(text).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

fn verdict_of(rejection: &SchedulerRejection<'_>) -> Verdict {
    let reason = format!("kube-scheduler: {}", rejection.reasons.join(", ")).into();
    if rejection.unresolvable { Verdict::Unresolvable(reason) } else { Verdict::Unschedulable(reason) }
}

/// Whether the column counts for the scores that kube-scheduler gets.
fn scores_nodes(column: &SurveyColumn) -> bool {
    let config = &column.member.config;
    column.verb != Verb::Filter && config.mode == Mode::Enforce && config.weight > 0
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

fn cell(column: &SurveyColumn, asked: Option<usize>) -> String {
    let Some(at) = asked else { return "not asked".to_owned() };
    let Ok(answers) = &column.answers else { return "fault".to_owned() };
    match answers.get(at).and_then(Option::as_ref) {
        None => "node not seen".to_owned(),
        Some(SurveyAnswer::Verdict(Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason))) => {
            one_line(reason).into_owned()
        }
        Some(answer) => answer::text(answer),
    }
}
