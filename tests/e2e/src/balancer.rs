//! One address in front of several gateways, as a Service is: new connections go to those that are well.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::Result;
use plimsoll_harness::Plimsoll;

/// The interval at which a gateway is asked whether it is well, and the time that it may think about it.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// Hands connections round; it ends when it is dropped.
pub struct Balancer {
    /// Where the scheduler calls.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    backends: Mutex<Vec<Arc<Backend>>>,
    next: AtomicUsize,
    ended: AtomicBool,
}

struct Backend {
    wire: SocketAddr,
    admin: SocketAddr,
    is_well: AtomicBool,
}

// === impl Balancer ===

impl Balancer {
    /// Listens on a free port, with nobody behind it yet.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, shared) = (listener.local_addr()?, Arc::<Shared>::default());
        let of_threads = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &of_threads));
        Ok(Self { address, shared })
    }

    /// Sends connections to this gateway too, as long as it is well.
    pub fn add(&self, gateway: &Plimsoll) {
        let backend = Backend { wire: gateway.wire, admin: gateway.admin, is_well: AtomicBool::new(true) };
        let backend = Arc::new(backend);
        self.shared.backends().push(Arc::clone(&backend));
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            while !shared.ended.load(Ordering::Relaxed) {
                backend.is_well.store(backend.probe().is_ok(), Ordering::Relaxed);
                #[expect(clippy::disallowed_methods, reason = "a load balancer probes now and then")]
                thread::sleep(PROBE_INTERVAL);
            }
        });
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts; it may have ended.
        let _ = TcpStream::connect(self.address);
    }
}

// === impl Shared ===

impl Shared {
    fn backends(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Backend>>> {
        self.backends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection to the next gateway in turn that is well and takes it.
    fn connect(&self) -> Option<TcpStream> {
        let backends = self.backends().clone();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let in_turn = (0..backends.len()).map(|at| &backends[(first + at) % backends.len()]);
        let mut well = in_turn.filter(|backend| backend.is_well.load(Ordering::Relaxed));
        well.find_map(|backend| TcpStream::connect_timeout(&backend.wire, PROBE_TIMEOUT).ok())
    }
}

// === impl Backend ===

impl Backend {
    fn probe(&self) -> io::Result<()> {
        let mut stream = TcpStream::connect_timeout(&self.admin, PROBE_TIMEOUT)?;
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        if &status == b"HTTP/1.1 200" { Ok(()) } else { Err(io::Error::other("not well")) }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming().map_while(Result::ok) {
        if shared.ended.load(Ordering::Relaxed) {
            return;
        }
        let shared = Arc::clone(shared);
        // Where nobody is well the connection is closed at once.
        thread::spawn(move || shared.connect().map(|gateway| join(&client, &gateway)));
    }
}

/// Copies both ways until one side ends.
fn join(client: &TcpStream, gateway: &TcpStream) {
    let pump = |mut from: &TcpStream, mut to: &TcpStream| {
        // A side that is gone ends the other.
        let _ = io::copy(&mut from, &mut to);
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    };
    thread::scope(|scope| {
        scope.spawn(|| pump(client, gateway));
        pump(gateway, client);
    });
}
