//! Reads a source, once.

use std::{collections::BTreeMap, path::Path, pin::Pin, sync::Arc};

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use plimsoll_core::excerpt;
use plimsoll_system::{bounded_file::read_file, error_chain};
use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore,
    client::WantsClientCert,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{
    task::{block_in_place, spawn_blocking},
    time::timeout,
};

use crate::{
    config::{HttpSource, Login, SourceConfig, SourceKind},
    parse::{self, Content, Parsed},
};

/// Maximum bytes of an answer: the samples of 30,000 nodes.
const MAX_BODY: usize = 4 << 20;

/// Maximum bytes of a token.
const MAX_TOKEN: u64 = 16 << 10;

/// Maximum bytes of the text of an error, which may quote the answer; it stands in the log and in `/api/facts`.
const MAX_ERROR_BYTES: usize = 500;

const USER_AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// The entries of a ConfigMap, or why they cannot be read.
pub type ConfigMapRead = Pin<Box<dyn Future<Output = Result<BTreeMap<String, String>, String>> + Send>>;

/// Reads the entries of a ConfigMap, by namespace and name, from the API server. The future is dropped at its deadline.
pub type ReadConfigMap = Arc<dyn Fn(String, String) -> ConfigMapRead + Send + Sync>;

/// Reads the facts of a source within its time limit.
///
/// # Errors
/// The text for operators.
pub(crate) async fn read(source: &SourceConfig, read_config_map: Option<&ReadConfigMap>) -> Result<Parsed, String> {
    let content = timeout(source.timeout, content(&source.kind, read_config_map)).await;
    let late = |_| Err(format!("no whole answer came within {}", humantime::format_duration(source.timeout)));
    // Megabytes of JSON take too long for an async thread.
    let facts = content.unwrap_or_else(late).and_then(|content| block_in_place(|| parse::parse(source, content)));
    let Parsed { facts, gaps } = facts.map_err(|error| excerpt(&error, MAX_ERROR_BYTES))?;
    Ok(Parsed { facts, gaps: gaps.map(|gaps| excerpt(&gaps, MAX_ERROR_BYTES)) })
}

async fn content(kind: &SourceKind, read_config_map: Option<&ReadConfigMap>) -> Result<Content, String> {
    match kind {
        SourceKind::Prometheus(source, _) => get(source, true).await,
        SourceKind::Http(source) => get(source, false).await,
        SourceKind::ConfigMap { namespace, name } => {
            let read = read_config_map.ok_or("plimsoll has no API server")?;
            let read = read(namespace.clone(), name.clone()).await.map(Content::Entries);
            read.map_err(|error| format!("the ConfigMap cannot be read: {error}"))
        }
        SourceKind::File(path) => {
            let bytes = file(path, MAX_BODY as u64).await?.into();
            Ok(if is_csv(path) { Content::Csv(bytes) } else { Content::Json(bytes) })
        }
    }
}

/// Reads a file on another thread: a file system may be slow.
async fn file(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let path = path.to_owned();
    let read = move || read_file(&path, limit).map_err(|cause| format!("{} {cause}", path.display()));
    spawn_blocking(read).await.map_err(|error| error.to_string())?
}

fn token(path: &Path, bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).ok().map(|text| text.trim().to_owned());
    let is_fit = |text: &String| !text.is_empty() && text.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
    let wrong = || format!("{} has no token: expected one line of printable ASCII", path.display());
    text.filter(is_fit).ok_or_else(wrong)
}

fn password(path: &Path, bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).ok().map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
    let is_fit = |text: &String| !text.is_empty() && !text.contains(char::is_control);
    text.filter(is_fit).ok_or_else(|| format!("{} has no password: expected one line", path.display()))
}

fn is_csv(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "csv")
}

