//! The lines that policies log, on standard error, for commands by which a person asks about a policy.
//!
//! The first lines are shown: a call may write 64, and a cluster has thousands of nodes. A command makes some calls twice,
//! as `run` does for its table and its decision; equal lines are shown once.

use std::{
    collections::BTreeSet,
    fmt::{Debug, Display},
    io::{self, Write as _},
    sync::Arc,
};

use parking_lot::Mutex;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::GUEST;
use crate::{output, text};

/// The most lines: more than a person reads.
const MAX_LINES: usize = 100;

/// Shows lines of policies as long as it exists. When it is dropped, it reports how many were left out.
pub(crate) struct GuestLines(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Whether lines are shown only while a case runs.
    only_cases: bool,
    /// The files of the policy and of the case that runs.
    case: Option<[String; 2]>,
    shown: BTreeSet<String>,
    left_out: usize,
}

struct GuestLayer(Arc<Mutex<State>>);

/// The fields of a line that are shown.
#[derive(Default)]
struct Fields {
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
    pub(crate) fn of_case<T>(&self, policy: impl Display, file: impl Display, run: impl FnOnce() -> T) -> T {
        self.0.lock().case = Some([policy.to_string(), file.to_string()]);
        let result = run();
        self.0.lock().case = None;
        result
    }

    /// Reports how many lines were left out, and shows as many again.
    pub(crate) fn restart(&self) {
        let mut state = self.0.lock();
        state.shown.clear();
        let left_out = std::mem::take(&mut state.left_out);
        if left_out > 0 {
            output::remark(&format!("{left_out} more lines of policies were left out"));
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
        let mut fields = Fields::default();
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
    fn admit(&mut self, fields: Fields, level: &str) -> Option<String> {
        let Fields { policy, verb, node, message } = fields;
        let (policy, case) = match &self.case {
            Some([policy, case]) => (policy.as_str(), case.as_str()),
            None if self.only_cases => return None,
            None => (policy.as_str(), ""),
        };
        let about: Vec<&str> = [level, case, &verb, &node].into_iter().filter(|part| !part.is_empty()).collect();
        let line = format!("{policy} ({}): {message}", about.join(", "));
        if self.shown.contains(&line) {
            return None;
        }
        if self.shown.len() == MAX_LINES {
            self.left_out += 1;
            return None;
        }
        self.shown.insert(line.clone());
        Some(line)
    }
}

// === impl Fields ===

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = match field.name() {
            "policy" => &mut self.policy,
            "verb" => &mut self.verb,
            "node" => &mut self.node,
            "message" => &mut self.message,
            _ => return,
        };
        *text = format!("{value:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(node: usize) -> Fields {
        let [policy, verb, message] = ["p", "filter", "x"].map(str::to_owned);
        Fields { policy, verb, node: format!("n{node}"), message }
    }

    #[test]
    fn equal_lines_are_shown_once_and_others_are_counted_beyond_the_first() {
        let mut state = State::default();
        assert_eq!(state.admit(fields(1), "info").unwrap(), "p (info, filter, n1): x");
        assert_eq!(state.admit(fields(1), "info"), None);
        let shown = (0..1000).filter(|node| state.admit(fields(*node), "info").is_some()).count();
        assert_eq!((shown, state.left_out), (MAX_LINES - 1, 1000 - MAX_LINES));
    }

    #[test]
    fn a_case_names_the_policy_and_itself() {
        let case = ["p.wasm", "cases/a.yaml"].map(str::to_owned);
        let mut state = State { case: Some(case), ..State::default() };
        assert_eq!(state.admit(fields(1), "warn").unwrap(), "p.wasm (warn, cases/a.yaml, filter, n1): x");
    }
}
