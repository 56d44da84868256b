//! Keeps a flood of equal lines out of the log.
//!
//! Lines are of one kind if one place in the code writes them, about one policy and for one reason. Of each kind a few
//! a second are written; the number of those left out is written once that second is over. Lines at info and below are
//! not limited, except those that follow from every request: an operator wants each bind.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    hash::{BuildHasher, RandomState},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::layer::{Context, Layer};

use super::targets::{GUEST, SHADOW};

/// The time in which the lines of one kind are counted together.
const WINDOW: Duration = Duration::from_secs(1);

/// Lines of one kind in one window: more than anybody reads, and less than fills a disk.
const LINES: u32 = 10;

/// The same for lines that a policy itself writes: a call may have 64 of up to 1 KiB.
const GUEST_LINES: u32 = 100;

/// The most kinds that are counted separately; all others count as one. A client must not determine their number.
const MAX_CLASSES: usize = 1024;

/// The key of all others together.
const OTHERS: u64 = 0;

/// Our lines about lines that were left out.
const SUPPRESSED: &str = "plimsoll::suppressed";

/// The fields that distinguish lines of one place.
const KEYS: [&str; 4] = ["policy", "reason", "resource", "status"];

/// A layer that drops lines above the limit.
#[derive(Debug, Clone, Default)]
pub(super) struct Limiter(Arc<LimiterState>);

#[derive(Debug, Default)]
struct LimiterState {
    classes: Mutex<LineClasses>,
    /// Notified when a line was dropped, and none had been before.
    left_out: Condvar,
}

#[derive(Debug, Default)]
struct LineClasses {
    by_key: HashMap<u64, LineClass>,
    hasher: RandomState,
    is_any_left_out: bool,
}

#[derive(Debug)]
struct LineClass {
    since: Instant,
    lines: u32,
    left_out: u64,
    level: Level,
    /// The identity of a kind of line: its message and its policy.
    text: String,
}

/// Reads the fields of a line that determine its kind.
struct KeyVisitor<'h> {
    hasher: &'h RandomState,
    key: u64,
}

/// Writes the message of a line and who it is about.
#[derive(Default)]
struct TextVisitor {
    message: String,
    policy: String,
}

// === impl Limiter ===

impl Limiter {
    /// Starts a thread that reports the number of dropped lines, and sleeps while there are none.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(&self) -> std::io::Result<()> {
        let shared = Arc::clone(&self.0);
        thread::Builder::new().name("plimsoll-log".to_owned()).spawn(move || shared.keep_telling()).map(drop)
    }

    /// Whether a line is written.
    fn admit(&self, event: &Event<'_>, now: Instant) -> bool {
        let Some(most) = most(event.metadata()) else { return true };
        let mut classes = self.0.classes.lock();
        let key = classes.key(event);
        let class = classes.by_key.entry(key).or_insert_with(|| LineClass::new(event, key, now));
        if now.saturating_duration_since(class.since) >= WINDOW && class.left_out == 0 {
            (class.since, class.lines) = (now, 0);
        }
        if class.lines < most {
            class.lines += 1;
            return true;
        }
        class.left_out += 1;
        if !classes.is_any_left_out {
            classes.is_any_left_out = true;
            self.0.left_out.notify_one();
        }
        false
    }
}

impl<S: Subscriber> Layer<S> for Limiter {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        self.admit(event, Instant::now())
    }
}

/// The most lines of a kind in a window; `None`: any number.
fn most(metadata: &Metadata<'_>) -> Option<u32> {
    match metadata.target() {
        GUEST => Some(GUEST_LINES),
        SHADOW => Some(LINES),
        SUPPRESSED => None,
        _ => (*metadata.level() <= Level::WARN).then_some(LINES),
    }
}

// === impl LimiterState ===

impl LimiterState {
    fn keep_telling(&self) {
        loop {
            self.left_out.wait_while(&mut self.classes.lock(), |classes| !classes.is_any_left_out);
            #[expect(
                clippy::disallowed_methods,
                reason = "lines that were left out are counted in one line per interval"
            )]
            thread::sleep(WINDOW);
            // Not under the lock: these are lines as well.
            let summary = self.classes.lock().take_left_out();
            for (level, text, count) in summary {
                tell(level, &text, count);
            }
        }
    }
}

fn tell(level: Level, text: &str, count: u64) {
    let seconds = WINDOW.as_secs();
    if level == Level::ERROR {
        tracing::error!(target: SUPPRESSED, "{count} more lines in {seconds} s were left out: {text}");
    } else {
        tracing::warn!(target: SUPPRESSED, "{count} more lines in {seconds} s were left out: {text}");
    }
}

// === impl LineClasses ===

