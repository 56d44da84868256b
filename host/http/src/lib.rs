//! The scheduler-extender wire and the admin listener.
//!
//! ```text
//!  kube-scheduler ──> server ──> wire ──> decode ──> Gateway ──> encode ──> kube-scheduler
//!                (connections) (one request)      (plimsoll-core)
//!        operator ──> server ──> admin (read-only)
//!         kubelet ──> server ──> probes (for strangers)
//! ```
//!
//! `docs/wire.md` describes the protocol. Wire types stay in this crate; [`serve_wire`] converts them to core's types
//! and back. This is the only crate that names axum.

mod access;
mod admin;
mod answer;
mod config;
mod decode;
mod encode;
mod error;
mod extender_verb;
mod forward;
mod hosts;
mod memory;
mod peers;
mod probes;
mod reply;
mod request_cache;
mod server;
mod text;
mod tls;
mod wire;

pub use access::BindAccess;
pub use admin::{Admin, serve_admin};
pub use answer::answer;
pub use config::WireConfig;
pub use extender_verb::prioritize_verb;
pub use forward::{FORWARDED, Forward, ForwardError, Forwarding, MAX_FORWARDED_REPLY, NoPeers};
pub use hosts::AllowedHosts;
pub use peers::Peers;
pub use probes::serve_probes;
pub use reply::ExtenderReply;
pub use request_cache::RequestCache;
pub use tls::{Tls, TlsError, TlsFiles, TlsObserver};
pub use wire::{NO_LABEL, WireObserver, serve_wire};
