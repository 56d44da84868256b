//! Settings that look like secrets: an operator put them there for the policy, not for readers of a log or an
//! explanation.
//!
//! A value is a secret where the name of its key, of one above it, or of the pair that it belongs to says so; so is a
//! text that has a secret in it by its form.

mod canonical;
mod found;
mod redacting;
mod settings;
mod shape;

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock, Weak},
};

use parking_lot::Mutex;
use serde_json::Value;

pub use self::redacting::redacting;
use self::{
    found::{SHORTEST, Windows},
    settings::visit,
    shape::secrets_in,
};
use crate::escaped;

/// The text that replaces a secret.
const HIDDEN: &str = "<not shown>";

/// A shorter number, such as a limit on tokens, is no secret; a PIN has four digits.
const SHORTEST_NUMBER: usize = 4;

/// A shorter line of a secret of several lines is no secret by itself.
const SHORTEST_LINE: usize = 4;

/// A shorter secret is hidden only where it is a whole word.
const SHORTEST_ANYWHERE: usize = 4;

/// The same in reasons, which are read by many people and have few words.
const SHORTEST_ANYWHERE_IN_REASONS: usize = 8;

/// Maximum characters of a quotation from a file.
const MAX_QUOTED_CHARS: usize = 80;

/// Maximum characters of a quotation's source that are searched for a secret that begins in the quotation.
const MAX_SEARCHED_CHARS: usize = 5 * MAX_QUOTED_CHARS;

/// The most texts that are looked for in another one; with more of them, no text is shown at all. A chain of
/// certificates with its key has about 150 lines.
const MAX_SECRETS: usize = 1024;

/// The same for their bytes, all together.
const MAX_SECRET_BYTES: usize = 64 << 10;

/// The secrets in the settings of one policy, to be taken out of texts about it.
#[derive(Debug, Default)]
pub struct Secrets {
    windows: Windows,
    /// A shorter one is hidden only where it is a whole word.
    shortest_anywhere: usize,
    /// There are too many, or one that cannot be searched for.
    hide_all: bool,
}

/// The secrets of settings that are in use.
static SHARED: Mutex<Vec<SharedSecrets>> = Mutex::new(Vec::new());

/// The secrets of settings, by the place of these in memory.
struct SharedSecrets {
    settings: Weak<str>,
    secrets: Arc<OnceLock<Arc<Secrets>>>,
}

/// The settings (JSON) as they may be shown.
pub fn shown_settings(settings: &str) -> String {
    let Ok(mut settings) = serde_json::from_str(settings) else { return HIDDEN.to_owned() };
    visit(&mut settings, false, &mut |secret, _| *secret = HIDDEN.into());
    settings.to_string()
}

/// The settings (JSON) that are not shown, by their paths: `pools[0].apiKey`.
pub fn secret_settings(settings: &str) -> Vec<String> {
    let (Ok(all), Ok(shown)) = (serde_json::from_str(settings), serde_json::from_str(&shown_settings(settings))) else {
        return vec![];
    };
    let mut paths = Vec::new();
    differing("", &all, &shown, &mut paths);
    paths
}

/// Adds the paths at which two settings differ; where the name of a field does, that of its object.
fn differing(path: &str, all: &Value, shown: &Value, paths: &mut Vec<String>) {
    match (all, shown) {
        (Value::Object(all), Value::Object(shown)) if all.keys().all(|key| shown.contains_key(key)) => {
            let dot = if path.is_empty() { "" } else { "." };
            all.iter().for_each(|(key, value)| differing(&format!("{path}{dot}{key}"), value, &shown[key], paths));
        }
        (Value::Array(all), Value::Array(shown)) => {
            let pairs = all.iter().zip(shown).enumerate();
            pairs.for_each(|(at, (value, shown))| differing(&format!("{path}[{at}]"), value, shown, paths));
        }
        _ if all != shown => paths.push(path.to_owned()),
        _ => {}
    }
}

/// Whether a text has a secret in it by its form.
pub fn looks_secret(text: &str) -> bool {
    !secrets_in(text).is_empty()
}