impl LineClasses {
    fn key(&self, event: &Event<'_>) -> u64 {
        let metadata = event.metadata();
        let place = match metadata.target() {
            // Each level has its call site, and the limit is for all lines of a policy.
            GUEST => self.hasher.hash_one(GUEST),
            _ => self.hasher.hash_one(metadata.callsite()),
        };
        let mut visitor = KeyVisitor { hasher: &self.hasher, key: place };
        event.record(&mut visitor);
        if self.by_key.len() < MAX_CLASSES || self.by_key.contains_key(&visitor.key) { visitor.key } else { OTHERS }
    }

    /// Lines dropped since the last report; drops kinds that are quiet.
    fn take_left_out(&mut self) -> Vec<(Level, String, u64)> {
        self.is_any_left_out = false;
        let summary = self.by_key.values().filter(|class| class.left_out > 0);
        let summary = summary.map(|class| (class.level, class.text.clone(), class.left_out)).collect();
        self.by_key.retain(|_, class| class.left_out > 0);
        for class in self.by_key.values_mut() {
            (class.since, class.lines, class.left_out) = (Instant::now(), 0, 0);
        }
        summary
    }
}

// === impl LineClass ===

impl LineClass {
    fn new(event: &Event<'_>, key: u64, now: Instant) -> Self {
        let level = *event.metadata().level();
        if key == OTHERS {
            // The first of them says nothing about those after it.
            return Self { since: now, lines: 0, left_out: 0, level, text: "lines of many kinds".to_owned() };
        }
        let mut text = TextVisitor::default();
        event.record(&mut text);
        let TextVisitor { mut message, policy } = text;
        if event.metadata().target() == GUEST {
            "lines of its own".clone_into(&mut message);
        }
        let text = if policy.is_empty() { message } else { format!("policy {policy}: {message}") };
        Self { since: now, lines: 0, left_out: 0, level, text }
    }
}

// === impl KeyVisitor ===

impl Visit for KeyVisitor<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if KEYS.contains(&field.name()) {
            self.key = self.hasher.hash_one((self.key, field.name(), value));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if KEYS.contains(&field.name()) {
            self.key = self.hasher.hash_one((self.key, field.name(), value));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if KEYS.contains(&field.name()) {
            self.record_str(field, &format!("{value:?}"));
        }
    }
}

// === impl TextVisitor ===

impl Visit for TextVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            "policy" => value.clone_into(&mut self.policy),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = match field.name() {
            "message" => &mut self.message,
            "policy" => &mut self.policy,
            _ => return,
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{value:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    fn count(lines: impl FnOnce(&Limiter)) -> usize {
        let (limiter, written) = (Limiter::default(), Written::default());
        let subscriber = tracing_subscriber::registry().with(written.clone()).with(limiter.clone());
        tracing::subscriber::with_default(subscriber, || lines(&limiter));
        written.0.load(Ordering::SeqCst)
    }

    fn fail(policy: &str, status: u64) {
        tracing::warn!(policy, status, detail = "x", "a policy failed");
    }

    #[test]
    fn a_flood_of_one_kind_is_cut_and_hides_no_other_kind() {
        let written = count(|limiter| {
            for _ in 0..1000 {
                fail("loud", 200);
            }
            fail("quiet", 200);
            fail("loud", 500);
            tracing::error!("something else");
            let summary = limiter.0.classes.lock().take_left_out();
            let text = "policy loud: a policy failed".to_owned();
            assert_eq!(summary, [(Level::WARN, text, 1000 - u64::from(LINES))]);
            // The next second allows lines again, and nothing is reported twice.
            fail("loud", 200);
            assert_eq!(limiter.0.classes.lock().take_left_out(), []);
        });
        assert_eq!(written, LINES as usize + 4);
    }

    #[test]
    fn a_policy_may_write_more_but_not_without_end_and_binds_are_not_limited() {
        let guest = count(|_| (0..10_000).for_each(|_| tracing::debug!(target: GUEST, policy = "p", "x")));
        assert_eq!(guest, GUEST_LINES as usize);
        let levels = count(|_| {
            for _ in 0..1000 {
                tracing::info!(target: GUEST, policy = "p", "x");
                tracing::warn!(target: GUEST, policy = "p", "x");
                tracing::error!(target: GUEST, policy = "p", "x");
                tracing::info!(target: GUEST, policy = "q", "x");
            }
        });
        assert_eq!(levels, 2 * GUEST_LINES as usize, "a policy has one limit for all levels");
        assert_eq!(count(|_| (0..1000).for_each(|_| tracing::info!(pod = "a/b", "bound"))), 1000);
    }

    #[test]
    fn kinds_that_a_client_makes_up_are_bounded() {
        let written = count(|limiter| {
            for number in 0..100_000 {
                fail("p", number);
            }
            assert!(limiter.0.classes.lock().by_key.len() <= MAX_CLASSES + 1);
            let summary = limiter.0.classes.lock().take_left_out();
            assert_eq!(
                summary,
                [(Level::WARN, "lines of many kinds".to_owned(), (100_000 - MAX_CLASSES) as u64 - u64::from(LINES))]
            );
        });
        assert!(written <= MAX_CLASSES + LINES as usize, "{written}");
    }
}
