//! Writes JSON strings, integers and separators.

/// Writes a JSON string: quotes, backslashes and control characters are escaped, all else stays.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    // Branchless, so that the compiler vectorizes it; almost no name needs an escape.
    if rest.iter().fold(false, |any, byte| any | needs_escape(*byte)) {
        while let Some(at) = rest.iter().position(|byte| needs_escape(*byte)) {
            out.extend_from_slice(&rest[..at]);
            push_escape(out, rest[at]);
            rest = &rest[at + 1..];
        }
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Writes a bare integer; Go refuses `5.0` and `1e1` for an `int64`.
pub(crate) fn push_integer(out: &mut Vec<u8>, number: i64) {
    match u8::try_from(number) {
        Ok(digit @ 0..=9) => out.push(b'0' + digit),
        _ => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
    }
}

/// Writes a comma, except before the first element of a list or map.
#[inline]
pub(crate) fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'[' | b'{')) {
        out.push(b',');
    }
}

const fn needs_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}
