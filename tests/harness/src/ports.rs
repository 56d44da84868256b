//! Tests use free ports only; a gateway on the default ports must not disturb them.

use std::{
    env,
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    ops::Range,
    sync::LazyLock,
};

use anyhow::{Context, Result};

/// The defaults of `--listen` and `--admin`.
const DEFAULTS: [u16; 2] = [8888, 8889];

/// Below the ports that a kernel gives to connections and to listeners on port 0: none of them takes a reserved port.
const RESERVABLE: Range<u16> = 20_000..30_000;

/// A port for a program that must be told its port before it listens.
///
/// No other test gets it, in this process or another, until this is dropped; so the program can be started late, or
/// again. Where a program can listen on port 0 and tell its port, it does that instead.
#[derive(Debug)]
pub struct ReservedPort {
    /// The number of the port.
    pub number: u16,
    /// The lock on it; the system frees it when the process ends, however it ends.
    _lock: File,
}

// === impl ReservedPort ===

impl ReservedPort {
    /// Reserves a port that nobody listens on.
    pub fn reserve() -> Result<Self> {
        let reserve = |number| {
            // The file of another user cannot be written, and the port is theirs.
            let lock = File::create(env::temp_dir().join(format!("plimsoll-test-port-{number}"))).ok()?;
            lock.try_lock().ok()?;
            // A process that another thread starts at this moment would inherit a listener, and keep the port in use until
            // it executes its program. A connection that is refused tells as much.
            let is_refused = TcpStream::connect(("127.0.0.1", number)).is_err();
            is_refused.then_some(Self { number, _lock: lock })
        };
        RESERVABLE.into_iter().find_map(reserve).with_context(|| format!("no free port among {RESERVABLE:?}"))
    }

    /// The port on the loopback interface.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_nobody_elses_until_it_is_dropped() {
        let first = ReservedPort::reserve().unwrap();
        let second = ReservedPort::reserve().unwrap();
        assert_ne!(first.number, second.number, "nobody listens on either yet");
        let listener = TcpListener::bind(("127.0.0.1", second.number)).unwrap();
        drop(second);
        let third = ReservedPort::reserve().unwrap();
        assert_ne!(listener.local_addr().unwrap().port(), third.number, "somebody listens on it");
    }
}
