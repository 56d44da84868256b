//! Settings that look like secrets: an operator put them there for the policy, not for whoever reads a log or asks why.
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

pub use self::redacting::{redacting, unredacted};
use self::{
    found::{SHORTEST, Windows},
    settings::visit,
    shape::secrets_in,
};
use crate::escaped;

/// What stands for a secret.
const HIDDEN: &str = "<not shown>";

/// A shorter number, such as a limit on tokens, is no secret; a PIN has four digits.
const SHORTEST_NUMBER: usize = 4;

/// A shorter line of a secret of several lines is no secret by itself.
const SHORTEST_LINE: usize = 4;

/// A shorter secret is hidden only where it is a word of its own.
const SHORTEST_ANYWHERE: usize = 4;

/// The same in reasons, which are read by many people and have few words.
const SHORTEST_ANYWHERE_IN_REASONS: usize = 8;

/// Maximum characters of a quotation from a file.
const MAX_QUOTED_CHARS: usize = 80;

/// How many characters of a quotation's source are searched for a secret that begins in the quotation.
const MAX_SEARCHED_CHARS: usize = 5 * MAX_QUOTED_CHARS;

/// Maximum texts that are looked for in another one; with more of them, no text is shown at all. A chain of certificates
/// with its key has about 150 lines.
const MAX_SECRETS: usize = 1024;

/// The same for their bytes, all together.
const MAX_SECRET_BYTES: usize = 64 << 10;

/// The secrets in the settings of one policy, to be taken out of texts about it.
#[derive(Debug, Default)]
pub struct Secrets {
    windows: Windows,
    /// A shorter one is hidden only where it is a word of its own.
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
mod tests {
    use super::*;
    use crate::one_line;

    #[test]
    fn the_secrets_of_one_version_are_found_once() {
        let settings: Arc<str> = r#"{"password":"hunter2"}"#.into();
        let secrets = Secrets::shared(&settings);
        assert_eq!(secrets.hide("hunter2"), HIDDEN);
        assert!(Arc::ptr_eq(&secrets, &Secrets::shared(&Arc::clone(&settings))));
        assert!(!Arc::ptr_eq(&secrets, &Secrets::shared(&Arc::from(&*settings))));
        let (gone, other) = (Arc::downgrade(&secrets), Arc::from("null"));
        drop((settings, secrets));
        assert_eq!(Secrets::shared(&other).hide("hunter2"), "hunter2");
        assert_eq!(gone.strong_count(), 0, "nothing is kept for settings that are gone");
    }

    #[test]
    fn values_whose_keys_sound_secret_are_not_shown_and_others_are() {
        let settings = r#"{"pool":"a","licenseKey":"hunter2","DB_PASSWORD":"x","credentials":{"user":"me","parts":[1,"p"]},
            "url":"https://me:pw@example.com/x","plain":"https://example.com/a?b=c","pem":"-----BEGIN KEY-----","on":true,
            "authToken":null,"header":"Bearer abc"}"#;
        let shown: Value = serde_json::from_str(&shown_settings(settings)).unwrap();
        let expected = serde_json::json!({"pool": "a", "licenseKey": HIDDEN, "DB_PASSWORD": HIDDEN,
            "credentials": {"user": HIDDEN, "parts": [HIDDEN, HIDDEN]}, "url": HIDDEN, "plain": "https://example.com/a?b=c",
            "pem": HIDDEN, "on": true, "authToken": null, "header": HIDDEN});
        assert_eq!(shown, expected);
        assert_eq!(shown_settings("null"), "null");
        assert_eq!(shown_settings("{"), HIDDEN);
    }

