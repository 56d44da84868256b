//! One gateway: the shipped watch, election and binder on a runtime and a clock of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::stream::{pending, unfold};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use kube::{Client, client::Body};
use plimsoll_core::{BindError, Binder, Binding, Cluster, Leader, NotReserved, Places, Pod, Slot};
use plimsoll_random::Random;
use serde_json::json;
use tokio::{
    runtime::Runtime,
    sync::{mpsc, oneshot},
};
use tower::{BoxError, service_fn};

use super::{
    api::DEVICE,
    sabotage::{Defect, Sabotage},
    world::{LEASE, micros},
};
use crate::{
    ApiBinder, ApiServer, ClusterWatch, Leadership, LeadershipState, LeaseConfig, LeaseTimings, Term,
    clock::{
        self,
        paused::{self, PausedClock},
    },
};

/// The gateway's time for a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);

/// The watch restarts after silence for half of this.
const MAX_STALENESS: Duration = Duration::from_secs(30);

/// The time of a tentative place.
const PLACE_TIME: Duration = Duration::from_millis(200);

/// The number of times a gateway asks its policies about a node that changes.
const ASKS: u32 = 8;

pub(super) type ReplyBody = UnsyncBoxBody<Bytes, Infallible>;

/// A response, or a broken connection.
pub(super) type Back = Result<Response<ReplyBody>, &'static str>;

/// A request that has left the process.
pub(super) struct Sent {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) body: Bytes,
    /// Whether it was written on a connection of a term.
    pub(super) is_fenced: bool,
    pub(super) reply: oneshot::Sender<Back>,
}

/// The devices and seats that policies hand out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Devices of each node.
    pub(super) devices: u64,
    /// Seats in the whole cluster; each pod takes one.
    pub(super) seats: usize,
}

/// A bind that the scheduler wants.
#[derive(Debug, Clone)]
pub(super) struct BindOrder {
    pub(super) attempt: u64,
    pub(super) pod: String,
    pub(super) uid: String,
    pub(super) node: String,
    pub(super) is_forwarded: bool,
}

/// Its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BindResult {
    Bound,
    Forward(Arc<str>),
    /// Nobody knows.
    Unknown,
    Failed(String),
}

/// The actions of a process since it last ran.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) sent: Vec<Sent>,
    pub(super) outcomes: Vec<(BindOrder, BindResult)>,
    /// It was stopped between a decision and the socket.
    pub(super) is_frozen: bool,
}

pub(super) struct Process {
    pub(super) url: String,
    clock: Arc<PausedClock>,
    outbox: Arc<Mutex<Outbox>>,
    watch: Arc<ClusterWatch>,
    leadership: Arc<Leadership>,
    binder: Arc<ApiBinder>,
    /// Dropped last, after the fields whose drop stops its tasks.
    runtime: Option<Runtime>,
    /// When it was started, by the world's clock, and by its own.
    started: (u64, Instant),
    /// Its clock's ticks in a thousand of the world's.
    rate: u64,
    /// Up to where it has run, by the world's clock.
    pub(super) at: u64,
    pub(super) frozen_until: u64,
    /// The number of its terms that were seen.
    pub(super) terms: u64,
    sabotage: Arc<Sabotage>,
}

// === impl Process ===

impl Process {
    /// A process that is started at this moment; `trouble` is how often in a hundred it is stopped at the socket.
    pub(super) fn start(now: u64, index: usize, chance: &mut Random, trouble: u64, fault: Option<Defect>) -> Self {
        let (base, rate) = (Instant::now() + Duration::from_hours(1), 950 + chance.below(101));
        let (clock, runtime) = (PausedClock::new(base, chance.next_u64()), PausedClock::runtime());
        let outbox = Arc::<Mutex<Outbox>>::default();
        let dice = Arc::new(Mutex::new(Random::new(chance.next_u64())));
        let url = format!("http://gateway-{index}");
        let config = LeaseConfig {
            namespace: "default".to_owned(),
            name: "plimsoll".to_owned(),
            identity: format!("gateway-{index}"),
            url: url.clone(),
            timings: LeaseTimings::new(LEASE),
        };
        let parts = {
            let _entered = clock.enter();
            let _context = runtime.enter();
            let client = client(&outbox, None);
            let fenced_outbox = Arc::clone(&outbox);
            let api = ApiServer::within(client, move |term| {
                Ok(self::client(
                    &fenced_outbox,
                    Some(Fence { term: Arc::clone(term), dice: Arc::clone(&dice), trouble }),
                ))
            });
            let watch = Arc::new(ClusterWatch::start(&api, MAX_STALENESS, |_| {}, |_| {}));
            let synced = Arc::clone(&watch);
            let leadership = Leadership::start(&api, config, async move { synced.synced().await });
            let leadership = Arc::new(leadership);
            let binder = ApiBinder::start(&api, Arc::clone(&watch), Arc::clone(&leadership), REQUEST_TIMEOUT);
            (watch, leadership, Arc::new(binder))
        };
        let (watch, leadership, binder) = parts;
        let (started, at, frozen_until, terms, runtime) = ((now, base), now, 0, 0, Some(runtime));
        let sabotage = Arc::new(Sabotage::new(fault, Arc::clone(&watch)));
        Self {
            url,
            clock,
            outbox,
            watch,
            leadership,
            binder,
            runtime,
            started,
            rate,
            at,
            frozen_until,
            terms,
            sabotage,
        }
    }

