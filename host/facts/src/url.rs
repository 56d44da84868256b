//! URLs of sources, and of servers that they redirect to.

use std::net::IpAddr;

use http::{Uri, uri::Scheme};

/// An absolute `http` or `https` URL without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpUrl(Uri);

// === impl HttpUrl ===

impl HttpUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// Says what is wrong, without the URL: it may have a password.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, _) = text.split_once("://").ok_or("it is not an absolute URL")?;
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err("its scheme is neither http nor https");
        }
        let uri: Uri = text.parse().map_err(|_| "it is not a URL")?;
        let authority = uri.authority().ok_or("it has no host")?;
        if authority.as_str().contains('@') {
            return Err("it has a user or a password");
        }
        if authority.host().is_empty() {
            return Err("it has no host");
        }
        // The client would take the default port in place of one that it cannot read.
        let has_port = authority.as_str().len() > authority.host().len();
        if has_port && matches!(authority.port_u16(), None | Some(0)) {
            return Err("its port is not a number from 1 to 65535");
        }
        Ok(Self(uri))
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }

    /// Whether the host is this machine, by its address or as `localhost`.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host();
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
    }

    /// Whether both lead to one server: scheme, host and port are equal.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.is_https() == other.is_https() && self.is_same_host(other) && self.port() == other.port()
    }

    /// Whether the other one is the same server with TLS: the same host, from http to https.
    pub(crate) fn is_upgraded_by(&self, other: &Self) -> bool {
        !self.is_https() && other.is_https() && self.is_same_host(other)
    }

    fn is_same_host(&self, other: &Self) -> bool {
        self.host().eq_ignore_ascii_case(other.host())
    }

    pub(crate) fn has_query(&self) -> bool {
        self.0.query().is_some()
    }

    pub(crate) fn path(&self) -> &str {
        self.0.path()
    }

    /// The URL without its query, which may have a secret.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}", self.origin(), self.0.path())
    }

    /// The URL of the same server with another path, to which `path` is added, and this parameter of the query.
    ///
    /// # Errors
    /// If the parts are too long for a URL.
    pub(crate) fn join(&self, path: &str, parameter: &str, value: &str) -> Result<Self, &'static str> {
        let prefix = self.0.path().trim_end_matches('/');
        Self::parse(&format!("{}{prefix}{path}?{parameter}={}", self.origin(), percent_encoded(value)))
    }

    /// The URL that the header `Location` of an answer names.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub(crate) fn redirect(&self, location: &str) -> Result<Self, &'static str> {
        let location = location.split('#').next().unwrap_or_default();
        let is_absolute = location.split(['/', '?']).next().is_some_and(|start| start.contains(':'));
        if is_absolute {
            return Self::parse(location);
        }
        let scheme = if self.is_https() { "https" } else { "http" };
        if location.starts_with("//") {
            return Self::parse(&format!("{scheme}:{location}"));
        }
        if location.starts_with('/') {
            return Self::parse(&format!("{}{location}", self.origin()));
        }
        if location.is_empty() || location.starts_with('?') {
            return Self::parse(&format!("{}{}{location}", self.origin(), self.0.path()));
        }
        let directory = self.0.path().rsplit_once('/').map_or("", |(directory, _)| directory);
        Self::parse(&format!("{}{directory}/{location}", self.origin()))
    }

    fn origin(&self) -> String {
        let scheme = if self.is_https() { "https" } else { "http" };
        format!("{scheme}://{}", self.0.authority().map_or("", |authority| authority.as_str()))
    }

    fn host(&self) -> &str {
        self.0.host().unwrap_or_default().trim_matches(['[', ']'])
    }

    fn port(&self) -> u16 {
        self.0.port_u16().unwrap_or(if self.is_https() { 443 } else { 80 })
    }
}

/// Encodes a value of a query: all bytes except the unreserved ones of RFC 3986.
fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> HttpUrl {
        HttpUrl::parse(text).unwrap()
    }

    #[test]
    fn only_http_urls_without_credentials_are_read() {
        for good in ["http://a", "https://a.example:9090/prometheus/", "http://[::1]:80/x?y=z", "HTTPS://a/"] {
            assert!(HttpUrl::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a", "/a", "file:///etc/passwd", "ftp://a/", "http:///a", "http://u:p@a/", "http://u@a", "a:1"]
            .into_iter()
            .chain(["http://a:99999/", "http://a:0/", "http://a:/", "http://[::1]:x/"])
        {
            assert!(HttpUrl::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_query_is_encoded_and_not_shown() {
        let query = url("http://p:9090/prometheus/").join("/api/v1/query", "query", "a{b=\"c\"} > 0.5 + ü").unwrap();
        let expected = "http://p:9090/prometheus/api/v1/query?query=a%7Bb%3D%22c%22%7D%20%3E%200.5%20%2B%20%C3%BC";
        assert_eq!(query.uri().to_string(), expected);
        assert_eq!(query.shown(), "http://p:9090/prometheus/api/v1/query");
    }

    #[test]
    fn a_location_is_found_from_the_url_that_redirects() {
        let from = url("https://a.example/x/y?z=1");
        for (location, expected) in [
            ("https://b.example/c", Ok("https://b.example/c")),
            ("//b.example/c", Ok("https://b.example/c")),
            ("/c?d=e#f", Ok("https://a.example/c?d=e")),
            ("c", Ok("https://a.example/x/c")),
            ("?c", Ok("https://a.example/x/y?c")),
            ("", Ok("https://a.example/x/y")),
            ("/c?back=http://b", Ok("https://a.example/c?back=http://b")),
            ("file:///etc/passwd", Err("its scheme is neither http nor https")),
            ("http://u:p@b/", Err("it has a user or a password")),
        ] {
            let found = from.redirect(location).map(|url| url.uri().to_string());
            assert_eq!(found, expected.map(str::to_owned), "{location}");
        }
    }

    #[test]
    fn another_port_or_scheme_is_another_server() {
        let same = |one: &str, other: &str| url(one).is_same_origin(&url(other));
        assert!(same("http://a/x", "http://A:80/y"));
        assert!(same("https://a/", "https://a:443/"));
        assert!(
            !same("http://a/", "http://a:81/") && !same("http://a/", "https://a/") && !same("http://a/", "http://b/")
        );
    }

    #[test]
    fn loopback_is_known_by_its_addresses_and_its_name() {
        for (host, expected) in [
            ("127.0.0.1", true),
            ("[::1]", true),
            ("localhost", true),
            ("10.0.0.1", false),
            ("localhost.example", false),
        ] {
            assert_eq!(url(&format!("http://{host}:1/")).is_loopback(), expected, "{host}");
        }
    }
}
