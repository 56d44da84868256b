//! The lines that policies log, on standard error, for commands by which a person asks about a policy.
//!
//! Of each policy the first lines are shown: a call may write 64, and a cluster has thousands of nodes. A command makes
//! some calls twice, as `run` does for its table and its decision; equal lines are shown once.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::{Debug, Write as _},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write as _},
    sync::Arc,
};

use parking_lot::Mutex;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::targets::GUEST;
use crate::{output, text};

/// The most lines of one policy: more than a person reads.
const MAX_LINES: usize = 100;

/// Shows lines of policies as long as it exists. When it is dropped, it reports how many were left out.
pub(crate) struct GuestLines(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Whether lines are shown only while a case runs.
    only_cases: bool,
    case: Option<RunningCase>,
    by_policy: BTreeMap<String, PolicyLines>,
}

/// The files of a case and its policy.
struct RunningCase {
    policy: String,
    file: String,
}

/// The lines of one policy.
#[derive(Default)]
struct PolicyLines {
    /// Hashes of the lines that were shown, [`MAX_LINES`] at most.
    shown: HashSet<u64>,
    left_out: u64,
}

struct GuestLayer(Arc<Mutex<State>>);

/// The fields of a line that are shown.
#[derive(Default)]
struct LineFields {
    policy: String,
    verb: String,
    node: String,
    message: String,
}

// === impl GuestLines ===

impl GuestLines {
    /// Shows all lines from now on, for a command that has no log.
    pub(crate) fn start() -> Self {
        Self::with(State::default())
    }

    /// Shows the lines of [`Self::of_case`] alone: those of the trial calls of a load belong to no case.
    pub(crate) fn start_for_cases() -> Self {
        Self::with(State { only_cases: true, ..State::default() })
    }

    fn with(state: State) -> Self {
        let state = Arc::new(Mutex::new(state));
        let subscriber = tracing_subscriber::registry().with(GuestLayer(Arc::clone(&state)));
        // It fails only where lines have gone to a log before.
        let _ = tracing::subscriber::set_global_default(subscriber);
        Self(state)
    }

    /// Shows the lines of these calls with the case that makes them.
    pub(crate) fn of_case<T>(&self, policy: &impl ToString, file: &impl ToString, run: impl FnOnce() -> T) -> T {
        self.0.lock().case = Some(RunningCase { policy: policy.to_string(), file: file.to_string() });
        let result = run();
        self.0.lock().case = None;
        result
    }

    /// Reports how many lines were left out, and shows as many again.
    pub(crate) fn restart(&self) {
        for (policy, lines) in std::mem::take(&mut self.0.lock().by_policy) {
            if lines.left_out > 0 {
                output::remark(&format!("{} more lines of {policy} were left out", lines.left_out));
            }
        }
    }
}

impl Drop for GuestLines {
    fn drop(&mut self) {
        self.restart();
    }
}

// === impl GuestLayer ===

impl<S: Subscriber> Layer<S> for GuestLayer {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == GUEST
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = LineFields::default();
        event.record(&mut fields);
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        if let Some(line) = self.0.lock().admit(fields, &level) {
            // A terminal that is gone is no reason to stop.
            let _ = writeln!(io::stderr(), "{}", text::one_line(&line));
        }
    }
}

// === impl State ===

impl State {
    /// The line as it is shown; none if it is one too many, or was shown before.
    fn admit(&mut self, fields: LineFields, level: &str) -> Option<String> {
        let LineFields { policy, verb, node, message } = fields;
        let (policy, case) = match &self.case {
            Some(case) => (case.policy.clone(), &*case.file),
            None if self.only_cases => return None,
            None => (policy, ""),
        };
        let about: Vec<&str> = [level, case, &verb, &node].into_iter().filter(|part| !part.is_empty()).collect();
        let line = format!("{policy} ({}): {message}", about.join(", "));
        self.by_policy.entry(policy).or_default().admit(&line).then_some(line)
    }
}

// === impl PolicyLines ===

impl PolicyLines {
    fn admit(&mut self, line: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        let hash = hasher.finish();
        if self.shown.contains(&hash) {
            return false;
        }
        if self.shown.len() == MAX_LINES {
            self.left_out += 1;
            return false;
        }
        self.shown.insert(hash)
    }
}

// === impl LineFields ===

impl Visit for LineFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "policy" => value.clone_into(&mut self.policy),
            "verb" => value.clone_into(&mut self.verb),
            "node" => value.clone_into(&mut self.node),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.message, "{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(node: usize, message: &str) -> LineFields {
        let [policy, verb] = ["p", "filter"].map(str::to_owned);
        LineFields { policy, verb, node: format!("n{node}"), message: message.to_owned() }
    }

    #[test]
    fn equal_lines_are_shown_once_and_others_are_counted_beyond_the_first() {
        let mut state = State::default();
        assert_eq!(state.admit(fields(1, "x"), "info").unwrap(), "p (info, filter, n1): x");
        assert_eq!(state.admit(fields(1, "x"), "info"), None);
        let shown = (0..1000).filter(|node| state.admit(fields(*node, "x"), "info").is_some()).count();
        assert_eq!((shown, state.by_policy["p"].left_out), (MAX_LINES - 1, 1000 - MAX_LINES as u64));
        let other = LineFields { policy: "q".to_owned(), ..fields(1, "x") };
        assert!(state.admit(other, "info").is_some(), "a policy hides the lines of another");
    }

    #[test]
    fn a_case_names_the_policy_and_itself() {
        let case = RunningCase { policy: "p.wasm".to_owned(), file: "cases/a.yaml".to_owned() };
        let mut state = State { case: Some(case), ..State::default() };
        assert_eq!(state.admit(fields(1, "x"), "warn").unwrap(), "p.wasm (warn, cases/a.yaml, filter, n1): x");
    }
}
