//! Raises the limit of file descriptors, and warns if it is too low.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{debug, warn};

/// Descriptors that a gateway may need: its connections, the API server, files.
const NEEDED: u64 = 4096;

/// Raises the soft limit to the hard one. A soft limit of 1,024 is common, made for programs that call `select`.
pub(crate) fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => {
            debug!(from = current, to = maximum, "file descriptors");
            if maximum.is_some_and(|maximum| maximum < NEEDED) {
                warn!(limit = maximum, "the limit of file descriptors is below {NEEDED}: raise it (ulimit -n)");
            }
        }
        Err(error) => warn!(%error, "the limit of file descriptors cannot be raised"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        raise();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
    }
}
