//! Every open connection: how many there may be, which is idle, and how each is told to close.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// The open connections of one listener.
pub(super) struct Registry {
    room: Arc<Semaphore>,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
}

/// The right to one connection, and its entry; both end with it.
pub(super) struct Permit {
    registry: Arc<Registry>,
    key: u64,
    connection: Arc<Connection>,
    _room: OwnedSemaphorePermit,
}

/// What is known about one connection.
pub(super) struct Connection {
    opened: Instant,
    in_flight: AtomicUsize,
    served: AtomicU64,
    /// Milliseconds after `opened` since which no request is in flight.
    idle_since: AtomicU64,
    closing: Notify,
}

/// One request in flight.
pub(super) struct InFlight(Arc<Connection>);

// === impl Registry ===

impl Registry {
    pub(super) fn new(max_connections: usize) -> Self {
        let room = Arc::new(Semaphore::new(max_connections.clamp(1, Semaphore::MAX_PERMITS)));
        Self { room, open: Mutex::default(), next: AtomicU64::new(0) }
    }

    /// Enters a new connection, once there is room for it.
    pub(super) async fn enter(self: &Arc<Self>) -> Permit {
        let room = self.room().await;
        let connection = Arc::new(Connection::new());
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        self.open().insert(key, Arc::clone(&connection));
        Permit { registry: Arc::clone(self), key, connection, _room: room }
    }

    /// Waits for room; the connection that was idle for longest makes it.
    async fn room(&self) -> OwnedSemaphorePermit {
        loop {
            match Arc::clone(&self.room).try_acquire_owned() {
                Ok(room) => return room,
                Err(_) => self.close_idlest(),
            }
            let wait = tokio::time::timeout(Duration::from_millis(100), Arc::clone(&self.room).acquire_owned());
            if let Ok(Ok(room)) = wait.await {
                return room;
            }
        }
    }

    /// Tells the connection that was idle for longest to close, if any is idle.
    ///
    /// Those that never sent a request go first: the scheduler's own has.
    pub(super) fn close_idlest(&self) {
        let open = self.open();
        let idle = open.values().filter(|connection| connection.is_idle());
        if let Some(connection) = idle.min_by_key(|connection| (connection.served() > 0, connection.idle_since())) {
            connection.closing.notify_one();
        }
    }

    /// Tells every connection to close once its requests are through.
    pub(super) fn close_all(&self) {
        self.open().values().for_each(|connection| connection.closing.notify_one());
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Permit ===

impl Permit {
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.registry.open().remove(&self.key);
    }
}

// === impl Connection ===

impl Connection {
    fn new() -> Self {
        Self {
            opened: Instant::now(),
            in_flight: AtomicUsize::new(0),
            served: AtomicU64::new(0),
            idle_since: AtomicU64::new(0),
            closing: Notify::new(),
        }
    }

    /// A request begins; it is in flight until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Requests that have begun so far.
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
    }

    pub(super) fn idle_since(&self) -> Instant {
        self.opened + Duration::from_millis(self.idle_since.load(Ordering::Relaxed))
    }

    /// Waits until the connection is told to close.
    pub(super) async fn closing(&self) {
        self.closing.notified().await;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let now = self.0.opened.elapsed().as_millis() as u64;
        self.0.idle_since.store(now, Ordering::Relaxed);
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
