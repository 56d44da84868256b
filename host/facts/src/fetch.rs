//! Fetches the content of a source, once.

mod capped;
mod http;
mod tls;

use std::{collections::BTreeMap, path::Path, pin::Pin, sync::Arc};

use plimsoll_system::bounded_file::read_file;
use tokio::time::timeout;

use self::http::HttpClient;
use crate::{
    bounds::MAX_BODY,
    config::{HttpSource, SourceConfig, SourceKind},
    error::FetchError,
    parse::{Content, error_of},
};

/// Maximum bytes of a token.
const MAX_TOKEN: u64 = 16 << 10;

/// The entries of a ConfigMap, or why they cannot be read.
pub type ConfigMapRead<'f> = Pin<Box<dyn Future<Output = Result<BTreeMap<String, String>, String>> + Send + 'f>>;

/// Reads the entries of a ConfigMap from the API server.
pub trait ConfigMaps: Send + Sync {
    /// Reads one. The caller drops the future at its deadline.
    fn read<'f>(&'f self, namespace: &'f str, name: &'f str) -> ConfigMapRead<'f>;
}

/// The outcome of a fetch.
pub(crate) struct Fetched {
    pub(crate) content: Result<Content, FetchError>,
    /// The token that was sent, which no error may show: the server may have repeated it.
    pub(crate) token: Option<String>,
}

/// Fetches the content of sources.
pub(crate) struct Fetcher {
    http: HttpClient,
    config_maps: Option<Arc<dyn ConfigMaps>>,
}

// === impl Fetcher ===

impl Fetcher {
    pub(crate) fn new(config_maps: Option<Arc<dyn ConfigMaps>>) -> Self {
        Self { http: HttpClient::default(), config_maps }
    }

    /// Fetches a source within its time limit.
    pub(crate) async fn fetch(&self, source: &SourceConfig) -> Fetched {
        let mut token = None;
        let content = timeout(source.timeout, self.fetch_kind(&source.kind, &mut token)).await;
        Fetched { content: content.unwrap_or(Err(FetchError::Timeout(source.timeout))), token }
    }

    /// The token that is sent is left in `sent`.
    async fn fetch_kind(&self, kind: &SourceKind, sent: &mut Option<String>) -> Result<Content, FetchError> {
        match kind {
            SourceKind::Prometheus(source, _) => {
                let answer = self.get(source, sent).await?;
                let message = |body: &[u8]| error_of(body).map(|error| format!(": {error}")).unwrap_or_default();
                answer.body(message).map(Content::Json)
            }
            SourceKind::Http(source) => self.get(source, sent).await?.typed_content(),
            SourceKind::ConfigMap { namespace, name } => {
                let absent = || FetchError::ConfigMap("plimsoll has no API server".to_owned());
                let config_maps = self.config_maps.as_ref().ok_or_else(absent)?;
                config_maps.read(namespace, name).await.map(Content::Entries).map_err(FetchError::ConfigMap)
            }
            SourceKind::File(path) => Ok(Content::of_path(path, read(path, MAX_BODY as u64).await?)),
        }
    }

    async fn get(&self, source: &HttpSource, sent: &mut Option<String>) -> Result<http::Answer, FetchError> {
        // Read each time: a mounted token is renewed.
        if let Some(path) = &source.bearer_token_file {
            *sent = Some(token(path, read(path, MAX_TOKEN).await?)?);
        }
        let authorities = match &source.ca_file {
            Some(path) => Some((path.clone(), read(path, MAX_BODY as u64).await?)),
            None => None,
        };
        self.http.get(&source.url, sent.as_deref(), authorities).await
    }
}

/// Reads a file on another thread: a file system may be slow.
async fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FetchError> {
    let path = path.to_owned();
    let read = move || read_file(&path, limit).map_err(|cause| FetchError::File { path, cause });
    tokio::task::spawn_blocking(read).await.unwrap_or(Err(FetchError::Panicked))
}

fn token(path: &Path, bytes: Vec<u8>) -> Result<String, FetchError> {
    let text = String::from_utf8(bytes).ok().map(|text| text.trim().to_owned());
    let is_fit = |text: &String| !text.is_empty() && text.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
    text.filter(is_fit).ok_or_else(|| FetchError::Token(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line_of_printable_ascii() {
        let read = |bytes: &[u8]| token(Path::new("t"), bytes.to_vec()).ok();
        assert_eq!(read(b"abc.def\n").as_deref(), Some("abc.def"));
        for bad in [&b""[..], b"\n", b"a\nb", b"a b", b"\xff", "ü".as_bytes()] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }
}
