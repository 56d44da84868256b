//! Which names and which texts are those of secrets.
//!
//! Prefixes of tokens are facts from gitleaks' rules (MIT), <https://github.com/gitleaks/gitleaks>. A text that is
//! hidden for nothing costs little, so a rule here rather finds too much.

/// A key holds a secret if its name contains one of these, in any case and however its words are joined.
const NAMES: [&str; 17] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "credential",
    "key",
    "auth",
    "bearer",
    "cookie",
    "private",
    "license",
    "signature",
    "webhook",
    "connectionstring",
];

/// Words that are too short to be looked for inside of others.
const WORDS: [&str; 9] = ["pass", "pw", "pin", "sig", "sas", "dsn", "jwt", "otp", "creds"];

/// Names of Kubernetes' keys, which are no secrets.
const KUBERNETES_KEYS: [&str; 4] = ["labelkey", "annotationkey", "topologykey", "taintkey"];

/// Words before `key` in the names of keys that open or sign something.
const SECRET_KEYS: [&str; 40] = [
    "access",
    "account",
    "activation",
    "admin",
    "api",
    "app",
    "aws",
    "cipher",
    "client",
    "consumer",
    "cosign",
    "data",
    "decrypt",
    "decryption",
    "deploy",
    "encrypt",
    "encryption",
    "gpg",
    "hash",
    "hmac",
    "host",
    "licence",
    "master",
    "pgp",
    "product",
    "public",
    "root",
    "rsa",
    "server",
    "service",
    "session",
    "shared",
    "signing",
    "ssh",
    "ssl",
    "storage",
    "subscription",
    "tls",
    "user",
    "vault",
];

/// Prefixes of tokens, by the least number of bytes that follow.
const TOKENS: [(usize, &str); 8] = [
    (8, "ya29. ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glcbt- glsoat- gloas- glsa_"),
    (8, "xoxb- xoxp- xoxa- xoxo- xoxr- xoxs- xoxe- xoxe. xapp- hvs. hvb. dop_v1_ doo_v1_ dor_v1_"),
    (8, "dckr_pat_ shpat_ shpca_ shppa_ shpss_ dp.pt. dt0c01. lin_api_ ops_eyJ NRAK- NRJS- NRII- PMAK-"),
    (8, "pscale_ sntrys_ sntryu_ sq0atp- sq0csp- AGE-SECRET-KEY-1"),
    (12, "AKIA ASIA ABIA ACCA LTAI"),
    (16, "eyJ glc_ sk_ rk_ sk- SG. npm_ pypi- rubygems_ p8e- hf_ nvapi- pul- ATATT3 fio-u-"),
    (20, "AIza"),
    (32, "dapi AKCp cmVmd"),
];

/// The texts before a credential in a header.
const SCHEMES: [&str; 4] = ["bearer ", "basic ", "token ", "apikey "];

/// A text without spaces that is at least this long, with letters of both cases and digits, is random.
const RANDOM_BYTES: usize = 32;

/// A user's name in a URL is rarely this long, and a key often is.
const LONG_USER_BYTES: usize = 16;

/// Maximum bytes of the name of a pair in a text, with its quotes.
const MAX_NAME_BYTES: usize = 100;

/// Whether a key of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let joined: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let singular = joined.strip_suffix('s').unwrap_or(&joined);
    if KUBERNETES_KEYS.iter().any(|key| singular.ends_with(key)) {
        return false;
    }
    NAMES.iter().any(|part| joined.contains(part)) || words(name).any(|word| WORDS.contains(&word.as_str()))
}

/// Whether a key of this name may hold the key of a label or an annotation, as `zoneKey` does; `apiKey` does not, and
/// neither does a name with another word that is a secret's.
pub(super) fn may_name_label_key(name: &str) -> bool {
    let words: Vec<String> = words(name).filter(|word| !word.is_empty()).collect();
    let Some((last, before)) = words.split_last() else { return false };
    let is_harmless = |word: &String| !is_secret_name(word) && !SECRET_KEYS.contains(&word.as_str());
    last == "key" && !before.is_empty() && before.iter().all(is_harmless) && !is_secret_name(&before.concat())
}

/// The words of `dbPass`, `db_pass` and `DB-PASS`, in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (was_lower && c.is_ascii_uppercase()) {
            words.push(String::new());
        }
        was_lower = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.into_iter()
}

