//! The report of `plimsoll run` on one pod, which is written as text or as JSON.

mod json;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::{DecideError, DryBind, FilterOutcome, Mode, Pod, ScoreScale, Survey, SurveyColumn, Verb, Verdict};

/// The result for one pod.
pub(super) struct RunReport {
    pod: String,
    survey: Survey,
    /// One for each node, the best first.
    rows: Vec<ReportRow>,
    /// The rows of nodes to show; the decision is about all of them.
    shown: Vec<usize>,
    /// Whether any policy scores the nodes for this pod.
    is_scored: bool,
    /// The scale of the scores.
    scale: ScoreScale,
    /// Why there is no decision: then nothing is known about any node.
    filter_error: Option<DecideError>,
    /// Why there are no scores; kube-scheduler continues without them.
    score_error: Option<DecideError>,
}

/// The result for one node.
struct ReportRow {
    /// Its index in the request.
    at: usize,
    node: String,
    /// None if there is no decision.
    verdict: Option<Verdict>,
    score: Option<u32>,
}

/// The dry-run binds for the nodes of `--node`.
type Binds<'b> = [(&'b str, &'b DryBind)];

// === impl ReportRow ===

impl ReportRow {
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

impl RunReport {
    pub(super) fn new(
        pod: &Pod,
        nodes: Vec<String>,
        survey: Survey,
        filter: Result<FilterOutcome, DecideError>,
        kept: &[usize],
        (scale, scores): (ScoreScale, Result<Vec<u32>, DecideError>),
    ) -> Self {
        let verdict = filter.is_ok().then_some(Verdict::Fits);
        let row = |(at, node)| ReportRow { at, node, verdict: verdict.clone(), score: None };
        let mut rows: Vec<ReportRow> = nodes.into_iter().enumerate().map(row).collect();
        if let Ok(outcome) = &filter {
            for rejection in &outcome.rejected {
                let reason = outcome.reason(*rejection).into();
                let verdict =
                    if rejection.unresolvable { Verdict::Unresolvable(reason) } else { Verdict::Unschedulable(reason) };
                rows[rejection.node as usize].verdict = Some(verdict);
            }
        }
        let is_scored = survey.columns.iter().any(scores_nodes);
        if let (Ok(scores), true) = (&scores, is_scored) {
            kept.iter().zip(scores).for_each(|(at, score)| rows[*at].score = Some(*score));
        }
        // The best first; rejected nodes last, in the order of the cluster.
        rows.sort_by_key(|row| (!row.fits(), row.score.map_or(0, |score| -i64::from(score)), row.at));
        let pod = format!("{}/{}", pod.namespace(), pod.name());
        let shown = (0..rows.len()).collect();
        let (filter_error, score_error) = (filter.err(), scores.err());
        Self { pod, survey, rows, shown, is_scored, scale, filter_error, score_error }
    }

    /// Shows only the rows of these nodes.
    pub(super) fn show_only(&mut self, nodes: &BTreeSet<&str>) {
        self.shown.retain(|at| nodes.contains(self.rows[*at].node.as_str()));
    }

    /// Whether kube-scheduler would have got all its answers.
    pub(super) fn is_decided(&self) -> bool {
        self.filter_error.is_none() && self.score_error.is_none()
    }

    fn left(&self) -> usize {
        self.rows.iter().filter(|row| row.fits()).count()
    }

    /// The first node of the highest score; none if nobody scores the nodes.
    fn best(&self) -> Option<&ReportRow> {
        self.rows.first().filter(|row| row.fits() && row.score.is_some())
    }

    /// The number of nodes rejected for each reason, the largest first.
    fn histogram(&self) -> Vec<(&str, usize)> {
        let mut counts = BTreeMap::<&str, usize>::new();
        for reason in self.rows.iter().filter_map(ReportRow::reason) {
            *counts.entry(reason).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }
}

/// Whether the column counts for the scores that kube-scheduler gets.
fn scores_nodes(column: &SurveyColumn) -> bool {
    let config = &column.member.config;
    column.verb != Verb::Filter && config.mode == Mode::Enforce && config.weight > 0
}
