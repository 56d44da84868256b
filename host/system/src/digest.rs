//! SHA-256, as hexadecimal text.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// `sha256:<hex>` of bytes, as sidecars and replies show it.
pub fn digest(bytes: &[u8]) -> String {
    text_of(&sha256(bytes))
}

/// `sha256:<hex>` of a hash.
pub fn text_of(hash: &[u8; 32]) -> String {
    format!("sha256:{}", hex(hash))
}

/// The hash itself.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
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
    }
}