    /// Runs up to this moment of the world, or until something leaves the process.
    pub(super) fn run(&mut self, until: u64) -> Outbox {
        let Some(runtime) = &self.runtime else { return Outbox::default() };
        let stopped = self.clock.run(runtime, self.local(until));
        let ticks = micros(stopped.duration_since(self.started.1));
        self.at = self.at.max((self.started.0 + ticks * 1000 / self.rate).min(until));
        if let LeadershipState::Leads(term) = self.leadership.leadership_state() {
            self.terms = self.terms.max(term.number());
        }
        let outbox = std::mem::take(&mut *self.outbox.lock().unwrap());
        if outbox.sent.is_empty() && outbox.outcomes.is_empty() && !outbox.is_frozen {
            self.at = until;
        }
        outbox
    }

    /// Continues a frozen process: its clock shows the current time at once.
    pub(super) fn thaw(&mut self, now: u64) {
        self.at = self.at.max(now);
        self.clock.jump(self.local(self.at));
    }

    pub(super) fn identity(&self) -> &str {
        self.leadership.identity()
    }

    pub(super) fn leads(&self) -> bool {
        matches!(self.leadership.leadership_state(), LeadershipState::Leads(_))
            && self.binder.leader() == Leader::ThisReplica
    }

    /// The UIDs and devices that it sees on a node.
    pub(super) fn placed(&self, node: &str) -> BTreeSet<(String, String)> {
        let Some(slot) = slot(&self.watch.cluster(), node) else { return BTreeSet::new() };
        let pods = slot.placed.iter().flat_map(|placed| placed.pods());
        pods.map(|pod| (pod.uid().to_owned(), pod.annotations().get(DEVICE).unwrap_or_default().to_owned())).collect()
    }

    /// The number of its reservations that its watch has not confirmed.
    pub(super) fn reserved(&self) -> usize {
        self.watch.status().reserved
    }

    /// It is asked to bind a pod; policies take `asking` to answer.
    pub(super) fn bind(&self, order: BindOrder, limits: Limits, asking: Duration) {
        let (binder, watch, outbox) = (Arc::clone(&self.binder), Arc::clone(&self.watch), Arc::clone(&self.outbox));
        let sabotage = Arc::clone(&self.sabotage);
        let Some(runtime) = &self.runtime else { return };
        let _entered = self.clock.enter();
        runtime.spawn(async move {
            let outcome = bind(&binder, &watch, &order, limits, asking, &sabotage).await;
            outbox.lock().unwrap().outcomes.push((order, outcome));
            paused::stop();
        });
    }

    /// It is told to stop: it releases the Lease, while the binds that it has begun go on.
    pub(super) fn stop(&self) {
        let leadership = Arc::clone(&self.leadership);
        let Some(runtime) = &self.runtime else { return };
        let _entered = self.clock.enter();
        runtime.spawn(async move { leadership.stop().await });
    }

    fn local(&self, at: u64) -> Instant {
        self.started.1 + Duration::from_micros((at.saturating_sub(self.started.0) * self.rate).div_ceil(1000))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its tasks end on its own clock.
        let _entered = self.clock.enter();
        drop(self.runtime.take());
    }
}

