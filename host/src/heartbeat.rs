//! Detects pauses of the process, and lets the watch catch up before requests are answered again.

use std::{
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use plimsoll_cluster::ClusterWatch;
use plimsoll_core::{Gateway, Heartbeat, Pause};
use tokio::{runtime::Handle, time::timeout};
use tracing::{info, warn};

/// Time between two beats.
const BEAT: Duration = Duration::from_millis(250);

/// After this time requests are answered anyway: without an API server the last view of the cluster stays in
/// force, as at any other time.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts the heartbeat, on a separate thread: busy async threads must not look like a pause.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn start(gateway: &Gateway, watch: &Arc<ClusterWatch>) -> io::Result<()> {
    let heartbeat = Arc::new(Heartbeat::new(Instant::now()));
    gateway.set_heartbeat(Arc::clone(&heartbeat));
    let (watch, runtime) = (Arc::downgrade(watch), Handle::current());
    let beat = move || {
        let mut uptime = plimsoll_system::uptime();
        loop {
            #[expect(clippy::disallowed_methods, reason = "it is the heartbeat: a beat that comes late is the news")]
            thread::sleep(BEAT);
            let Some(watch) = watch.upgrade() else { return };
            // Not the wall clock: it jumps when somebody sets it, and that is no pause.
            let before = std::mem::replace(&mut uptime, plimsoll_system::uptime());
            let elapsed = uptime.zip(before).map(|(now, before)| now.saturating_sub(before)).unwrap_or_default();
            if let Some(pause) = heartbeat.beat(Instant::now(), elapsed) {
                warn!(pause = ?pause.length, "the process stood still: requests are declined until the watch has caught up");
                runtime.spawn(catch_up(watch, Arc::clone(&heartbeat), pause));
            }
        }
    };
    thread::Builder::new().name("plimsoll-beat".to_owned()).spawn(beat).map(drop)
}

async fn catch_up(watch: Arc<ClusterWatch>, heartbeat: Arc<Heartbeat>, pause: Pause) {
    let began = Instant::now();
    if timeout(CATCH_UP_TIMEOUT, watch.catch_up()).await.is_ok() {
        info!(took = ?began.elapsed(), "the watch has caught up");
    } else {
        warn!("the watch has not caught up within {CATCH_UP_TIMEOUT:?}: requests are answered from the last snapshot");
    }
    heartbeat.caught_up(&pause);
}