/// The parts of a text that are secrets by their form; empty if there are none.
pub(super) fn secrets_in(text: &str) -> Vec<&str> {
    // A certificate is hidden with its key: the content of a block is not looked at.
    if text.contains("-----BEGIN ") || text.contains("PuTTY-User-Key-File") {
        return vec![text];
    }
    let mut found: Vec<&str> = tokens(text).chain(random(text)).chain(after_schemes(text)).collect();
    for word in text.split(is_boundary) {
        found.extend(in_user_info(word));
        found.extend(in_webhook(word));
    }
    found.extend(pairs(text));
    found.retain(|part| !part.is_empty());
    found
}

/// Tokens by their prefixes.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let prefixes = TOKENS.iter().flat_map(|(least, prefixes)| prefixes.split(' ').map(move |prefix| (prefix, least)));
    prefixes.flat_map(move |(prefix, least)| {
        // A token that has its prefix inside is one token.
        let mut done = 0;
        text.match_indices(prefix).filter_map(move |(at, _)| {
            let is_inside = at < done || text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            if is_inside {
                return None;
            }
            let token = text[at..].split(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c)).next()?;
            done = at + token.len();
            (token.len() >= prefix.len() + least).then_some(token)
        })
    })
}

/// Long runs of letters and digits in no order.
fn random(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric() && !"+/_".contains(c));
    runs.filter(|run| {
        let has = |is: fn(&u8) -> bool| run.bytes().any(|byte| is(&byte));
        run.len() >= RANDOM_BYTES
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
    })
}

/// Credentials as in the header `Authorization`.
fn after_schemes(text: &str) -> impl Iterator<Item = &str> {
    let lower = text.to_ascii_lowercase();
    SCHEMES.iter().flat_map(move |scheme| {
        let found: Vec<&str> = lower
            .match_indices(scheme)
            .filter_map(|(at, _)| {
                let credential = text[at + scheme.len()..].split(is_boundary).next()?;
                // In the middle of a text it may be an ordinary word.
                let may_be_short = at == 0 && *scheme != "token ";
                (may_be_short || credential.len() >= 8).then_some(credential)
            })
            .collect();
        found
    })
}

/// The password of `user:password@host`, with a scheme before it or not; without a colon, a very long user.
fn in_user_info(word: &str) -> Option<&str> {
    let (before, host) = word.rsplit_once('@')?;
    // An image by its digest.
    if host.is_empty() || host.starts_with("sha256:") || host.starts_with("sha512:") {
        return None;
    }
    let (scheme, user_info) = before.split_once("://").map_or((None, before), |(scheme, rest)| (Some(scheme), rest));
    match user_info.split_once(':') {
        Some((_, password)) => Some(password),
        None => (scheme.is_some() && user_info.len() >= LONG_USER_BYTES).then_some(user_info),
    }
}

/// The path of a URL that is known to nobody but who may call it.
fn in_webhook(word: &str) -> Vec<&str> {
    let Some((_, rest)) = word.split_once("://") else { return vec![] };
    let lower = rest.to_ascii_lowercase();
    if !lower.contains("hook") && !lower.contains("api.telegram.org/bot") {
        return vec![];
    }
    let Some((_, path)) = rest.split_once('/') else { return vec![] };
    let segments = path.split(['/', '?', '&', '#']).filter(|segment| segment.len() >= 8);
    [path].into_iter().chain(segments).collect()
}

/// The values of `name=value`, `name: value` and `"name":"value"` whose names are those of secrets.
fn pairs(text: &str) -> impl Iterator<Item = &str> {
    let mut done = 0;
    text.match_indices(['=', ':']).filter_map(move |(at, sign)| {
        // A value may have signs in it.
        if at < done {
            return None;
        }
        let value = value_of_pair(text, at, sign)?;
        // The value is a part of the text.
        done = value.as_ptr() as usize - text.as_ptr() as usize + value.len();
        Some(value)
    })
}

