//! Every open connection: how many there may be, which is idle or slow, and how each is told to close.

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
    time::{Instant, timeout},
};

/// A sender that takes longer for a body is the first to go where there is no room: a scheduler on the same
/// network takes some milliseconds.
const SLOW_BODY: Duration = Duration::from_secs(1);

/// How long a request waits for others to end, and how many may wait: each has its head in memory.
const ADMISSION: Duration = Duration::from_millis(200);
const MAX_WAITING: usize = 64;

/// Between two looks for somebody who must make room.
const LOOK: Duration = Duration::from_millis(50);

/// The open connections of one listener.
pub(super) struct Registry {
    room: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    waiting: Semaphore,
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
    /// Bodies that are awaited, and milliseconds after `opened` since which there is one at least.
    awaited: AtomicUsize,
    awaited_since: AtomicU64,
    closing: Notify,
    cut: Notify,
}

/// One request in flight.
pub(super) struct InFlight {
    registry: Arc<Registry>,
    connection: Arc<Connection>,
    /// None until it is admitted.
    permit: Option<OwnedSemaphorePermit>,
}

/// The body of a request is awaited; a connection that is slow with it is the first to make room.
pub(crate) struct BodyAwaited(Option<Arc<Connection>>);

// === impl Registry ===

impl Registry {
    pub(super) fn new(max_connections: usize, max_requests: usize) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.clamp(1, Semaphore::MAX_PERMITS)));
        Self {
            room: semaphore(max_connections),
            requests: semaphore(max_requests),
            waiting: Semaphore::new(MAX_WAITING),
            open: Mutex::default(),
            next: AtomicU64::new(0),
        }
    }

    /// Enters a new connection, once there is room for it.
    pub(super) async fn enter(self: &Arc<Self>) -> Permit {
        let room = self.room().await;
        let connection = Arc::new(Connection::new());
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        self.open().insert(key, Arc::clone(&connection));
        Permit { registry: Arc::clone(self), key, connection, _room: room }
    }

    /// Waits for room, which other connections make.
    async fn room(&self) -> OwnedSemaphorePermit {
        let since = Instant::now();
        loop {
            match Arc::clone(&self.room).try_acquire_owned() {
                Ok(room) => return room,
                Err(_) => self.make_room(since.elapsed() > SLOW_BODY),
            }
            if let Ok(Ok(room)) = timeout(LOOK, Arc::clone(&self.room).acquire_owned()).await {
                return room;
            }
        }
    }

    /// The right to one more request; none if too many are in flight, and none of them ends soon.
    async fn admit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.requests).try_acquire_owned() {
            return Some(permit);
        }
        let _waiting = self.waiting.try_acquire().ok()?;
        let until = Instant::now() + ADMISSION;
        while Instant::now() < until {
            self.cut_slowest_body();
            if let Ok(Ok(permit)) = timeout(LOOK, Arc::clone(&self.requests).acquire_owned()).await {
                return Some(permit);
            }
        }
        None
    }

    /// Ends one connection, if any can be spared: first one that never sent a request, then one that is slow with
    /// a body, then the one that was idle for longest. The scheduler's own has sent some, and is quick.
    ///
    /// Unless it is urgent, a body that is awaited may still turn out to be slow.
    pub(super) fn make_room(&self, is_urgent: bool) {
        if self.close_idlest(|connection| connection.served() == 0) || self.cut_slowest_body() {
            return;
        }
        if is_urgent || !self.open().values().any(|connection| connection.body_awaited_for().is_some()) {
            self.close_idlest(|_| true);
        }
    }

    /// Tells the connection that was idle for longest to close, of those that fit; whether there was one.
    fn close_idlest(&self, fits: impl Fn(&Connection) -> bool) -> bool {
        let open = self.open();
        let idle = open.values().filter(|connection| connection.is_idle() && fits(connection));
        let idlest = idle.min_by_key(|connection| connection.idle_since());
        idlest.inspect(|connection| connection.closing.notify_one()).is_some()
    }

    /// Cuts off the connection that has kept us waiting for a body for longest; whether there was one.
    fn cut_slowest_body(&self) -> bool {
        let open = self.open();
        let slow = open.values().filter_map(|connection| Some((connection.body_awaited_for()?, connection)));
        let slowest = slow.filter(|(waited, _)| *waited >= SLOW_BODY).max_by_key(|(waited, _)| *waited);
        slowest.inspect(|(_, connection)| connection.cut.notify_one()).is_some()
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

    /// A request begins; it is in flight until the guard is dropped.
    pub(super) fn begin(&self) -> InFlight {
        let connection = Arc::clone(&self.connection);
        connection.in_flight.fetch_add(1, Ordering::Relaxed);
        connection.served.fetch_add(1, Ordering::Relaxed);
        InFlight { registry: Arc::clone(&self.registry), connection, permit: None }
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
            awaited: AtomicUsize::new(0),
            awaited_since: AtomicU64::new(0),
            closing: Notify::new(),
            cut: Notify::new(),
        }
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

    /// Waits until the connection must end at once.
    pub(super) async fn cut_off(&self) {
        self.cut.notified().await;
    }

    fn body_awaited_for(&self) -> Option<Duration> {
        let is_awaited = self.awaited.load(Ordering::Relaxed) > 0;
        let since = Duration::from_millis(self.awaited_since.load(Ordering::Relaxed));
        is_awaited.then(|| self.opened.elapsed().saturating_sub(since))
    }

    fn now(&self) -> u64 {
        self.opened.elapsed().as_millis() as u64
    }
}

// === impl InFlight ===

impl InFlight {
    /// Whether there is room for one more request; it may wait a little for it.
    pub(super) async fn is_admitted(&mut self) -> bool {
        self.permit = self.registry.admit().await;
        self.permit.is_some()
    }

    /// Its body is awaited, unless it has ended already.
    pub(super) fn await_body(&self, has_ended: bool) -> BodyAwaited {
        if has_ended {
            return BodyAwaited(None);
        }
        let connection = Arc::clone(&self.connection);
        // Of several on one connection the first counts: a slow sender could hide behind quick ones.
        if connection.awaited.load(Ordering::Relaxed) == 0 {
            connection.awaited_since.store(connection.now(), Ordering::Relaxed);
        }
        connection.awaited.fetch_add(1, Ordering::Relaxed);
        BodyAwaited(Some(connection))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.connection.idle_since.store(self.connection.now(), Ordering::Relaxed);
        self.connection.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl BodyAwaited ===

impl Drop for BodyAwaited {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.awaited.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
