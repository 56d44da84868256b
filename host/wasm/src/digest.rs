//! The name of a module: the SHA-256 of its file.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// `sha256:<hex>` of a module's file, as sidecars and replies show it.
pub fn digest(module: &[u8]) -> String {
    format!("sha256:{}", hex(&sha256(module)))
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_digest_is_the_hash_that_sha256sum_prints() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(super::digest(b""), empty);
    }
}