/// The pod of an order as the API server has it, if it is on no node.
async fn unbound_pod(binder: &ApiBinder, order: &BindOrder, deadline: Instant) -> Result<Arc<Pod>, BindResult> {
    let pod = match binder.read("ml", &order.pod, deadline).await {
        Ok(pod) if pod.uid() != order.uid => return Err(BindResult::Failed("another pod".to_owned())),
        Ok(pod) => pod,
        Err(error) => return Err(BindResult::Failed(error.to_string())),
    };
    match pod.node() {
        Some(node) if node == order.node => Err(BindResult::Bound),
        Some(node) => Err(BindResult::Failed(format!("it is on {node}"))),
        None => Ok(pod),
    }
}

/// The pod of an order as the scheduler's filter request showed it; now and then an older state of it.
fn shown_pod(order: &BindOrder) -> Pod {
    let mut pod = json!({
        "metadata": {"name": order.pod, "namespace": "ml", "uid": order.uid},
        "spec": {"containers": []},
    });
    if order.attempt.is_multiple_of(5) {
        pod["spec"]["priority"] = 1.into();
    }
    Pod::from_json(pod.to_string().into()).unwrap()
}

/// A bind as the gateway makes it (`decide/bind.rs` in core), without its turns: no invariant depends on them.
async fn bind(
    binder: &ApiBinder,
    watch: &ClusterWatch,
    order: &BindOrder,
    limits: Limits,
    asking: Duration,
    sabotage: &Sabotage,
) -> BindResult {
    let deadline = clock::now() + REQUEST_TIMEOUT;
    let mut pod = Arc::new(shown_pod(order));
    // As after a filter of a pod that is bound late; its place stands in the way of no bind.
    if order.attempt.is_multiple_of(3) {
        let placed = pod.placed_on(&order.node, &BTreeMap::new(), &BTreeMap::new());
        watch.hold(Arc::new(placed), clock::now() + PLACE_TIME);
    }
    match binder.leader() {
        Leader::ThisReplica => {}
        Leader::Peer(url) => {
            binder.forwarded(pod.placed_on(&order.node, &BTreeMap::new(), &BTreeMap::new()));
            return BindResult::Forward(url);
        }
        Leader::Nobody(why) => return BindResult::Failed(why),
    }
    // The scheduler asked the other replica about a pod whose bind is forwarded.
    let mut is_fresh = order.is_forwarded;
    if is_fresh {
        pod = match unbound_pod(binder, order, deadline).await {
            Ok(pod) => pod,
            Err(result) => return result,
        };
    }
    for _ in 0..ASKS {
        let cluster = watch.cluster();
        let Some(seen) = slot(&cluster, &order.node) else {
            return BindResult::Failed("no such node".to_owned());
        };
        let taken = others_in(&cluster, &order.uid);
        clock::sleep(asking).await;
        let Some(device) = free_device(&seen, &order.uid, limits.devices).filter(|_| taken < limits.seats) else {
            return BindResult::Failed("full".to_owned());
        };
        let binding = Binding {
            namespace: "ml".into(),
            name: order.pod.as_str().into(),
            uid: order.uid.as_str().into(),
            node: order.node.as_str().into(),
            annotations: BTreeMap::from([(DEVICE.into(), device.as_str().into())]),
            labels: BTreeMap::new(),
        };
        let is_unchanged = |newest: &Arc<Cluster>| {
            let compares_cluster = sabotage.defect != Some(Defect::ComparesTheNodeAlone);
            has_same_records(newest, &seen) && (!compares_cluster || others_in(newest, &order.uid) == taken)
        };
        let mut reservation = match sabotage.reserve(binder, &pod, &binding, &is_unchanged) {
            Err(NotReserved::Changed) => continue,
            Ok(reservation) if is_fresh => reservation,
            reserved => {
                let now = match unbound_pod(binder, order, deadline).await {
                    Ok(now) => now,
                    Err(result) => return result,
                };
                let (is_same, was_fresh) = (now.has_substance_of(&pod), is_fresh);
                (pod, is_fresh) = (now, true);
                match reserved {
                    Ok(reservation) if is_same => reservation,
                    Err(refusal) if was_fresh => return BindResult::Failed(format!("{refusal:?}")),
                    _ => continue,
                }
            }
        };
        let (result, id) = (reservation.write(&pod, deadline).await, reservation.id.clone());
        drop(reservation);
        let Err(error) = result else { return BindResult::Bound };
        let is_unknown = matches!(error, BindError::Timeout(_));
        sabotage.end(&id, &pod, &binding, is_unknown);
        return if is_unknown { BindResult::Unknown } else { BindResult::Failed(error.to_string()) };
    }
    BindResult::Failed("the node is restless".to_owned())
}

