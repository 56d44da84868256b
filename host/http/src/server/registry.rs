//! The open connections of a listener: their limit, and which one is evicted for a new one.

use std::{
    cmp::Reverse,
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use super::state::ConnectionState;

/// A connection that waits longer than this for a body or for the reader of a reply counts as slow and is evicted
/// early. A scheduler in the same network takes a few milliseconds.
const SLOW: Duration = Duration::from_secs(1);

/// A younger connection without a request is not evicted first: its head may be on its way.
const YOUNG: Duration = Duration::from_millis(100);

/// The time that a request waits to be admitted, and the number that may wait: each has its head in memory.
const ADMISSION_TIMEOUT: Duration = Duration::from_millis(200);
const MAX_WAITING: usize = 64;

/// A peer with more than an eighth of all connections is a heavy one: its connections are evicted before those of others
/// that do nothing wrong. A scheduler has a few.
const HEAVY_PART: usize = 8;
const MIN_HEAVY: usize = 8;

/// A peer with more than an eighth of all connections or requests counts as slow with a body, or to read a reply, after
/// this time.
const HEAVY_SLOW: Duration = Duration::from_millis(50);

/// Maximum connections of heavy peers, and of those that do something wrong, that end at a time. An HTTP/2 peer may take
/// 100 ms to leave, and others that wait for a connection must not wait for each in turn.
const MAX_LEAVING: usize = 8;

/// Interval at which waiting requests and connections try to evict a connection.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The open connections of one listener.
pub(super) struct Registry {
    max_connections: usize,
    max_requests: usize,
    connections: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    waiting: Semaphore,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    connections: HashMap<u64, Arc<ConnectionState>>,
    next: u64,
    /// Connections per peer.
    of_peer: HashMap<IpAddr, Arc<AtomicUsize>>,
}

/// The permit for one connection, and its entry in the registry; released on drop.
pub(super) struct ConnectionPermit {
    registry: Arc<Registry>,
    key: u64,
    peer: IpAddr,
    connection: Arc<ConnectionState>,
    _permit: OwnedSemaphorePermit,
}

/// Why a connection may be evicted, in ascending priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evictable {
    /// It has sent requests, and may send more: most likely a scheduler's.
    Idle,
    /// The head of a further request has begun to arrive, a moment ago.
    Arriving,
    /// It has sent no request, but is very young.
    Young,
    /// It is slow with a body, or to read a reply.
    Slow,
    /// It has sent no request, or not the whole head of the next one.
    Unused,
}

/// The order of eviction, in ascending priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EvictionRank {
    does_wrong: bool,
    is_of_heavy_peer: bool,
    evictable: Evictable,
    /// Connections of its peer.
    of_peer: usize,
    waited: Duration,
}

// === impl Registry ===

impl Registry {
    pub(super) fn new(max_connections: usize, max_requests: usize) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.clamp(1, Semaphore::MAX_PERMITS)));
        Self {
            max_connections: max_connections.max(1),
            max_requests,
            connections: semaphore(max_connections),
            requests: semaphore(max_requests),
            waiting: Semaphore::new(MAX_WAITING),
            open: Mutex::default(),
        }
    }

    /// Waits for a permit, then registers a new connection.
    pub(super) async fn enter(self: &Arc<Self>, peer: IpAddr) -> ConnectionPermit {
        let permit = self.connection_permit().await;
        let peer = network(peer);
        let (key, connection) = self.open.lock().add(peer);
        ConnectionPermit { registry: Arc::clone(self), key, peer, connection, _permit: permit }
    }

    /// Waits for a permit, and evicts other connections to get one.
    async fn connection_permit(&self) -> OwnedSemaphorePermit {
        let since = Instant::now();
        loop {
            if let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() {
                return permit;
            }
            {
                let open = self.open.lock();
                // With fewer connections one has just ended, and is about to release its permit.
                if open.connections.len() >= self.max_connections {
                    open.evict(since.elapsed() > SLOW);
                }
            }
            if let Ok(Ok(permit)) = timeout(RETRY_INTERVAL, Arc::clone(&self.connections).acquire_owned()).await {
                return permit;
            }
        }
    }

    /// A permit for one more request; `None` if too many are in flight and none ends soon.
    pub(super) async fn admit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.requests).try_acquire_owned() {
            return Some(permit);
        }
        let _waiting = self.waiting.try_acquire().ok()?;
        let until = Instant::now() + ADMISSION_TIMEOUT;
        while Instant::now() < until {
            {
                let open = self.open.lock();
                open.slowest()
                    .or_else(|| open.slowest_of_heavy(self.max_requests))
                    .into_iter()
                    .for_each(ConnectionState::cut);
            }
            if let Ok(Ok(permit)) = timeout(RETRY_INTERVAL, Arc::clone(&self.requests).acquire_owned()).await {
                return Some(permit);
            }
        }
        None
    }

    /// Evicts connections, if any may be evicted, although there are permits.
    pub(super) fn make_room(&self) {
        self.open.lock().evict(true);
    }

    /// Tells every connection to close once its requests are through.
    pub(super) fn close_all(&self) {
        self.open.lock().connections.values().for_each(|connection| connection.close());
    }
}