/// A part of a file as a message may quote it: on one line, not long, and no secret by its form.
pub fn quotable(part: &str) -> Cow<'_, str> {
    let first = |count| part.char_indices().nth(count).map(|(end, _)| &part[..end]);
    if looks_secret(first(MAX_SEARCHED_CHARS).unwrap_or(part)) {
        return Cow::Borrowed(HIDDEN);
    }
    match first(MAX_QUOTED_CHARS) {
        None => escaped(part, |_| false),
        Some(start) => Cow::Owned(format!("{}…", escaped(start, |_| false))),
    }
}

// === impl Secrets ===

impl Secrets {
    /// The secrets in settings (JSON).
    pub fn of(settings: &str) -> Self {
        let mut texts = Texts::default();
        if let Ok(mut settings) = serde_json::from_str(settings) {
            visit(&mut settings, false, &mut |secret, by_name| match secret {
                Value::String(text) if by_name => texts.push_with_lines(text),
                Value::String(text) => secrets_in(text).into_iter().for_each(|part| texts.push_with_lines(part)),
                _ => texts.push(&secret.to_string()),
            });
        }
        let windows = Windows::of(&texts.list);
        Self {
            hide_all: texts.are_too_many || windows.is_none(),
            windows: windows.unwrap_or_default(),
            shortest_anywhere: SHORTEST_ANYWHERE,
        }
    }

    /// The same, found once for all calls of a version: they share its settings. Searching large settings takes longer than a call.
    pub fn shared(settings: &Arc<str>) -> Arc<Self> {
        let cell = {
            let mut shared = SHARED.lock();
            // A place is not used again as long as it is listed here.
            let is_own = |own: &&SharedSecrets| std::ptr::addr_eq(own.settings.as_ptr(), Arc::as_ptr(settings));
            if let Some(known) = shared.iter().find(is_own) {
                Arc::clone(&known.secrets)
            } else {
                shared.retain(|own| own.settings.strong_count() > 0);
                let cell = Arc::default();
                shared.push(SharedSecrets { settings: Arc::downgrade(settings), secrets: Arc::clone(&cell) });
                cell
            }
        };
        Arc::clone(cell.get_or_init(|| Arc::new(Self::of(settings))))
    }

    /// The same, to be taken out of reasons.
    fn of_reasons(settings: &str) -> Self {
        Self { shortest_anywhere: SHORTEST_ANYWHERE_IN_REASONS, ..Self::of(settings) }
    }

    fn is_empty(&self) -> bool {
        self.windows.is_empty() && !self.hide_all
    }

    /// The text without the secrets.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.hide_all && !text.is_empty() {
            return Cow::Owned(HIDDEN.to_owned());
        }
        let spots = self.windows.spots(text, self.shortest_anywhere);
        if spots.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut shown, mut done) = (String::with_capacity(text.len()), 0);
        for spot in spots {
            // Of two that touch or overlap the first stands for both.
            if spot.start > done || shown.is_empty() {
                shown.push_str(&text[done..spot.start]);
                shown.push_str(HIDDEN);
            }
            done = done.max(spot.end);
        }
        shown.push_str(&text[done..]);
        Cow::Owned(shown)
    }
}

/// The texts of secrets, as many as are looked for.
#[derive(Default)]
struct Texts {
    list: Vec<String>,
    bytes: usize,
    are_too_many: bool,
}

// === impl Texts ===

impl Texts {
    fn push(&mut self, text: &str) {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        if text.len() < if is_number { SHORTEST_NUMBER } else { SHORTEST } || self.are_too_many {
            return;
        }
        self.bytes = self.bytes.saturating_add(text.len());
        self.are_too_many = self.list.len() >= MAX_SECRETS || self.bytes > MAX_SECRET_BYTES;
        if !self.are_too_many {
            self.list.push(text.to_owned());
        }
    }

    /// A secret and its lines: a guest may write line by line.
    fn push_with_lines(&mut self, secret: &str) {
        self.push(secret);
        let lines = secret.lines().map(str::trim).filter(|line| line.len() < secret.len());
        lines.filter(|line| line.len() >= SHORTEST_LINE).for_each(|line| self.push(line));
    }
}

#[cfg(test)]
mod tests;
