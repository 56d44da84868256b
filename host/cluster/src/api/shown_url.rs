//! URLs as messages show them.

use http::Uri;

/// A URL without the parts that may be credentials: its user and its query.
pub(super) fn shown_url(url: &Uri) -> String {
    let port = url.port_u16().map_or_else(String::new, |port| format!(":{port}"));
    let host = url.host().unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme_str().unwrap_or("http"), url.path())
}