/// A bounded GET. Redirects are not followed: elsewhere the gateway may reach more than its operator meant.
async fn get(source: &HttpSource, is_prometheus: bool) -> Result<Content, String> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    let https = HttpsConnectorBuilder::new().with_tls_config(tls(source).await?).https_or_http().enable_http1();
    // One connection for each request, since the next one follows only after seconds.
    let mut client = Client::builder(TokioExecutor::new());
    let client = client.pool_max_idle_per_host(0).build(https.wrap_connector(connector));
    let mut request = Request::get(&source.url)
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::ACCEPT, "application/json, text/csv;q=0.9, */*;q=0.1");
    for (name, value) in &source.headers {
        request = request.header(name, value);
    }
    if let Some(login) = &source.login {
        request = request.header(header::AUTHORIZATION, authorization(login).await?);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|error| error.to_string())?;
    let response = client.request(request).await.map_err(|error| {
        let why = if error.is_connect() { "the server cannot be reached" } else { "the server gave no valid answer" };
        format!("{why}: {}", error_chain(&error))
    })?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            format!("the answer has more than {} MiB: expected at most that much", MAX_BODY >> 20)
        } else {
            format!("the answer broke off: {}", error_chain(&*error))
        }
    })?;
    let body = body.to_bytes();
    if head.status != StatusCode::OK {
        let message = is_prometheus.then(|| parse::message_of(&body)).flatten();
        let message = message.map(|message| format!(": {message}")).unwrap_or_default();
        return Err(format!("the server answered with status {}{message}", head.status.as_u16()));
    }
    let content_type = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is_csv = match content_type.to_ascii_lowercase().as_str() {
        "text/csv" => true,
        kind if is_prometheus || kind.ends_with("json") => false,
        _ => is_csv(Path::new(source.url.path())),
    };
    Ok(if is_csv { Content::Csv(body) } else { Content::Json(body) })
}

/// The header that names the client. The file is read each time: a mounted secret is renewed.
async fn authorization(login: &Login) -> Result<HeaderValue, String> {
    let value = match login {
        Login::Bearer(path) => format!("Bearer {}", token(path, file(path, MAX_TOKEN).await?)?),
        Login::Basic(user, path) => {
            let password = password(path, file(path, MAX_TOKEN).await?)?;
            format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
        }
    };
    let mut value = HeaderValue::try_from(value).map_err(|error| error.to_string())?;
    value.set_sensitive(true);
    Ok(value)
}

/// The authorities that the server's certificate is checked by, none without TLS, and the client's certificate.
async fn tls(source: &HttpSource) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let roots = match &source.ca_file {
        None if source.is_https() => {
            let read = spawn_blocking(|| builder.with_native_roots()).await.map_err(|error| error.to_string())?;
            let wrong =
                |error| format!("the certificates of the system's authorities cannot be used: {error}: name a caFile");
            return identified(read.map_err(wrong)?, source).await;
        }
        None => RootCertStore::empty(),
        Some(path) => authorities(path, &file(path, MAX_BODY as u64).await?)?,
    };
    identified(builder.with_root_certificates(roots), source).await
}

/// Adds the client's certificate, if the source has one.
async fn identified(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    source: &HttpSource,
) -> Result<ClientConfig, String> {
    let Some((cert, key)) = &source.certificate else { return Ok(builder.with_no_client_auth()) };
    let wrong =
        |path: &Path| format!("{} cannot be used: expected a client's certificate and its key in PEM", path.display());
    let (chain, secret) = (file(cert, MAX_TOKEN * 4).await?, file(key, MAX_TOKEN * 4).await?);
    let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<Vec<_>, _>>().map_err(|_| wrong(cert))?;
    let secret = PrivateKeyDer::from_pem_slice(&secret).map_err(|_| wrong(key))?;
    builder.with_client_auth_cert(chain, secret).map_err(|_| wrong(cert))
}

fn authorities(path: &Path, pem: &[u8]) -> Result<RootCertStore, String> {
    let wrong = |why: String| {
        let path = path.display();
        format!("{path} has no certificate that can be used: {why}: expected certificates of authorities in PEM")
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("it has none".to_owned())) } else { Ok(roots) }
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
