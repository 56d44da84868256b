//! The pods that wait for a node, for people.

use std::time::{Duration, SystemTime};

use comfy_table::{Table, presets};

use crate::{
    pending::{
        AttemptsJson, ConditionJson, NominatedJson, PendingJson, PendingPodJson, ReasonJson, RefusalJson, WaitingJson,
    },
    text::{count, one_line, push_line},
};

/// One line for each pod.
pub(crate) fn as_list(PendingJson { pods }: &PendingJson) -> String {
    if pods.is_empty() {
        return "no pod is known to wait for a node\n".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["pod", "waits", "groups", "attempts", "reason", "nominated"]);
    for pod in pods {
        let groups: Vec<&str> = pod.groups.iter().map(|group| group_name(group)).collect();
        let nominated = pod.nominated.as_ref().map(nominated_text).unwrap_or_default();
        let cells = [
            pod.pod.clone(),
            age(&pod.since).unwrap_or_default(),
            groups.join(", "),
            pod.attempts.to_string(),
            main_reason(pod),
            nominated,
        ];
        table.add_row(cells.map(|cell| one_line(&cell).into_owned()));
    }
    format!("{}\n", table.trim_fmt())
}

fn main_reason(pod: &WaitingJson) -> String {
    match (&pod.not_tried, &pod.reason, pod.nodes) {
        (Some(why), ..) => format!("kube-scheduler does not try it: {why}"),
        (_, Some(reason), Some(nodes)) => format!("{}/{nodes} {}", reason.nodes.unwrap_or(nodes), reason_text(reason)),
        // A fault, or kube-scheduler's own text.
        (_, Some(reason), None) => reason.text.to_string(),
        (_, None, _) if pod.groups.is_empty() => "this gateway has not been asked about it".to_owned(),
        (_, None, _) => "the last answer left it nodes".to_owned(),
    }
}

/// All that is known of one pod.
pub(crate) fn as_text(pod: &PendingPodJson) -> String {
    let mut text = String::new();
    push_line(&mut text, format_args!("pod {} waits since {}", pod.pod, with_age(&pod.since)));
    if let Some(why) = &pod.not_tried {
        push_line(&mut text, format_args!("kube-scheduler does not try it: {why}"));
    }
    if let Some(nominated) = &pod.nominated {
        push_line(&mut text, format_args!("nominated for {}", nominated_text(nominated)));
    }
    if pod.wake_due {
        push_line(&mut text, "a node would keep it now: kube-scheduler will be told to try it again");
    }
    if let Some(ConditionJson { since, reason, message }) = &pod.condition {
        let since = since.as_ref().map(|since| format!(", since {}", with_age(since))).unwrap_or_default();
        push_line(&mut text, format_args!("condition {reason}{since}: {message}"));
    }
    if let Some(fault) = &pod.fault {
        push_line(&mut text, format_args!("the last request failed at {}: {}", with_age(&fault.at), fault.text));
    }
    if pod.attempts.is_empty() && pod.fault.is_none() {
        push_line(
            &mut text,
            "this gateway has not been asked about it: kube-scheduler's own filters may have rejected all nodes, or another replica was asked",
        );
    }
    pod.attempts.iter().for_each(|attempts| push_attempts(&mut text, attempts));
    if !pod.policies.is_empty() {
        text.push('\n');
    }
    for policy in &pod.policies {
        let since = policy.since.as_ref().map(|since| with_age(since));
        match policy.version.zip(since) {
            Some((version, since)) => {
                push_line(&mut text, format_args!("policy {}: version {version}, loaded at {since}", policy.policy));
            }
            None => push_line(&mut text, format_args!("policy {}: no version is in force", policy.policy)),
        }
    }
    text
}

fn push_attempts(text: &mut String, asked: &AttemptsJson) {
    text.push('\n');
    let (group, attempts) = (group_name(&asked.group), count(asked.attempts as usize, "attempt"));
    let last = with_age(&asked.last);
    let left = if asked.is_refused { "no node was left" } else { "nodes were left" };
    push_line(text, format_args!("group {group}: {attempts}, the last at {last}: {left}"));
    let Some(RefusalJson { nodes, whole_cluster, reasons, others }) = &asked.refusal else { return };
    let nodes = count(*nodes as usize, "node");
    if *whole_cluster {
        push_line(text, format_args!("of {nodes} of the whole cluster:"));
    } else {
        push_line(text, format_args!("of {nodes} that kube-scheduler offered:"));
    }
    for reason in reasons {
        let version = reason.version.map(|version| format!(" (version {version})")).unwrap_or_default();
        push_line(text, format_args!("{:>7}  {}{version}", reason.nodes.unwrap_or_default(), reason_text(reason)));
    }
    if *others > 0 {
        push_line(text, format_args!("{others:>7}  other reasons"));
    }
}

fn reason_text(ReasonJson { by, policy, text, .. }: &ReasonJson) -> String {
    format!("{}: {text}", policy.as_deref().unwrap_or(by))
}

fn nominated_text(NominatedJson { node, by }: &NominatedJson) -> String {
    format!("{node}, by {by}")
}

fn group_name(group: &str) -> &str {
    if group.is_empty() { "(root)" } else { group }
}

fn with_age(time: &str) -> String {
    age(time).map_or_else(|| time.to_owned(), |age| format!("{time} ({age} ago)"))
}

/// The time since then in its two largest units.
fn age(time: &str) -> Option<String> {
    let since = SystemTime::now().duration_since(humantime::parse_rfc3339(time).ok()?).unwrap_or_default();
    let seconds = since.as_secs();
    let unit = match seconds {
        0..3_600 => 1,
        3_600..86_400 => 60,
        _ => 3_600,
    };
    Some(humantime::format_duration(Duration::from_secs(seconds - seconds % unit)).to_string())
}
