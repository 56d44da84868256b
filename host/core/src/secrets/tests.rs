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
fn a_key_that_is_a_label_key_with_a_domain_is_shown() {
    for key in ["example.com/licence", "example.com/license", "topology.kubernetes.io/zone", "a-1.example.com/numaZone"]
    {
        let settings =
            serde_json::json!({"key": key, "in": "label", "pool": "example.com/pool", "seats": {"matlab": 4}});
        let shown: Value = serde_json::from_str(&shown_settings(&settings.to_string())).unwrap();
        assert_eq!(shown, settings);
        let secrets = Secrets::of(&settings.to_string());
        assert_eq!(secrets.hide(&format!("no label {key}")), format!("no label {key}"));
    }
}

#[test]
fn a_key_that_may_be_a_secret_is_hidden_as_before() {
    let shown = |settings: Value| serde_json::from_str::<Value>(&shown_settings(&settings.to_string())).unwrap();
    for key in [
        "hunter",
        "aGVsbG8/d29ybGQ",
        "example.com",
        "example.com/9f86d081884c7d65",
        "example.com/a/b",
        "Example.com/licence",
        "example.1/licence",
        ".com/licence",
        "example.com/-licence",
        "https://example.com/licence",
    ] {
        assert_eq!(shown(serde_json::json!({"key": key})), serde_json::json!({"key": HIDDEN}), "{key}");
    }
    for name in ["apiKey", "privateKey", "secretKey", "encryption_key", "keys", "token"] {
        assert_eq!(
            shown(serde_json::json!({name: "example.com/licence"})),
            serde_json::json!({name: HIDDEN}),
            "{name}"
        );
    }
    let above = serde_json::json!({"credentials": {"key": "example.com/licence"}});
    assert_eq!(shown(above), serde_json::json!({"credentials": {"key": HIDDEN}}));
    let pair = serde_json::json!({"name": "password", "key": "example.com/licence"});
    assert_eq!(shown(pair), serde_json::json!({"name": "password", "key": HIDDEN}));
}

#[test]
fn a_setting_that_names_a_label_is_shown_whatever_comes_before_key() {
    let settings = serde_json::json!({"zoneKey": "zone", "pool_key": "node-pool", "tenant-key": "example.com/tenant",
        "rackKey": "rack.row_name", "most": 2});
    let shown: Value = serde_json::from_str(&shown_settings(&settings.to_string())).unwrap();
    assert_eq!(shown, settings);
    let hide = |text| Secrets::of_reasons(&settings.to_string()).hide(text).into_owned();
    assert_eq!(hide("node belongs to no zone"), "node belongs to no zone");
    assert_eq!(secret_settings(&settings.to_string()), [""; 0]);
}

#[test]
fn a_setting_that_may_hold_a_key_to_something_is_hidden_and_named() {
    for (name, value) in [
        ("zoneKey", "zone7"),
        ("zoneKey", "Zone"),
        ("zoneKey", "a zone"),
        ("zoneKey", "zone-"),
        ("apiKey", "zone"),
        ("api-key", "zone"),
        ("zoneApiKey", "zone"),
        ("zone_secret_key", "zone"),
        ("zonePassKey", "zone"),
        ("passWordKey", "zone"),
        ("zonePassword", "zone"),
        ("keyToken", "zone"),
        ("zonekey", "zone"),
        ("key", "zone"),
    ] {
        let settings = serde_json::json!({"pool": [{(name): value}]}).to_string();
        let expected = serde_json::json!({"pool": [{(name): HIDDEN}]});
        assert_eq!(serde_json::from_str::<Value>(&shown_settings(&settings)).unwrap(), expected, "{name}: {value}");
        assert_eq!(secret_settings(&settings), [format!("pool[0].{name}")]);
    }
    let long = serde_json::json!({"zoneKey": "a".repeat(64), "url": "https://me:pw@example.com"}).to_string();
    assert_eq!(secret_settings(&long), ["url", "zoneKey"]);
    let token = ["gh", "p_abcdefghijklmno"].concat();
    assert_eq!(secret_settings(&serde_json::json!({"pools": {(token): 1}}).to_string()), ["pools"]);
}

#[test]
fn the_part_of_a_text_that_is_secret_is_found_by_itself() {
    let secrets = Secrets::of(r#"{"url":"https://example.com/a?token=correct-horse","words":"a b"}"#);
    assert_eq!(secrets.hide("sent correct-horse to example.com"), "sent <not shown> to example.com");
    assert_eq!(secrets.hide("https://example.com/a?token=correct-horse"), "https://example.com/a?token=<not shown>");
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
    let settings = serde_json::json!({"tokens": {(token('a')): "team-a", (token('b')): "team-b"}, "pools": {"a": 1}});
    let shown: Value = serde_json::from_str(&shown_settings(&settings.to_string())).unwrap();
    let expected = serde_json::json!({"tokens": {HIDDEN: HIDDEN, "<not shown> 2": HIDDEN}, "pools": {"a": 1}});
    assert_eq!(shown, expected);
    assert_eq!(Secrets::of(&settings.to_string()).hide(&format!("used {}!", token('b'))), "used <not shown>!");
}

#[test]
fn the_escapes_of_json_and_of_languages_hide_no_secret() {
    let secret = "p<w>&\u{8}\u{1b}ä";
    for secrets in [Secrets::of, Secrets::of_reasons].map(|of| of(&serde_json::json!({"password": secret}).to_string()))
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
    assert_eq!(reasons.hide("hunter2 x1, 4711; hunter22 x11"), "<not shown> <not shown>, <not shown>; hunter22 x11");
    assert_eq!(log.hide("hunter2 x1, 4711; hunter22 x11"), "<not shown> <not shown>, <not shown>; <not shown>2 x11");
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
    let keys: serde_json::Map<String, Value> = (0..20_000).map(|at| (format!("AKIA{at:016}"), Value::Null)).collect();
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
        r#"{"token":"correct horse battery staple","key":"say \"please\"\n","pin_secret":271828,"api_key":"ab","max_tokens":5,"size":"large"}"#,
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