/// The address that identifies a peer: an IPv6 host has a whole /64 network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address @ IpAddr::V4(_) => address,
    }
}

// === impl Open ===

impl Open {
    fn add(&mut self, peer: IpAddr) -> (u64, Arc<ConnectionState>) {
        let of_peer = Arc::clone(self.of_peer.entry(peer).or_default());
        of_peer.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(ConnectionState::new(of_peer));
        self.next += 1;
        self.connections.insert(self.next, Arc::clone(&connection));
        (self.next, connection)
    }

    fn remove(&mut self, key: u64, peer: IpAddr) {
        self.connections.remove(&key);
        let of_peer = self.of_peer.get(&peer);
        if of_peer.is_some_and(|of_peer| of_peer.fetch_sub(1, Ordering::Relaxed) == 1) {
            self.of_peer.remove(&peer);
        }
    }

    /// Evicts one connection, if any may be evicted; several, if they are of heavy peers or do something wrong.
    ///
    /// Unless it is urgent, an idle connection is spared while another one awaits a body: that one may still turn out
    /// to be slow.
    fn evict(&self, is_urgent: bool) {
        let all = || self.connections.values();
        let leaving = all().filter(|connection| connection.is_leaving()).count();
        let may_be_idle = is_urgent || !all().any(|connection| connection.body_awaited_for().is_some());
        let may = |rank: EvictionRank| may_be_idle || rank.is_of_heavy_peer || rank.evictable != Evictable::Idle;
        let mut candidates: Vec<_> = self.candidates().filter(|(rank, _)| may(*rank)).collect();
        candidates.sort_unstable_by_key(|(rank, _)| Reverse(*rank));
        for (at, (rank, connection)) in candidates.into_iter().take(MAX_LEAVING.saturating_sub(leaving)).enumerate() {
            // One eviction at a time of others: a leaving connection ends within moments.
            if leaving + at > 0 && !rank.does_wrong && !rank.is_of_heavy_peer {
                return;
            }
            if rank.evictable == Evictable::Slow { connection.cut() } else { connection.leave() }
        }
    }

    /// The slow connection to evict first.
    fn slowest(&self) -> Option<&ConnectionState> {
        let slow = self.candidates().filter(|(rank, _)| rank.evictable == Evictable::Slow);
        slow.max_by_key(|(rank, _)| *rank).map(|(_, connection)| connection)
    }

    /// The connection that has awaited a body for longest, of those whose peers have more than an eighth of all requests.
    fn slowest_of_heavy(&self, max_requests: usize) -> Option<&ConnectionState> {
        let mut of_peer: HashMap<usize, usize> = HashMap::new();
        for connection in self.connections.values() {
            *of_peer.entry(connection.peer()).or_default() += connection.in_flight();
        }
        let heavy = MIN_HEAVY.max(max_requests / HEAVY_PART);
        let of_heavy = self.connections.values().filter(|connection| of_peer[&connection.peer()] > heavy);
        let slow = of_heavy.filter_map(|connection| Some((connection.body_awaited_for()?, connection)));
        let slowest = slow.filter(|(awaited, _)| *awaited >= HEAVY_SLOW).max_by_key(|(awaited, _)| *awaited);
        slowest.map(|(_, connection)| connection.as_ref())
    }

    /// The connections that may be evicted and are not leaving yet.
    fn candidates(&self) -> impl Iterator<Item = (EvictionRank, &ConnectionState)> {
        let heavy = MIN_HEAVY.max(self.connections.len() / HEAVY_PART);
        self.connections.values().filter(|connection| !connection.is_leaving()).filter_map(move |connection| {
            let of_peer = connection.of_peer();
            let is_of_heavy_peer = of_peer > heavy;
            let (evictable, waited) = Evictable::of(connection, if is_of_heavy_peer { HEAVY_SLOW } else { SLOW })?;
            let does_wrong = evictable >= Evictable::Slow;
            let rank = EvictionRank { does_wrong, is_of_heavy_peer, evictable, of_peer, waited };
            Some((rank, connection.as_ref()))
        })
    }
}

// === impl Evictable ===

impl Evictable {
    /// Whether a connection may be evicted, and how long it has waited; `slow` is the time after which it is slow.
    fn of(connection: &ConnectionState, slow: Duration) -> Option<(Self, Duration)> {
        if let Some(unused) = connection.unused_for() {
            let evictable = match (unused < YOUNG, connection.served()) {
                (false, _) => Self::Unused,
                (true, 0) => Self::Young,
                (true, _) => Self::Arriving,
            };
            return Some((evictable, unused));
        }
        if let Some(awaited) = connection.awaited_for().filter(|awaited| *awaited >= slow) {
            return Some((Self::Slow, awaited));
        }
        connection.is_at_rest().then(|| (Self::Idle, connection.idle_since().elapsed()))
    }
}

