//! Keeps a flood of equal lines out of the log.
//!
//! Lines are of one kind if one place in the code writes them, about one policy and for one reason. A second has a few of
//! each kind, and one line which says that more were left out. Lines at info and below are not limited, except those that
//! follow from every request: an operator wants each bind.

use std::{
    collections::HashMap,
    fmt::{Debug, Write as _},
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::layer::{Context, Layer};

/// The target of lines that policies write.
pub(super) const GUEST: &str = "plimsoll::guest";

/// The target of reports on policies in shadow mode: each request may cause some.
const SHADOW: &str = "plimsoll::shadow";

/// The target of lines about pods that are left without a node: many may come at once.
pub(crate) const PENDING: &str = "plimsoll::pending";

const WINDOW: Duration = Duration::from_secs(1);

/// Lines of one kind in one window: more than anybody reads, and less than fills a disk.
const LINES: u32 = 10;

/// The same for lines that a policy itself writes: a call may have 64 of up to 1 KiB.
const GUEST_LINES: u32 = 100;

/// The same for pods that are left without a node, by the policy that rejects the most nodes: kube-scheduler tries about
/// as many in a second.
const PENDING_LINES: u32 = 100;

/// The most kinds that are counted at once. A client must not determine the memory of the table, so it begins anew then.
const MAX_KINDS: usize = 1024;

/// The line which says that lines were left out.
pub(super) const LEFT_OUT: &str = "plimsoll::left-out";

/// The fields that distinguish lines of one place.
const KEYS: [&str; 4] = ["policy", "reason", "resource", "status"];

/// A layer that drops lines above the limit.
#[derive(Debug, Default)]
pub(super) struct Limiter(Mutex<HashMap<u64, Bucket>>);

/// The lines of one kind in the current window.
#[derive(Debug)]
struct Bucket {
    since: Instant,
    lines: u32,
}

/// Hashes the fields of a line that determine its kind, and reads those that a person needs.
#[derive(Default)]
struct Fields {
    hasher: DefaultHasher,
    message: String,
    policy: Option<String>,
}

// === impl Limiter ===

impl Limiter {
    /// The number of this line in its window.
    fn count(&self, kind: u64, now: Instant) -> u32 {
        let mut buckets = self.0.lock();
        if buckets.len() == MAX_KINDS && !buckets.contains_key(&kind) {
            buckets.clear();
        }
        let bucket = buckets.entry(kind).or_insert(Bucket { since: now, lines: 0 });
        if now.saturating_duration_since(bucket.since) >= WINDOW {
            *bucket = Bucket { since: now, lines: 0 };
        }
        bucket.lines = bucket.lines.saturating_add(1);
        bucket.lines
    }
}

impl<S: Subscriber> Layer<S> for Limiter {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        let Some(most) = most(metadata) else { return true };
        let mut fields = Fields::default();
        // The limit of a policy is for its lines of all levels, each of which has its own place.
        if metadata.target() != GUEST {
            metadata.callsite().hash(&mut fields.hasher);
        }
        event.record(&mut fields);
        let line = self.count(fields.hasher.finish(), Instant::now());
        if line == most + 1 {
            let (policy, message) = (fields.policy, fields.message);
            tracing::warn!(target: LEFT_OUT, policy, "more lines within {WINDOW:?} were left out: {message}");
        }
        line <= most
    }
}

/// The most lines of a kind in a window; `None`: any number.
fn most(metadata: &Metadata<'_>) -> Option<u32> {
    match metadata.target() {
        GUEST => Some(GUEST_LINES),
        SHADOW => Some(LINES),
        PENDING => Some(PENDING_LINES),
        LEFT_OUT => None,
        _ => (*metadata.level() <= Level::WARN).then_some(LINES),
    }
}

// === impl Fields ===

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.message, "{value:?}");
        } else if KEYS.contains(&field.name()) {
            let value = format!("{value:?}");
            value.hash(&mut self.hasher);
            if field.name() == "policy" {
                self.policy = Some(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Counts the lines that are written.
    #[derive(Clone, Default)]
    struct Written(Arc<AtomicUsize>);

    impl<S: Subscriber> Layer<S> for Written {
        fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn count(lines: impl FnOnce()) -> usize {
        let written = Written::default();
        let subscriber = tracing_subscriber::registry().with(written.clone()).with(Limiter::default());
        tracing::subscriber::with_default(subscriber, lines);
        written.0.load(Ordering::SeqCst)
    }

    #[test]
    fn a_window_has_the_first_lines_of_a_kind_and_the_next_window_has_more() {
        let (limiter, now) = (Limiter::default(), Instant::now());
        assert_eq!([1, 1, 2].map(|kind| limiter.count(kind, now)), [1, 2, 1]);
        assert_eq!(limiter.count(1, now + WINDOW), 1);
        for kind in 0..10_000 {
            limiter.count(kind, now);
        }
        assert!(limiter.0.lock().len() <= MAX_KINDS);
    }

    #[test]
    fn a_flood_of_one_policy_hides_no_other_line() {
        let fail = |policy: &str| tracing::warn!(policy, detail = "x", "a policy failed");
        let flood = count(|| (0..1000).for_each(|_| fail("loud")));
        let both = count(|| {
            (0..1000).for_each(|_| fail("loud"));
            fail("quiet");
            tracing::error!("something else");
        });
        assert!(flood < 1000 && both == flood + 2, "{flood}, {both}");
    }

    #[test]
    fn binds_are_not_limited_and_lines_of_policies_are() {
        assert_eq!(count(|| (0..1000).for_each(|_| tracing::info!(pod = "a/b", "bound"))), 1000);
        let guest = |_| {
            tracing::info!(target: GUEST, policy = "p", "x");
            tracing::warn!(target: GUEST, policy = "p", "x");
        };
        let written = count(|| (0..10_000).for_each(guest));
        assert!(written < 10_000, "{written}");
    }
}