fn slot(cluster: &Cluster, node: &str) -> Option<Slot> {
    cluster.slots().get(cluster.find(node)? as usize).cloned()
}

fn has_same_records(newest: &Cluster, seen: &Slot) -> bool {
    let is_same = |now: &Slot| match (&now.placed, &seen.placed) {
        (Some(now_placed), Some(placed)) => Arc::ptr_eq(&now.node, &seen.node) && Arc::ptr_eq(now_placed, placed),
        _ => false,
    };
    slot(newest, seen.node.name()).is_some_and(|now| is_same(&now))
}

/// The number of pods other than this one that are placed on all nodes.
fn others_in(cluster: &Cluster, uid: &str) -> usize {
    let pods = cluster.slots().iter().filter_map(|slot| slot.placed.as_ref()).flat_map(|placed| placed.pods());
    pods.filter(|pod| pod.uid() != uid).count()
}

/// The lowest device that no other pod on the node has.
fn free_device(slot: &Slot, uid: &str, devices: u64) -> Option<String> {
    let others = || slot.placed.iter().flat_map(|placed| placed.pods()).filter(|pod| pod.uid() != uid);
    let is_taken = |device: &String| others().any(|pod| pod.annotations().get(DEVICE) == Some(device));
    (0..devices).map(|device| device.to_string()).find(|device| !is_taken(device))
}

/// Lets requests out as long as a term lasts; in trouble the process is stopped just before it looks.
#[derive(Clone)]
struct Fence {
    term: Arc<Term>,
    dice: Arc<Mutex<Random>>,
    trouble: u64,
}

/// A client whose requests end up in the outbox.
fn client(outbox: &Arc<Mutex<Outbox>>, fence: Option<Fence>) -> Client {
    let outbox = Arc::clone(outbox);
    let service = service_fn(move |request: Request<Body>| {
        let (outbox, fence) = (Arc::clone(&outbox), fence.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            if let Some(fence) = &fence {
                if fence.dice.lock().unwrap().percent(fence.trouble) {
                    outbox.lock().unwrap().is_frozen = true;
                    paused::stop();
                    clock::sleep(Duration::from_millis(1)).await;
                }
                if !fence.term.may_write() {
                    return Err(BoxError::from("the term as leader is over"));
                }
            }
            let (reply, answer) = oneshot::channel();
            let target = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
            // The worlds have no namespaces, DeviceClasses and claims, and nominate no pods: such watches are answered within
            // the process.
            let empty = ["/api/v1/namespaces?", "/apis/resource.k8s.io/", "/api/v1/persistentvolumeclaims?"];
            let is_empty = empty.iter().any(|path| target.starts_with(path));
            if is_empty || target.contains("spec.nodeName%3D%2C") {
                let none = json!({"metadata": {"resourceVersion": "1"}, "items": []});
                let nothing = StreamBody::new(pending::<Result<Frame<Bytes>, Infallible>>());
                let is_watch = target.contains("watch=true");
                return Ok(if is_watch { Response::new(nothing.boxed_unsync()) } else { whole(200, &none) });
            }
            let sent = Sent { method: parts.method, target, body, is_fenced: fence.is_some(), reply };
            outbox.lock().unwrap().sent.push(sent);
            paused::stop();
            match answer.await {
                Ok(Ok(response)) => Ok(response),
                Ok(Err(broken)) => Err(BoxError::from(broken)),
                // The reply was lost: nothing comes, ever.
                Err(_) => std::future::pending().await,
            }
        }
    });
    Client::new(service, "default")
}

/// A response that is whole.
pub(super) fn whole(status: u16, body: &serde_json::Value) -> Response<ReplyBody> {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    Response::builder().status(status).body(body).unwrap()
}

/// A response that lasts as long as its sender.
pub(super) fn stream(lines: mpsc::UnboundedReceiver<Bytes>) -> Response<ReplyBody> {
    let frames = unfold(lines, |mut lines| async {
        let line = lines.recv().await?;
        Some((Ok(Frame::data(line)), lines))
    });
    Response::new(StreamBody::new(frames).boxed_unsync())
}