    #[test]
    fn the_value_of_a_pair_is_a_secret_if_its_name_says_so() {
        let settings = r#"{"headers":[{"name":"X-Api-Key","value":"abc"},{"name":"Accept","value":"json"}],
            "env":[{"key":"DB_PASS","text":1},{"key":"zone","operator":"In","values":["a"]}],
            "pair":["password","abc"],"words":["password","zone","a"],"arguments":["--token","abc","--token=def","-v"],
            "taint":{"key":"gpu-license","effect":"NoSchedule"},"topologyKey":"topology.kubernetes.io/zone",
            "deep":[[{"any":{"url":"https://example.com/?token=abc"}}]]}"#;
        let shown: Value = serde_json::from_str(&shown_settings(settings)).unwrap();
        let expected = serde_json::json!({"headers": [{"name": "X-Api-Key", "value": HIDDEN}, {"name": "Accept", "value": "json"}],
            "env": [{"key": HIDDEN, "text": HIDDEN}, {"key": "zone", "operator": "In", "values": ["a"]}],
            "pair": ["password", HIDDEN], "words": ["password", "zone", "a"], "arguments": ["--token", HIDDEN, HIDDEN, "-v"],
            "taint": {"key": "gpu-license", "effect": HIDDEN}, "topologyKey": "topology.kubernetes.io/zone",
            "deep": [[{"any": {"url": HIDDEN}}]]});
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_part_of_a_text_that_is_secret_is_found_by_itself() {
        let secrets = Secrets::of(r#"{"url":"https://example.com/a?token=correct-horse","words":"a b"}"#);
        assert_eq!(secrets.hide("sent correct-horse to example.com"), "sent <not shown> to example.com");
        assert_eq!(
            secrets.hide("https://example.com/a?token=correct-horse"),
            "https://example.com/a?token=<not shown>"
        );
    }

    #[test]
    fn a_secret_of_several_lines_is_hidden_on_one_line_and_line_by_line() {
        let pem = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\n7bq2mZ0v\n-----END KEY-----\n";
        let words = "user me\r\npassword: hunter2\nand more\n";
        let by_name = Secrets::of(&serde_json::json!({"password": words}).to_string());
        let by_form = Secrets::of(&serde_json::json!({"pem": pem}).to_string());
        for (secrets, secret) in [(by_form, pem), (by_name, words)] {
            let quoted = format!("cannot use {secret}");
            for text in [one_line(secret), format!("cannot use {secret:?}").into(), one_line(&quoted)] {
                let shown = secrets.hide(&text);
                let shown = shown.strip_prefix("cannot use ").unwrap_or(&shown).trim_matches('"');
                assert_eq!(shown, HIDDEN, "{text}");
            }
            for line in secret.lines() {
                // The space may stand for the line break before it.
                let shown = secrets.hide(&format!("line: {line}, read")).replace("line: ", "line:");
                assert_eq!(shown, "line:<not shown>, read");
            }
        }
        let config = Secrets::of(&serde_json::json!({"config": "ordinary\npassword: hunter2hunter2\n"}).to_string());
        assert_eq!(config.hide("ordinary, hunter2hunter2"), "ordinary, <not shown>");
    }

    #[test]
    fn of_two_secrets_that_begin_alike_or_overlap_nothing_remains() {
        let secrets = Secrets::of(r#"{"tokens":["shared-beginning-1","shared-beginning-two","two-and-more"]}"#);
        for text in ["shared-beginning-1", "shared-beginning-two", "shared-beginning-two-and-more"] {
            assert_eq!(secrets.hide(&format!("{text} or {text}")), "<not shown> or <not shown>");
        }
    }

    #[test]
    fn a_key_that_is_a_secret_by_its_form_is_not_shown() {
        let token = |last: char| ["gh", "p_abcdefghijklmno", &last.to_string()].concat();
        let settings =
            serde_json::json!({"tokens": {(token('a')): "team-a", (token('b')): "team-b"}, "pools": {"a": 1}});
        let shown: Value = serde_json::from_str(&shown_settings(&settings.to_string())).unwrap();
        let expected = serde_json::json!({"tokens": {HIDDEN: HIDDEN, "<not shown> 2": HIDDEN}, "pools": {"a": 1}});
        assert_eq!(shown, expected);
        assert_eq!(Secrets::of(&settings.to_string()).hide(&format!("used {}!", token('b'))), "used <not shown>!");
    }

    #[test]
    fn the_escapes_of_json_and_of_languages_hide_no_secret() {
        let secret = "p<w>&\u{8}\u{1b}ä";
        for secrets in
            [Secrets::of, Secrets::of_reasons].map(|of| of(&serde_json::json!({"password": secret}).to_string()))
        {
            for text in [
                serde_json::json!(secret).to_string(),
                r#""p\u003cw\u003e\u0026\b\u001b\u00e4""#.to_owned(),
                format!("{secret:?}"),
            ] {
                assert_eq!(secrets.hide(&format!("no: {text}")), "no: \"<not shown>\"", "{text}");
            }
        }
    }

    #[test]
    fn a_short_secret_is_hidden_in_reasons_as_a_word_and_in_the_log_also_within_words() {
        let settings = r#"{"password":"hunter2","pin":"x1","tokens":4711}"#;
        let (reasons, log) = (Secrets::of_reasons(settings), Secrets::of(settings));
        assert_eq!(
            reasons.hide("hunter2 x1, 4711; hunter22 x11"),
            "<not shown> <not shown>, <not shown>; hunter22 x11"
        );
        assert_eq!(
            log.hide("hunter2 x1, 4711; hunter22 x11"),
            "<not shown> <not shown>, <not shown>; <not shown>2 x11"
        );
    }

    #[test]
    fn a_quotation_is_short_on_one_line_and_no_secret() {
        assert_eq!(quotable("a\nb"), "a\\u000ab");
        assert_eq!(quotable(&"ü".repeat(80)), "ü".repeat(80));
        assert_eq!(quotable(&"ü".repeat(81)), "ü".repeat(80) + "…");
        assert_eq!(quotable(&["gh", "p_abcdefghijklmnop"].concat()), HIDDEN);
        assert_eq!(quotable("password=hunter2"), HIDDEN);
    }

    #[test]
    fn with_very_many_secrets_no_text_is_shown() {
        let tokens =
            |count: usize| serde_json::json!({"tokens": (0..count).map(|at| format!("t{at:08}")).collect::<Vec<_>>()});
        assert_eq!(Secrets::of(&tokens(MAX_SECRETS).to_string()).hide("a text"), "a text");
        assert_eq!(Secrets::of(&tokens(MAX_SECRETS + 1).to_string()).hide("a text"), HIDDEN);
    }

    /// Each of these took time or memory with the square of its length.
    #[test]
    fn no_settings_and_no_text_take_long() {
        let long = 1 << 17;
        for text in ["sk-", ":", "=", "token=", "bearer ", "a:b@", "\\", "&amp;", "%25", "-", "'", "https://hook/a/"] {
            let text = text.repeat(long / text.len());
            for settings in [serde_json::json!({"note": text}), serde_json::json!({"password": text})] {
                let settings = settings.to_string();
                let _ = (shown_settings(&settings), Secrets::of(&settings).hide("a text"), quotable(&text));
            }
            let secrets = Secrets::of(&serde_json::json!({"password": &text[..1000]}).to_string());
            assert!(secrets.hide(&text).len() <= text.len(), "{}", &text[..12]);
        }
        let keys: serde_json::Map<String, Value> =
            (0..20_000).map(|at| (format!("AKIA{at:016}"), Value::Null)).collect();
        assert!(shown_settings(&Value::Object(keys).to_string()).contains("<not shown> 20000"));
    }

    #[test]
    fn a_secret_of_backslashes_hides_every_text() {
        let backslashes = "\\".repeat(2_000) + "x";
        assert_eq!(Secrets::of(&serde_json::json!({"password": backslashes}).to_string()).hide("a text"), HIDDEN);
    }

    #[test]
    fn texts_about_settings_lose_their_secrets_even_where_they_were_cut_or_quoted() {
        let secrets = Secrets::of(
            r#"{"token":"correct horse battery staple","key":"say \"please\"\n","pin_secret":271828,"short_key":"ab","max_tokens":5,"size":"large"}"#,
        );
        let table = [
            ("nothing", "nothing"),
            ("a correct horse battery staple, large", "a <not shown>, large"),
            ("found \"correct horse batt\"...", "found \"<not shown>\"..."),
            ("correct horse", "<not shown>"),
            ("correct hors", "<not shown>"),
            ("correct", "correct"),
            ("key: invalid value: string \"say \\\"please\\\"\\n\"", "key: invalid value: string \"<not shown>\""),
            ("say \"please\"\n!", "<not shown>!"),
            ("271828 is no text", "<not shown> is no text"),
            ("ab: 'ab', cab", "<not shown>: '<not shown>', cab"),
            ("of 5 large", "of 5 large"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(secrets.hide(text), expected);
        }
        assert!(matches!(Secrets::of("null").hide("same"), Cow::Borrowed("same")));
    }
}
