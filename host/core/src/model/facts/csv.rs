//! Facts in a file: on each line a key, a comma and a value.

use std::borrow::Cow;

use super::FactSource;
use crate::model::quotable;

// === impl FactSource ===

impl FactSource {
    /// Reads lines of a key, a comma and a value. Either may stand in double quotes, in which a double quote is doubled.
    /// Spaces around them, empty lines and lines that begin with `#` do not count.
    ///
    /// # Errors
    /// The number of a line, and what is wrong with it: it is something else, its key has two values, or a limit is passed.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let mut source = Self::default();
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let no_pair = || format!("found '{}': expected a key, a comma and a value", quotable(line));
            let added = pair(line).ok_or_else(no_pair).and_then(|(key, value)| source.add(&key, &value));
            added.map_err(|error| format!("{}: {error}", at + 1))?;
        }
        Ok(source)
    }
}

fn pair(line: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let (key, rest) = field(line)?;
    let (value, rest) = field(rest.strip_prefix(',')?)?;
    rest.is_empty().then_some((key, value))
}

/// The first field of a line, and what follows it.
fn field(line: &str) -> Option<(Cow<'_, str>, &str)> {
    let line = line.trim_start();
    let Some(quoted) = line.strip_prefix('"') else {
        let end = line.find(',').unwrap_or(line.len());
        let text = line[..end].trim_end();
        return (!text.contains('"')).then_some((Cow::Borrowed(text), &line[end..]));
    };
    let mut from = 0;
    loop {
        let end = from + quoted[from..].find('"')?;
        if !quoted[end + 1..].starts_with('"') {
            return Some((Cow::Owned(quoted[..end].replace("\"\"", "\"")), quoted[end + 1..].trim_start()));
        }
        from = end + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_keys_and_values() {
        let text = "# prices\nnode-1,0.25\r\n\n node-2 , 0.5 \n\"a, b\",\"say \"\"x\"\"\"\nempty,\n";
        let source = FactSource::from_csv(text).unwrap();
        let value = |key: &str| source.by_key(key).map(|value| value.text().to_owned());
        let values = ["node-1", "node-2", "a, b", "empty"].map(|key| value(key).unwrap());
        assert_eq!(values, ["0.25", "0.5", "say \"x\"", ""]);
        assert_eq!(source.len(), 4);
        // Spreadsheets write a byte order mark.
        assert!(FactSource::from_csv("\u{feff}node-1,1").unwrap().by_key("node-1").is_some());
    }

    #[test]
    fn another_line_is_named() {
        let error = |text: &str| FactSource::from_csv(text).unwrap_err();
        assert_eq!(error("a,1\nb"), "2: found 'b': expected a key, a comma and a value");
        assert_eq!(error("a,1,2"), "1: found 'a,1,2': expected a key, a comma and a value");
        assert_eq!(error("a,\"1"), "1: found 'a,\"1': expected a key, a comma and a value");
        assert_eq!(error("a,x\"1"), "1: found 'a,x\"1': expected a key, a comma and a value");
        assert_eq!(error("a,1\n\na,2"), "3: the key 'a' has two values, 1 and 2: expected one for each key");
    }
}
