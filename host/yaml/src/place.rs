//! Places within a text of a file.

use serde_saphyr::Location;

use crate::position;

/// The place in a file of a line and a column, from 1, of one of its texts, which begins at `start`: exact for a text on
/// one line and for a block (`|`), else where the text begins.
pub fn place_in(file: &str, start: Location, text: &str, at: (u64, u64)) -> Option<(u64, u64)> {
    let begin = position(start)?;
    let written = line_of(file, begin.0).map_or("", |line| after(line, begin.1));
    let exact = if written.starts_with(['\'', '"']) {
        column_in_quotes(written, at).map(|add| (begin.0, begin.1 + add))
    } else {
        // A block begins with its first line that is not blank.
        let blank = text.lines().take_while(|line| line.trim().is_empty()).count() as u64;
        place_as_written(file, (begin.0.saturating_sub(blank), begin.1), text, at)
    };
    Some(exact.unwrap_or(begin))
}

fn line_of(text: &str, number: u64) -> Option<&str> {
    text.lines().nth(number.checked_sub(1)? as usize)
}

/// The rest of a line from a column on.
fn after(line: &str, column: u64) -> &str {
    line.char_indices().nth(column as usize - 1).map_or("", |(index, _)| &line[index..])
}

/// The characters before a column of a text in quotes; none if the text goes on in the next line.
fn column_in_quotes(quoted: &str, (line, column): (u64, u64)) -> Option<u64> {
    let is_double = quoted.starts_with('"');
    let mut found = None;
    let mut chars = (0..).zip(quoted.chars()).skip(1).peekable();
    for decoded in 1.. {
        let (at, c) = chars.next()?;
        if decoded == column {
            found = Some(at);
        }
        let escaped = match c {
            '"' if is_double => break,
            '\'' if !is_double && chars.next_if(|(_, next)| *next == '\'').is_none() => break,
            '\\' if is_double => match chars.next()?.1 {
                'x' => 2,
                'u' => 4,
                'U' => 8,
                _ => 0,
            },
            _ => 0,
        };
        chars.by_ref().take(escaped).for_each(drop);
    }
    found.filter(|_| line == 1)
}

/// The place in a text whose lines stand in the file as they are, from `first` on; none if this line does not.
fn place_as_written(file: &str, first: (u64, u64), text: &str, (line, column): (u64, u64)) -> Option<(u64, u64)> {
    let place = (first.0 + line - 1, first.1 + column - 1);
    let written = after(line_of(file, place.0)?, first.1);
    written.starts_with(line_of(text, line)?).then_some(place)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_saphyr::Spanned;

    use super::*;

    #[derive(Deserialize)]
    struct Document {
        #[serde(default)]
        a: Vec<Spanned<String>>,
        b: Option<Spanned<String>>,
    }

    #[test]
    fn a_place_is_exact_on_one_line_and_in_a_block_and_else_the_start() {
        let mut wrong = Vec::new();
        for (yaml, at, place) in [
            ("a:\n- pod.x == 1 # why\n", (1, 5), (2, 7)),
            ("a: [ pod.é.x, b]\n", (1, 7), (1, 12)),
            ("a: [ 'it''s é x' ]\n", (1, 8), (1, 15)),
            ("a: [ \"a\\u00e9\\n\\\"x\" ]\n", (1, 5), (1, 18)),
            ("a: [ \"\" ]\n", (1, 1), (1, 7)),
            ("a:\n- |\n\n  one\n    two\n", (3, 3), (5, 5)),
            ("b: |\n  one\n   two\n\n  three", (4, 2), (5, 4)),
            ("b: |\n\n  one\n  two\n", (3, 1), (4, 3)),
            ("a:\n- |- # why\n   one\n   two\n", (2, 1), (4, 4)),
            ("a:\n- |2\n     one\n", (1, 4), (3, 6)),
            // The start.
            ("a:\n- one\n  two\n", (1, 5), (2, 3)),
            ("a:\n- 'one\n  two'\n", (1, 5), (2, 3)),
            ("a:\n- >\n  one\n  two\n", (1, 5), (3, 3)),
            ("b: >\n  one\n  two\n", (1, 5), (2, 3)),
            ("a:\n- &x pod.y\n- *x\n", (1, 5), (2, 10)),
        ] {
            let document: Document = serde_saphyr::from_str(yaml).unwrap();
            let text = document.b.as_ref().unwrap_or_else(|| &document.a[0]);
            let found = place_in(yaml, text.defined, &text.value, at);
            if found != Some(place) {
                wrong.push((yaml, place, found));
            }
        }
        assert_eq!(wrong, []);
    }
}
