//! Texts where Kubernetes' differ from those of the crate `cel`. The checker writes calls of these in place of its own.

use cel::{
    ExecutionError,
    common::{
        types::{CelBool, CelBytes, CelDouble, CelInt, CelNull, CelString, CelUInt},
        value::Val,
    },
};

use super::answer::{failed, missing};
use crate::values::time::{Duration, Timestamp};

/// A double as Go's `%g` writes it.
pub(super) fn double(number: f64) -> String {
    if number.is_infinite() {
        return (if number > 0.0 { "+Inf" } else { "-Inf" }).to_owned();
    }
    if number.is_nan() {
        return "NaN".to_owned();
    }
    // As few digits as tell it; of two such texts that are as near, Go writes the even one.
    let shortest = format!("{number:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let even = format!("{number:.*e}", digits - 1);
    let chosen = if even.parse() == Ok(number) { &even } else { &shortest };
    let (mantissa, exponent) = chosen.split_once('e').unwrap_or((chosen, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        exponent @ -4..6 if chosen == &even => {
            format!("{number:.*}", usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0))
        }
        -4..6 => number.to_string(),
        exponent => format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

/// A value as `%s` writes it; within a list or a map, as a literal.
pub(super) fn show(value: &dyn Val, is_within: bool) -> Result<String, ExecutionError> {
    let literal = |function: &str, text: String| if is_within { format!("{function}({text:?})") } else { text };
    Ok(if let Some(text) = value.downcast_ref::<CelString>() {
        if is_within { quoted(text) } else { text.to_string() }
    } else if let Some(number) = value.downcast_ref::<CelInt>() {
        number.to_string()
    } else if let Some(number) = value.downcast_ref::<CelUInt>() {
        number.to_string()
    } else if let Some(number) = value.downcast_ref::<CelDouble>() {
        if is_within { format!("{:.6}", **number) } else { double(**number) }
    } else if let Some(is) = value.downcast_ref::<CelBool>() {
        is.to_string()
    } else if value.downcast_ref::<CelNull>().is_some() {
        "null".to_owned()
    } else if let Some(bytes) = value.downcast_ref::<CelBytes>() {
        let text = String::from_utf8_lossy(bytes.inner());
        if is_within { format!("b{}", quoted(&text)) } else { text.into_owned() }
    } else if let Some(time) = value.downcast_ref::<Timestamp>() {
        literal("timestamp", time.text())
    } else if let Some(duration) = value.downcast_ref::<Duration>() {
        literal("duration", duration.text())
    } else if let Some(items) = value.as_iterable() {
        let mut items = items.iter();
        let items = std::iter::from_fn(|| items.next());
        if value.as_adder().is_some() || value.as_container().is_none() {
            let shown: Result<Vec<_>, _> = items.map(|item| show(item, true)).collect();
            format!("[{}]", shown?.join(", "))
        } else {
            let map = value.as_indexer().ok_or_else(|| missing("format"))?;
            let entry = |key: &dyn Val| Ok(format!("{}:{}", show(key, true)?, show(map.get(key)?.as_ref(), true)?));
            let mut shown = items.map(entry).collect::<Result<Vec<_>, ExecutionError>>()?;
            shown.sort();
            format!("{{{}}}", shown.join(", "))
        }
    } else {
        return Err(failed("format", format!("a {} has no text to format", value.get_type().name())));
    })
}

/// A text as Go's `%q` writes it.
fn quoted(text: &str) -> String {
    let mut all = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => all.push_str("\\a"),
            '\u{8}' => all.push_str("\\b"),
            '\u{b}' => all.push_str("\\v"),
            '\u{c}' => all.push_str("\\f"),
            '\n' | '\r' | '\t' | '"' | '\\' => all.extend(c.escape_default()),
            c if c.is_ascii_control() => all.extend(format!("\\x{:02x}", c as u32).chars()),
            c if c != ' ' && (c.is_control() || c.is_whitespace()) => {
                all.extend(format!("\\u{:04x}", c as u32).chars());
            }
            c => all.push(c),
        }
    }
    all + "\""
}

/// Go's `strconv.ParseBool`.
pub(super) fn bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("{text:?} is no bool")),
    }
}

/// The place of a text in another, in characters: the first one at or behind an offset, or the last one at or before it.
pub(super) fn index_of(text: &str, wanted: &str, offset: i64, is_last: bool) -> Result<i64, String> {
    let all: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = wanted.chars().collect();
    let offset = usize::try_from(offset).map_err(|_| format!("the offset {offset} is negative"))?;
    if wanted.is_empty() {
        return Ok(offset.min(all.len()) as i64);
    }
    if offset >= all.len() {
        return Ok(-1);
    }
    let is_there = |at: &usize| all[*at..].starts_with(&wanted);
    let found = if is_last { (0..=offset).rev().find(is_there) } else { (offset..all.len()).find(is_there) };
    Ok(found.map_or(-1, |at| at as i64))
}
