//! A bounded GET.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{self, Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use plimsoll_system::error_chain;
use rustls::ClientConfig;

use super::{capped::Capped, tls};
use crate::{
    bounds::{MAX_BODY, MAX_FRAMES, MAX_REDIRECTS},
    error::FetchError,
    parse::Content,
    url::HttpUrl,
};

const USER_AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// The client: one connection for each request, since the next one follows only after seconds.
type Connections = Client<HttpsConnector<Capped<HttpConnector>>, Empty<Bytes>>;

/// Maximum bytes that hyper reads before it decodes them; between two reads other tasks may run.
const MAX_BUFFER: usize = 64 << 10;

#[derive(Default)]
pub(super) struct HttpClient {
    /// With the system's authorities, which are read at the first use.
    system: OnceLock<Arc<ClientConfig>>,
}

/// The answer to a GET, with any status but a redirect.
pub(super) struct Answer {
    status: StatusCode,
    content_type: String,
    path: String,
    body: Vec<u8>,
    /// Whether the answer itself marks its end, and not only the closing of the connection.
    has_end: bool,
}

// === impl HttpClient ===

impl HttpClient {
    /// Gets a URL, and follows redirects on the same server: elsewhere the gateway may reach more than its operator
    /// meant, such as its own admin listener or a cloud's metadata.
    pub(super) async fn get(
        &self,
        url: &HttpUrl,
        mut token: Option<&str>,
        authorities: Option<(PathBuf, Vec<u8>)>,
    ) -> Result<Answer, FetchError> {
        let client = connections(self.tls(url, authorities).await?);
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = client.request(request(&at, token)?).await;
            let response = response.map_err(|error| unanswered(&error))?;
            let Some(next) = redirect(&at, &response)? else { return Answer::read(&at, response).await };
            if !at.is_same_origin(&next) {
                if !at.is_upgraded_by(&next) {
                    return Err(FetchError::Redirect("it leads to another server"));
                }
                token = None;
            }
            at = next;
        }
        Err(FetchError::Redirects)
    }

    async fn tls(
        &self,
        url: &HttpUrl,
        authorities: Option<(PathBuf, Vec<u8>)>,
    ) -> Result<Arc<ClientConfig>, FetchError> {
        match (authorities, self.system.get()) {
            (Some((path, pem)), _) => tls::with_authorities(&path, &pem).map(Arc::new),
            (None, Some(system)) => Ok(Arc::clone(system)),
            // It may redirect to https; without the system's authorities that connection fails.
            (None, None) if !url.is_https() => match self.read_system().await {
                Ok(system) => Ok(system),
                Err(_) => tls::without_authorities().map(Arc::new),
            },
            (None, None) => self.read_system().await,
        }
    }

    /// A failure is not kept: the certificates may be installed later.
    async fn read_system(&self) -> Result<Arc<ClientConfig>, FetchError> {
        let read = tokio::task::spawn_blocking(tls::with_system_authorities).await;
        let system = Arc::new(read.unwrap_or(Err(FetchError::Panicked))?);
        Ok(Arc::clone(self.system.get_or_init(|| system)))
    }
}

fn connections(tls: Arc<ClientConfig>) -> Connections {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    let builder = HttpsConnectorBuilder::new().with_tls_config(Arc::unwrap_or_clone(tls));
    // Below TLS: its records may be padded, so that what they hold says nothing about their size.
    let connector = builder.https_or_http().enable_http1().wrap_connector(Capped(connector));
    let mut client = Client::builder(TokioExecutor::new());
    client.pool_max_idle_per_host(0).http1_max_buf_size(MAX_BUFFER).build(connector)
}

fn request(url: &HttpUrl, token: Option<&str>) -> Result<Request<Empty<Bytes>>, FetchError> {
    let mut request = Request::get(url.uri())
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::ACCEPT, "application/json, text/csv;q=0.9, */*;q=0.1");
    if let Some(token) = token {
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        let mut value = value.map_err(|error| FetchError::Request(error.to_string()))?;
        value.set_sensitive(true);
        request = request.header(header::AUTHORIZATION, value);
    }
    request.body(Empty::new()).map_err(|error| FetchError::Request(error.to_string()))
}

/// Why a request got no answer: no connection, or one that ended before a valid head.
fn unanswered(error: &legacy::Error) -> FetchError {
    let text = error_chain(error);
    if error.is_connect() { FetchError::Unreachable(text) } else { FetchError::NoAnswer(text) }
}

