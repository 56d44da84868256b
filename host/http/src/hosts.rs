//! Checks `Host` and `Origin`, so that a foreign web page cannot make a browser on this machine call us.
//!
//! A loopback address authenticates its clients: only this machine can reach it. A web page in a browser on the machine
//! can reach it, too: its name may resolve to 127.0.0.1 (DNS rebinding; `Host` shows it), or it may post a form
//! (`Origin` shows it).

use std::{net::IpAddr, sync::Arc};

use hyper::{
    HeaderMap, Uri,
    header::{HOST, HeaderName, HeaderValue, ORIGIN},
    http::uri::Authority,
};

/// The names under which a listener on loopback may be asked for, besides addresses and `localhost`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Arc<[String]>);

/// Why a request is refused: it seems to come from a web page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Foreign {
    #[error("the request's Host is not allowed: use localhost or an IP address, or add the name to --allowed-hosts")]
    Host,
    #[error("the request comes from a web page: plimsoll answers programs only")]
    Origin,
}

// === impl AllowedHosts ===

impl AllowedHosts {
    /// These names, without ports.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().filter(|name| !name.is_empty()).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks every host name of a request. HTTP/1.0 needs none; a browser always sends one.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Foreign> {
        let of_uri = uri.authority().map(Authority::as_str);
        let of_headers = headers.get_all(HOST).into_iter().map(|host| host.to_str().unwrap_or_default());
        if of_uri.into_iter().chain(of_headers).all(|authority| self.has(authority)) {
            Ok(())
        } else {
            Err(Foreign::Host)
        }
    }

    fn has(&self, authority: &str) -> bool {
        let host = host_of(authority);
        host.parse::<IpAddr>().is_ok()
            || host.eq_ignore_ascii_case("localhost")
            || self.0.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
}

/// Says of a browser's request from where it comes; an image of a page has this and no `Origin` (Fetch Metadata, W3C).
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses requests of any page: kube-scheduler sends no `Origin`, and every POST of a browser has one.
pub(crate) fn check_no_page(headers: &HeaderMap) -> Result<(), Foreign> {
    if headers.contains_key(ORIGIN) || headers.contains_key(FETCH_SITE) { Err(Foreign::Origin) } else { Ok(()) }
}

/// Refuses requests of pages of another origin.
pub(crate) fn check_same_page(headers: &HeaderMap) -> Result<(), Foreign> {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    let is_same = |origin: &HeaderValue| {
        let origin = origin.as_bytes();
        let of_page = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"));
        of_page.zip(host).is_some_and(|(page, host)| page.eq_ignore_ascii_case(host))
    };
    // A page that somebody typed the address of, or reloads, has none.
    let is_own_site = |site: &HeaderValue| site == "same-origin" || site == "none";
    let is_own = headers.get_all(FETCH_SITE).into_iter().all(is_own_site);
    if is_own && headers.get_all(ORIGIN).into_iter().all(is_same) { Ok(()) } else { Err(Foreign::Origin) }
}

/// The host of `host:port`, an IPv6 address without its brackets; empty if it is anything else.
fn host_of(authority: &str) -> &str {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => authority.find(':').map_or((authority, ""), |at| authority.split_at(at)),
    };
    let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    if port.is_empty() || port.strip_prefix(':').is_some_and(is_port) { host } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_host_is_an_address_localhost_or_listed() {
        let hosts = AllowedHosts::new(["Devbox.example".to_owned(), String::new()]);
        let table = [
            ("127.0.0.1:8889", true),
            ("127.0.0.1", true),
            ("[::1]:8889", true),
            ("localhost:8889", true),
            ("LOCALHOST", true),
            ("devbox.example:8889", true),
            ("evil.example:8889", false),
            ("devbox.example.evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:8889", false),
            ("127.0.0.1@evil.example", false),
            ("[::1", false),
            ("[::1].evil.example:80", false),
            ("[::1]evil.example", false),
            ("localhost:evil", false),
            ("", false),
        ];
        for (host, expected) in table {
            let one = headers(&[(HOST, host)]);
            assert_eq!(hosts.check(&Uri::from_static("/bind"), &one).is_ok(), expected, "{host}");
        }
        let none = HeaderMap::new();
        assert_eq!(hosts.check(&Uri::from_static("/bind"), &none), Ok(()));
        // h2, and HTTP/1.1 as to a proxy.
        assert_eq!(hosts.check(&Uri::from_static("http://evil.example/bind"), &none), Err(Foreign::Host));
        assert_eq!(hosts.check(&Uri::from_static("http://localhost:1/bind"), &none), Ok(()));
        let mut several = headers(&[(HOST, "localhost")]);
        several.append(HOST, HeaderValue::from_static("evil.example"));
        assert_eq!(hosts.check(&Uri::from_static("/bind"), &several), Err(Foreign::Host));
    }

    #[test]
    fn an_image_or_a_link_of_another_site_is_refused() {
        for (site, expected) in [("cross-site", false), ("same-site", false), ("same-origin", true), ("none", true)] {
            let headers = headers(&[(HOST, "localhost:8889"), (FETCH_SITE, site)]);
            assert_eq!(check_same_page(&headers).is_ok(), expected, "{site}");
            assert_eq!(check_no_page(&headers), Err(Foreign::Origin), "{site}");
        }
    }

    #[test]
    fn a_page_may_be_from_the_same_host_where_pages_are_answered_at_all() {
        let table = [
            (None, true),
            (Some("http://localhost:8889"), true),
            (Some("https://LOCALHOST:8889"), true),
            (Some("http://localhost:3000"), false),
            (Some("http://evil.example"), false),
            (Some("null"), false),
            (Some(""), false),
        ];
        for (origin, expected) in table {
            let mut all = headers(&[(HOST, "localhost:8889")]);
            if let Some(origin) = origin {
                all.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(check_same_page(&all).is_ok(), expected, "{origin:?}");
            assert_eq!(check_no_page(&all).is_ok(), origin.is_none(), "{origin:?}");
        }
    }
}
