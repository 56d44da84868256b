//! SHA-256, as hexadecimal text.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// `sha256:<hex>` of bytes, as sidecars and replies show it.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&sha256(bytes)))
}

/// The hash itself.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The hash in a text as [`digest`] writes it.
pub fn parse_sha256(digest: &str) -> Option<[u8; 32]> {
    let digits = digest.strip_prefix("sha256:").filter(|digits| is_hex(digits, 64))?;
    let mut hash = [0; 32];
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether a text is of this many lower-case hexadecimal digits.
pub fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_digest_is_the_hash_that_sha256sum_prints() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(super::digest(b""), empty);
        assert_eq!(super::parse_sha256(empty), Some(super::sha256(b"")));
        for text in ["", "sha256:", &empty[7..], &empty[..70], &empty.to_uppercase()] {
            assert_eq!(super::parse_sha256(text), None, "{text}");
        }
    }
}
