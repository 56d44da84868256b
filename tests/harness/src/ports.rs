//! Tests use free ports only; a gateway on the default ports must not disturb them.

use std::{env, net::TcpListener, sync::LazyLock};

/// The defaults of `--listen` and `--admin`.
const DEFAULTS: [u16; 2] = [8888, 8889];

/// Listens on the default ports for as long as the test process lives, so that a test which uses one of them fails.
///
/// Only with `CI=true`: on a developer's machine a gateway may be started there at any time.
pub(crate) fn occupy_defaults() {
    static TAKEN: LazyLock<Vec<TcpListener>> = LazyLock::new(|| {
        let is_ci = env::var("CI").as_deref() == Ok("true");
        // A port that is in use already serves the purpose as well.
        DEFAULTS.iter().filter(|_| is_ci).filter_map(|port| TcpListener::bind(("127.0.0.1", *port)).ok()).collect()
    });
    LazyLock::force(&TAKEN);
}
