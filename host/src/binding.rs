//! Wires the parts of binding: the Lease, the API server, and the view that shows bound pods.

use std::{env, fs, net::SocketAddr, sync::Arc, time::Duration};

use plimsoll_cluster::{ApiBinder, ApiServer, ClusterWatch, Leadership, LeadershipState, LeaseConfig, LeaseTimings};
use plimsoll_core::{BindOutcome, BindReport, DecideError, Gateway, PodId, RequestId};
use plimsoll_http::WireConfig;
use serde::Serialize;
use tracing::{debug, info, warn};

use crate::args::BindingArgs;

/// The reply of `/api/leader`.
#[derive(Serialize)]
#[serde(tag = "state", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(crate) enum LeaderJson {
    Off { reason: &'static str },
    Leads { identity: String, term: u64, may_write: bool },
    Follows { identity: String, leader: Arc<str>, url: Option<Arc<str>> },
    Vacant { identity: String, reason: Arc<str> },
}

// === impl LeaderJson ===

impl LeaderJson {
    pub(crate) const OFF: Self = Self::Off { reason: "this gateway does not bind" };

    pub(crate) fn new(leadership: &Leadership) -> Self {
        let identity = leadership.identity().to_owned();
        match leadership.leadership_state() {
            LeadershipState::Leads(term) => Self::Leads { identity, term: term.number(), may_write: term.may_write() },
            LeadershipState::Follows { holder, url } => Self::Follows { identity, leader: holder, url },
            LeadershipState::Vacant(reason) => Self::Vacant { identity, reason },
        }
    }
}

/// The identity of this gateway among its replicas; defaults follow from the environment.
pub(crate) fn lease_config(args: BindingArgs, api: &ApiServer, listen: SocketAddr, is_tls: bool) -> LeaseConfig {
    LeaseConfig {
        namespace: args.lease_namespace.unwrap_or_else(|| api.namespace().to_owned()),
        name: args.lease_name,
        identity: args.identity.unwrap_or_else(host_name),
        url: args.advertise.unwrap_or_else(|| advertised(listen, is_tls)),
        timings: LeaseTimings::new(args.lease_duration),
    }
}

/// Applies for the Lease when the cluster is listed, and binds while it is held.
pub(crate) fn start(
    gateway: &Gateway,
    api: &ApiServer,
    watch: &Arc<ClusterWatch>,
    config: LeaseConfig,
    request_timeout: Duration,
) -> Arc<Leadership> {
    let synced = {
        let watch = Arc::clone(watch);
        async move { watch.synced().await }
    };
    let leadership = Arc::new(Leadership::start(api, config, synced));
    let (assume_cache, election) = (Arc::clone(watch), Arc::clone(&leadership));
    gateway.set_binder(Arc::new(ApiBinder::start(api, assume_cache, election, request_timeout)));
    leadership
}

/// The message if no client could authenticate for a bind.
pub(crate) const NOBODY_MAY_BIND: &str = "nobody may ask this gateway to bind: --listen is open to the network and asks for no client certificate; set --tls-client-ca, or --bind-without-authentication where the network is trusted, or --no-bind";

/// Whether any client may ask for binds on the extender port; warns if none may, or if all may.
pub(crate) fn may_be_asked(listen: SocketAddr, wire: &WireConfig) -> bool {
    let asks_for_certificates = wire.tls.as_ref().is_some_and(|tls| tls.asks_for_certificates());
    let possible = wire.bind.is_possible(listen.ip(), asks_for_certificates);
    if !possible {
        warn!("{NOBODY_MAY_BIND}");
    } else if wire.bind.without_authentication && !listen.ip().to_canonical().is_loopback() {
        warn!(%listen, "--bind-without-authentication: everybody who reaches this address may place any pod on any node");
    }
    possible
}

/// Logs the outcome of a bind. A routine refusal is logged like a success; the extender wire logs all other
/// errors.
pub(crate) fn log(report: &BindReport<'_>) {
    let BindReport { group, query, outcome, elapsed } = report;
    let (pod, node) = (PodId::of_bind(query), &*query.node);
    let uid = pod.uid();
    let (took, request) = (crate::text::duration(*elapsed), RequestId::current());
    match outcome {
        Ok(BindOutcome::Bound) => {
            info!(group, %pod, uid, node, %took, %request, "pod bound");
        }
        Ok(BindOutcome::AlreadyBound) => {
            info!(group, %pod, uid, node, %took, %request, "the pod was bound there before");
        }
        Ok(BindOutcome::Forward(url)) => {
            debug!(group, %pod, uid, node, url = &**url, %request, "bind forwarded");
        }
        Err(DecideError::Unbound(unbound)) if unbound.is_routine() => {
            info!(group, %pod, uid, node, %took, %request, reason = %unbound, "pod not bound");
        }
        Err(_) => {}
    }
}

/// The URL of this replica for others: with the pod's address, if `$POD_IP` is set.
fn advertised(listen: SocketAddr, is_tls: bool) -> String {
    let scheme = if is_tls { "https" } else { "http" };
    let given = env::var("POD_IP").ok().and_then(|ip| ip.parse().ok());
    let mut address = listen;
    if let Some(ip) = given {
        address.set_ip(ip);
    } else if listen.ip().is_unspecified() {
        let loopback: std::net::IpAddr =
            if listen.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() };
        address.set_ip(loopback);
        warn!("neither --advertise nor POD_IP is set: other replicas cannot forward a bind to {scheme}://{address}");
    }
    format!("{scheme}://{address}")
}

fn host_name() -> String {
    let given = env::var("POD_NAME").or_else(|_| env::var("HOSTNAME"));
    let name = given.or_else(|_| fs::read_to_string("/proc/sys/kernel/hostname"));
    name.map_or_else(|_| "plimsoll".to_owned(), |name| name.trim().to_owned())
}