/// The URL that an answer redirects to.
fn redirect<B>(from: &HttpUrl, response: &Response<B>) -> Result<Option<HttpUrl>, FetchError> {
    const REDIRECTS: [StatusCode; 5] = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    if !REDIRECTS.contains(&response.status()) {
        return Ok(None);
    }
    let location = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
    let location = location.ok_or(FetchError::Redirect("the answer has no Location"))?;
    from.redirect(location).map(Some).map_err(FetchError::Redirect)
}

// === impl Answer ===

impl Answer {
    async fn read(url: &HttpUrl, response: Response<Incoming>) -> Result<Self, FetchError> {
        let (head, body) = response.into_parts();
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let encoding = text(header::CONTENT_ENCODING);
        if !matches!(encoding.as_str(), "" | "identity") {
            return Err(FetchError::Encoded(plimsoll_core::quotable(&encoding).into_owned()));
        }
        let content_type = text(header::CONTENT_TYPE).to_ascii_lowercase();
        let has_end = body.size_hint().exact().is_some() || is_chunked(&head.headers);
        let body = read_body(body).await?;
        Ok(Self { status: head.status, content_type, path: url.path().to_owned(), body, has_end })
    }

    /// The content in the form that its type names, or, where the type names neither CSV nor JSON, the end of its path.
    pub(super) fn typed_content(self) -> Result<Content, FetchError> {
        let (content_type, path, has_end) = (self.content_type.clone(), self.path.clone(), self.has_end);
        let body = self.body(|_| String::new())?;
        let content = match content_type.split(';').next().unwrap_or_default().trim() {
            "text/csv" => Content::Csv(body),
            kind if kind.ends_with("json") => Content::Json(body),
            _ => Content::of_path(Path::new(&path), body),
        };
        // The beginning of a CSV is a CSV; JSON that is cut off is not JSON.
        if !has_end && matches!(content, Content::Csv(_)) {
            return Err(FetchError::NoEnd);
        }
        Ok(content)
    }

    /// The body of an answer with status 200; else an error, with a message from the body.
    pub(super) fn body(self, message: impl FnOnce(&[u8]) -> String) -> Result<Vec<u8>, FetchError> {
        if self.status != StatusCode::OK {
            return Err(FetchError::Status(self.status.as_u16(), message(&self.body)));
        }
        Ok(self.body)
    }
}

/// Whether the body is chunked, by the rule of RFC 9112: the last encoding counts.
fn is_chunked(headers: &HeaderMap) -> bool {
    let last = headers.get_all(header::TRANSFER_ENCODING).iter().next_back();
    let last = last.and_then(|value| value.to_str().ok()?.rsplit(',').next());
    last.is_some_and(|encoding| encoding.trim().eq_ignore_ascii_case("chunked"))
}

/// Copies the body into one buffer: frames of one byte, kept as they come, would take forty times as much.
async fn read_body(mut body: Incoming) -> Result<Vec<u8>, FetchError> {
    let (mut bytes, mut frames) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        frames += 1;
        if frames > MAX_FRAMES {
            return Err(FetchError::Frames);
        }
        let frame = frame.map_err(|error| FetchError::Broken(error_chain(&error)))?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > MAX_BODY {
            return Err(FetchError::TooLarge);
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_decides_whether_an_answer_is_csv_and_then_the_path() {
        for (content_type, path, expected) in [
            ("text/csv; charset=utf-8", "/a", true),
            ("application/json", "/a.csv", false),
            ("application/vnd.x+json", "/a.csv", false),
            ("text/plain", "/a.csv", true),
            ("text/plain", "/a", false),
            ("", "/a.csv", true),
        ] {
            let content = answer(content_type, path, true).typed_content().unwrap();
            assert_eq!(matches!(content, Content::Csv(_)), expected, "{content_type} {path}");
        }
    }

    fn answer(content_type: &str, path: &str, has_end: bool) -> Answer {
        let (content_type, path) = (content_type.to_owned(), path.to_owned());
        Answer { status: StatusCode::OK, content_type, path, body: Vec::new(), has_end }
    }

    #[test]
    fn csv_without_an_end_is_refused_by_type_and_by_path() {
        assert!(matches!(answer("text/csv", "/a", false).typed_content(), Err(FetchError::NoEnd)));
        assert!(matches!(answer("", "/a.csv", false).typed_content(), Err(FetchError::NoEnd)));
        assert!(answer("application/json", "/a.csv", false).typed_content().is_ok());
    }
}