/// The value behind a sign, if the name before it is that of a secret. It looks at no more than [`MAX_NAME_BYTES`] before
/// the sign, and at as many between it and the value.
fn value_of_pair<'t>(text: &'t str, at: usize, sign: &str) -> Option<&'t str> {
    let (before, after) = (&text[text.floor_char_boundary(at.saturating_sub(MAX_NAME_BYTES))..at], &text[at + 1..]);
    let before = before.trim_end_matches([' ', ':']);
    let is_quoted = before.ends_with(['"', '\'', '\\']);
    let before = before.trim_end_matches(['"', '\'', '\\']);
    let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c)).map_or(0, |at| at + 1);
    // The colon of a URL, a port or a time joins no pair.
    let joins = sign == "=" || is_quoted || after.starts_with([' ', '\t', '\n', '"', '\'']);
    if !joins || !before.is_char_boundary(start) || !is_secret_name(&before[start..]) {
        return None;
    }
    let gap = after.bytes().take(MAX_NAME_BYTES).take_while(|byte| b" \t\n\"'\\=>".contains(byte)).count();
    after[gap..].split(|c: char| c.is_whitespace() || "\"'\\,;&<>".contains(c)).next()
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace() || "\"'<>`,;".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_secret_by_its_words() {
        for name in
            ["password", "DB_PASSWORD", "dbPass", "db-pass", "apiKey", "conn_string_secret", "SENTRY_DSN", "sig"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["pool", "topologyKey", "labelKeys", "bypass", "zone", "passes", "design", "pins", ""] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    /// Tokens are joined here, so that a scanner of this repository does not find them.
    fn joined(parts: &[&str]) -> String {
        parts.concat()
    }

    #[test]
    fn the_forms_of_secrets_are_found_wherever_they_stand() {
        let table = [
            (joined(&["AKIA", "IOSFODNN7EXAMPLE"]), joined(&["AKIA", "IOSFODNN7EXAMPLE"])),
            (joined(&["use gh", "p_abcdefghijklmnop now"]), joined(&["gh", "p_abcdefghijklmnop"])),
            (
                joined(&["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"]),
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln".into(),
            ),
            ("https://me:p/w@example.com/x".to_owned(), "p/w".to_owned()),
            ("amqp connects to guest:guest@broker".to_owned(), "guest".to_owned()),
            ("https://0123456789abcdef0123@o1.example.com/7".to_owned(), "0123456789abcdef0123".to_owned()),
            ("https://example.com/a?x=1&access_token=abc&y=2".to_owned(), "abc".to_owned()),
            ("https://example.com/a#sig=abc".to_owned(), "abc".to_owned()),
            ("host=db user=me password='hunter2' port=1".to_owned(), "hunter2".to_owned()),
            (r#"{"auths": {"password":"hunter2"}}"#.to_owned(), "hunter2".to_owned()),
            ("a: 1\ndbPassword: hunter2\n".to_owned(), "hunter2".to_owned()),
            (joined(&["https://hooks.sl", "ack.com/services/T0/B0/abcdefgh"]), "abcdefgh".to_owned()),
            ("https://example.com/web-hooks/12345678".to_owned(), "12345678".to_owned()),
            ("x-header: BEARER abcdefgh".to_owned(), "abcdefgh".to_owned()),
            ("Basic bWU6cHc=".to_owned(), "bWU6cHc=".to_owned()),
            (
                "wJalrXUtnFEMI/K7MDENG/bPxRfiCYabcdefghij".to_owned(),
                "wJalrXUtnFEMI/K7MDENG/bPxRfiCYabcdefghij".to_owned(),
            ),
        ];
        for (text, secret) in table {
            assert!(secrets_in(&text).contains(&secret.as_str()), "{text}: {:?}", secrets_in(&text));
        }
        let block = joined(&["first\n-----BEGIN RSA PRIV", "ATE KEY-----\nabc"]);
        assert_eq!(secrets_in(&block), [block.as_str()]);
    }

    #[test]
    fn ordinary_settings_have_no_secrets() {
        for text in [
            "",
            "topology.kubernetes.io/zone",
            "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB-MIG-1g.5gb",
            "registry.example.com:5000/team/image:v1@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "https://prices.example.com:8443/v1/spot?zone=a",
            "10:30",
            "a basic plan",
            "me@example.com",
            "550e8400-e29b-41d4-a716-446655440000",
            "é=ü:@",
        ] {
            assert_eq!(secrets_in(text), [""; 0], "{text}");
        }
    }
}
