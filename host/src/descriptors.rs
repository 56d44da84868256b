//! Raises the limit of file descriptors, and warns if it is too low.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{debug, warn};

/// Descriptors beside those of the extender's connections: listeners, the admin side, the API server, files.
const OTHERS: u64 = 512;

/// Raises the soft limit to the hard one. A soft limit of 1,024 is common, made for programs that call `select`.
pub(crate) fn raise(max_connections: usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => {
            // None: there is no limit.
            let hard = maximum.unwrap_or(u64::MAX);
            debug!(from = current, to = maximum, "file descriptors");
            if !fits(max_connections, hard) {
                warn!(
                    limit = hard,
                    max_connections,
                    "the limit of file descriptors is below --max-connections and {OTHERS} more: raise it (ulimit -n), or lower --max-connections"
                );
            }
        }
        Err(error) => warn!(%error, "the limit of file descriptors cannot be raised"),
    }
}

fn fits(max_connections: usize, limit: u64) -> bool {
    (max_connections as u64).saturating_add(OTHERS) <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        raise(1);
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
        assert!(fits(512, 1024) && !fits(513, 1024));
    }
}