// === impl ConnectionPermit ===

impl ConnectionPermit {
    pub(super) fn connection(&self) -> &Arc<ConnectionState> {
        &self.connection
    }

    /// The listener's connections, of which this is one.
    pub(super) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.registry.open.lock().remove(self.key, self.peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_counts_as_one_peer_and_a_mapped_address_as_ipv4() {
        let table = [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::1", "2001:db8:1:2::"),
        ];
        for (address, expected) in table {
            assert_eq!(network(address.parse().unwrap()), expected.parse::<IpAddr>().unwrap(), "{address}");
        }
    }

    #[test]
    fn a_connection_on_which_a_further_head_arrives_goes_after_new_ones_and_before_idle_ones() {
        let [new, idle, arriving] = [(); 3].map(|()| ConnectionState::new(Arc::default()));
        for connection in [&idle, &arriving] {
            connection.begin_request();
            connection.end_request();
        }
        arriving.head_began(arriving.served());
        let [new, idle, arriving] = [new, idle, arriving].map(|connection| Evictable::of(&connection, SLOW).unwrap().0);
        assert!(idle < arriving && arriving < new, "{idle:?} {arriving:?} {new:?}");
    }

    #[tokio::test]
    async fn one_that_has_just_ended_makes_room_without_an_eviction() {
        let registry = Arc::new(Registry::new(2, 1));
        let peer = "192.0.2.1".parse().unwrap();
        let in_use = registry.enter(peer).await;
        in_use.connection().begin_request();
        in_use.connection().end_request();
        // Its entry is gone, and its permit is not.
        let ended = Arc::clone(&registry.connections).try_acquire_owned().unwrap();
        let (new, ()) = tokio::join!(registry.enter(peer), async { drop(ended) });
        assert!(!in_use.connection().is_leaving());
        drop(new);
    }

    #[tokio::test]
    async fn a_new_connection_outlives_the_idle_ones_of_a_peer_with_most_connections() {
        let registry = Arc::new(Registry::new(20, 1));
        let [attacker, scheduler] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..19 {
            let idle = registry.enter(attacker).await;
            idle.connection().begin_request();
            idle.connection().end_request();
            theirs.push(idle);
        }
        ours.push(registry.enter(scheduler).await);
        for _ in 0..19 {
            registry.open.lock().evict(false);
            theirs.retain(|theirs| !theirs.connection().is_leaving());
            assert!(!ours[0].connection().is_leaving(), "{} are left", theirs.len());
            if theirs.len() <= MIN_HEAVY {
                return;
            }
        }
        panic!("no idle connection leaves");
    }

    #[tokio::test]
    async fn at_the_limit_of_requests_bodies_of_a_peer_with_most_of_them_are_cut_early() {
        let registry = Arc::new(Registry::new(100, 16));
        let [attacker, scheduler] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let connections = [registry.enter(attacker).await, registry.enter(scheduler).await];
        let request =
            |at: usize| (connections[at].connection().begin_request(), connections[at].connection().body_guard(false));
        let (few, begun) = ((0..4).map(|_| request(1)).collect::<Vec<_>>(), Instant::now());
        let slowest = || {
            registry
                .open
                .lock()
                .slowest_of_heavy(16)
                .map(|slow| std::ptr::eq(slow, Arc::as_ptr(connections[0].connection())))
        };
        while begun.elapsed() < 2 * HEAVY_SLOW {
            assert_eq!(slowest(), None);
            tokio::task::yield_now().await;
        }
        let (many, begun) = ((0..12).map(|_| request(0)).collect::<Vec<_>>(), Instant::now());
        while slowest().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(10));
            tokio::task::yield_now().await;
        }
        assert_eq!(slowest(), Some(true));
        drop((few, many));
    }

    #[test]
    fn of_connections_alike_the_one_of_the_peer_with_the_most_goes() {
        let mut open = Open::default();
        let [few, many] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse::<IpAddr>().unwrap());
        // The older one is of the peer that has few.
        let (first, _) = open.add(few);
        let added: Vec<_> = (0..3).map(|_| open.add(many)).collect();
        let (_, evicted) = open.candidates().max_by_key(|(rank, _)| *rank).unwrap();
        assert!(added.iter().any(|(_, connection)| std::ptr::eq(Arc::as_ptr(connection), evicted)));
        for (key, _) in added {
            open.remove(key, many);
        }
        open.remove(first, few);
        assert!(open.connections.is_empty() && open.of_peer.is_empty());
    }
}
