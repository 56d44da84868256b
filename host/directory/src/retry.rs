//! A backoff for loads that failed for a transient reason.

use std::time::{Duration, Instant};

use crate::source::ContentDigests;

/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_mins(5);

/// A pause lasts at least for this multiple of the attempt's time without the loader, which has its pauses: an
/// attempt that never succeeds takes at most a twentieth of the time.
const REST: u32 = 20;

/// Exponential backoff between attempts at one content.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    content: Option<ContentDigests>,
    attempts: u32,
    next: Option<Instant>,
}

// === impl Retry ===

impl Retry {
    /// Records a failed attempt that may succeed later, and its duration. No `content`: it could not be read.
    pub(crate) fn failed(&mut self, content: Option<ContentDigests>, took: Duration, now: Instant) {
        if self.content != content {
            *self = Self { content, ..Self::default() };
        }
        let pause =
            FIRST_PAUSE.saturating_mul(1 << self.attempts.min(16)).min(MAX_PAUSE).max(took.saturating_mul(REST));
        self.attempts += 1;
        self.next = Some(now + pause);
    }

    /// Records that no retry is needed.
    pub(crate) fn settle(&mut self) {
        *self = Self::default();
    }

    /// When to retry.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Whether a retry is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next.is_some_and(|next| next <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(module: &str) -> ContentDigests {
        ContentDigests { module: module.to_owned(), sidecar: None, facts: None }
    }

    #[test]
    fn each_pause_is_twice_as_long_up_to_five_minutes() {
        let (mut retry, now) = (Retry::default(), Instant::now());
        let pauses: Vec<u64> = (0..11)
            .map(|_| {
                retry.failed(Some(content("a")), Duration::ZERO, now);
                assert!(!retry.is_due(now));
                (retry.next().unwrap() - now).as_secs()
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    #[test]
    fn another_content_starts_over() {
        let (mut retry, now) = (Retry::default(), Instant::now());
        (0..5).for_each(|_| retry.failed(Some(content("a")), Duration::ZERO, now));
        retry.failed(Some(content("b")), Duration::ZERO, now);
        assert!(retry.is_due(now + FIRST_PAUSE));
        retry.settle();
        assert_eq!(retry.next(), None);
        retry.failed(Some(content("b")), Duration::from_mins(1), now);
        assert_eq!(retry.next(), Some(now + Duration::from_mins(20)), "what takes long rests for longer");
    }
}
