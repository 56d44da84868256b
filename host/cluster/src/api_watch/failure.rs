//! Why a list or a watch came to an end.

use std::{error::Error, time::Duration};

use bytes::Bytes;

use super::wire::Status;

/// A failure between the API server and us.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WatchFailure {
    /// The API server no longer knows the version that was asked for (410): only a list helps.
    #[error("the API server has forgotten where the watch stood: {0}")]
    Expired(String),
    /// It refuses.
    #[error("the API server answered {code}: {message}")]
    Refused {
        /// The HTTP status.
        code: u16,
        /// Its message.
        message: String,
    },
    /// It cannot be reached, or the connection broke.
    #[error("the API server cannot be reached: {0}")]
    Broken(String),
    /// Nothing came for too long.
    #[error("the API server was silent for {0:?}")]
    Silent(Duration),
    /// A response exceeds the limit; this is its beginning.
    #[error("a response has more than {most} bytes")]
    TooLarge {
        /// The limit in bytes.
        most: usize,
        /// Its first bytes.
        beginning: Bytes,
    },
    /// A response does not have the form of the API.
    #[error("the API server sent what cannot be read: {0}")]
    Malformed(String),
}

// === impl WatchFailure ===

impl WatchFailure {
    /// A connection error, with all its causes.
    pub(super) fn broken(error: &(dyn Error + 'static)) -> Self {
        Self::Broken(crate::api::error_text(error))
    }

    /// Whether the watch may continue at its position; if not, a list comes first.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Broken(_) | Self::Silent(_) => true,
            // Not authorised, too many requests, or an internal error: none concerns the position.
            Self::Refused { code, .. } => matches!(code, 401 | 403 | 429 | 500..),
            Self::Expired(_) | Self::TooLarge { .. } | Self::Malformed(_) => false,
        }
    }

    /// The failure that a `Status` describes, in a response or in an event.
    pub(super) fn refused(code: u16, status: &[u8]) -> Self {
        let read: Result<Status<'_>, _> = serde_json::from_slice(status);
        let (stated, message) = match read {
            Ok(status) => (status.code, status.message.into_owned()),
            Err(_) => (0, String::from_utf8_lossy(&status[..status.len().min(200)]).into_owned()),
        };
        let code = if stated == 0 { code } else { stated };
        if code == 410 { Self::Expired(message) } else { Self::Refused { code, message } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_says_decides_whether_a_list_comes_first() {
        let table = [
            (410, r#"{"kind":"Status","code":410,"message":"too old"}"#, false),
            (200, r#"{"kind":"Status","code":410,"message":"too old"}"#, false),
            (403, r#"{"kind":"Status","code":403,"message":"nodes is forbidden"}"#, true),
            (400, r#"{"kind":"Status","code":400,"message":"bad version"}"#, false),
            (429, "too many", true),
            (503, "", true),
        ];
        for (code, body, is_transient) in table {
            let failure = WatchFailure::refused(code, body.as_bytes());
            assert_eq!(failure.is_transient(), is_transient, "{failure}");
        }
        let forbidden = WatchFailure::refused(403, table[2].1.as_bytes());
        assert_eq!(forbidden.to_string(), "the API server answered 403: nodes is forbidden");
    }
}
