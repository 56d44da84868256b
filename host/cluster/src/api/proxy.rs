//! The proxy that the environment names for a URL, by the rules of Go's `http.ProxyFromEnvironment`, which kubectl and
//! kube-scheduler follow (`golang.org/x/net/http/httpproxy`).

use std::net::IpAddr;

use http::Uri;
use ipnet::IpNet;

/// The variable that names a proxy for requests to this URL, and its value.
pub(super) fn of(url: &Uri, variable: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    let first = |names: [&'static str; 2]| {
        let values = names.into_iter().filter_map(|name| Some((name, variable(name)?)));
        values.into_iter().find(|(_, value)| !value.is_empty())
    };
    let is_https = url.scheme_str() == Some("https");
    let proxy = first(if is_https { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] })?;
    let host = url.host()?.trim_matches(['[', ']']).to_lowercase();
    let port = url.port_u16().unwrap_or(if is_https { 443 } else { 80 });
    let ip: Option<IpAddr> = host.parse().ok();
    let is_loopback = host == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
    let exceptions = first(["NO_PROXY", "no_proxy"]).map(|(_, value)| value.to_lowercase()).unwrap_or_default();
    let mut exceptions = exceptions.split(',').map(str::trim);
    let is_excepted = is_loopback || exceptions.any(|entry| covers(entry, &host, ip, port));
    (!is_excepted).then_some(proxy)
}

/// Whether an entry of `$NO_PROXY` covers a host: `*`, a network, or an address or domain with or without a port.
fn covers(entry: &str, host: &str, ip: Option<IpAddr>, port: u16) -> bool {
    if let Ok(network) = entry.parse::<IpNet>() {
        return ip.is_some_and(|ip| network.contains(&ip));
    }
    // An address of IPv6 has a port only behind brackets.
    let (name, only) = match entry.rsplit_once(':') {
        Some((name, only)) if !name.contains(':') || name.ends_with(']') => (name, Some(only)),
        _ => (entry, None),
    };
    if entry == "*" || name.is_empty() || only.is_some_and(|only| only != port.to_string()) {
        return entry == "*";
    }
    let name = name.trim_matches(['[', ']']);
    match (name.parse::<IpAddr>(), name.strip_prefix('*').unwrap_or(name)) {
        (Ok(address), _) => ip == Some(address),
        // `.example.com` covers the hosts below it, and `example.com` itself, too.
        (_, below) if below.starts_with('.') => host.ends_with(below),
        (_, name) => host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy_of(url: &str, environment: &[(&str, &str)]) -> Option<(&'static str, String)> {
        let value = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        of(&url.parse().unwrap(), value)
    }

    #[test]
    fn a_url_has_the_proxy_that_go_would_use_for_it() {
        let both = [("HTTP_PROXY", ""), ("http_proxy", "http://plain"), ("HTTPS_PROXY", "tls:3128")];
        let named = |url| proxy_of(url, &both).map(|(name, _)| name);
        assert_eq!(named("https://10.0.0.1:6443"), Some("HTTPS_PROXY"));
        assert_eq!(named("http://api.example.com"), Some("http_proxy"));
        for url in ["https://localhost:1", "http://127.0.0.9", "https://[::1]:6443"] {
            assert_eq!(named(url), None, "{url}");
        }
        assert_eq!(proxy_of("https://10.0.0.1", &[("HTTP_PROXY", "http://plain"), ("ALL_PROXY", "http://all")]), None);
        // Entries, a URL that they cover, and one that they do not.
        for (entries, covered, other) in [
            ("10.0.0.1", "https://10.0.0.1:6443", "https://10.0.0.2"),
            ("a, 10.0.0.0/8 ,b", "https://10.9.0.1", "https://11.0.0.1"),
            ("fd00::/8", "https://[fd00::7]:6443", "https://[fe80::7]"),
            ("fd00::7", "https://[fd00::7]", "https://[fd00::8]"),
            ("[fd00::7]:6443", "https://[fd00::7]:6443", "https://[fd00::7]"),
            ("10.0.0.1:443", "https://10.0.0.1", "https://10.0.0.1:6443"),
            ("Example.com", "https://API.example.com:6443", "https://badexample.com"),
            ("example.com", "https://example.com", "https://example.com.org"),
            (".example.com", "https://a.example.com", "https://example.com"),
            ("*.example.com:6443", "https://a.example.com:6443", "https://a.example.com"),
        ] {
            let named = |url| proxy_of(url, &[("HTTPS_PROXY", "http://p"), ("NO_PROXY", entries)]);
            assert_eq!(named(covered), None, "{entries}: {covered}");
            assert!(named(other).is_some(), "{entries}: {other}");
        }
        assert_eq!(proxy_of("https://a.com", &[("HTTPS_PROXY", "p"), ("no_proxy", "*")]), None);
        assert!(proxy_of("https://a.com", &[("HTTPS_PROXY", "p"), ("NO_PROXY", ",:,:443, ")]).is_some());
    }
}
