//! A first pass over an answer: it bounds the memory and the time that the parser can take.

use std::time::Instant;

use plimsoll_core::{Fault, FaultKind};

use super::fault::output_fault;

/// Maximum bytes of a string, or between two of JSON's marks. The longest text of an object has 256 KiB, and six bytes
/// for each if all of it is escaped.
pub(super) const MAX_TOKEN: usize = 2 << 20;

/// Bytes between two checks of the clock.
const CHUNK: usize = 1 << 20;

/// The state of the scan: the token that it is in, and the longest one that the parser must copy.
#[derive(Default)]
struct Scan {
    in_string: bool,
    after_backslash: bool,
    has_escape: bool,
    /// Bytes of this token.
    length: usize,
    /// Bytes of the longest string with an escape.
    longest: usize,
}

/// Bytes that `serde_json` may take for a text: it has one buffer, which doubles, for a string with escapes.
///
/// # Errors
/// If a token is too long, or the time is over.
pub(in crate::program) fn parser_memory(json: &[u8], deadline: Instant) -> Result<usize, Fault> {
    let mut scan = Scan::default();
    for (chunk, bytes) in json.chunks(CHUNK).enumerate() {
        if Instant::now() >= deadline {
            return Err(Fault::new(FaultKind::Timeout, "its time is over"));
        }
        for (byte, value) in bytes.iter().enumerate() {
            scan.take(*value);
            if scan.length > MAX_TOKEN {
                let at = chunk * CHUNK + byte;
                let detail = format!(
                    "its standard output has more than {} MiB without the end of a value, up to byte {at}",
                    MAX_TOKEN >> 20
                );
                return Err(output_fault(&detail));
            }
        }
    }
    // A string that does not end is parsed as well.
    Ok(2 * scan.longest.max(scan.escaped()))
}

// === impl Scan ===

impl Scan {
    fn take(&mut self, byte: u8) {
        self.length += 1;
        match byte {
            _ if self.after_backslash => self.after_backslash = false,
            b'\\' if self.in_string => (self.after_backslash, self.has_escape) = (true, true),
            b'"' => {
                self.longest = self.longest.max(self.escaped());
                *self = Self { in_string: !self.in_string, longest: self.longest, ..Self::default() };
            }
            b'[' | b']' | b'{' | b'}' | b',' | b':' if !self.in_string => self.length = 0,
            _ => {}
        }
    }

    /// The bytes of this string if it has an escape.
    const fn escaped(&self) -> usize {
        if self.has_escape { self.length } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn scan(json: &str) -> Result<usize, Fault> {
        parser_memory(json.as_bytes(), Instant::now() + Duration::from_hours(1))
    }

    #[test]
    fn the_parser_is_counted_with_its_longest_string_with_an_escape() {
        let cases = [
            ("", 0),
            (r#"{"NodeNames":["a","a long name without any escape"]}"#, 0),
            (r#"{"Error":"\u0041bcdefghij"}"#, 2 * 16),
            (r#""[[[[ \" [[[[""#, 2 * 13),
            (r#""not ended \"#, 2 * 11),
            ("[[[[]]]] [[", 0),
        ];
        for (json, bytes) in cases {
            assert_eq!(scan(json).unwrap(), bytes, "{json}");
        }
    }

    #[test]
    fn no_token_is_longer_than_the_time_between_two_looks_at_the_clock_allows() {
        let long = |of: &str| of.repeat(MAX_TOKEN / of.len() + 2);
        for json in [format!("\"{}\"", long("a")), format!("[{}", long("1")), format!("{{{}", long("\n")), long("\\\"")]
        {
            let fault = scan(&json).unwrap_err();
            assert!(fault.detail.contains("more than 2 MiB without the end of a value, up to byte 20971"), "{fault}");
            assert_eq!(fault.kind, FaultKind::Output);
        }
        assert_eq!(scan(&format!("[{}", long("[1,"))).unwrap(), 0);
    }

    #[test]
    fn no_byte_is_scanned_after_the_deadline() {
        assert_eq!(parser_memory(b"{", Instant::now()).unwrap_err().kind, FaultKind::Timeout);
    }
}
