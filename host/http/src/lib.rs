//! The scheduler-extender wire and the admin listener.
//!
//! ```text
//!  kube-scheduler ──> server ──> wire ──> decode ──> Gateway ──> encode ──> kube-scheduler
//!                (connections) (one request)      (plimsoll-core)
//!        operator ──> server ──> admin (read-only; probes for strangers)
//! ```
//!
//! `docs/wire.md` describes the protocol. Wire types stay in this crate; [`serve_wire`] converts them to core's types
//! and back. This is the only crate that names axum.

mod access;
mod admin;
mod answer;
mod client;
mod config;
mod decode;
mod encode;
mod error;
mod peers;
mod request_cache;
mod server;
mod tls;
mod wire;

pub use access::BindAccess;
pub use admin::{Admin, serve_admin, serve_probes};
pub use answer::{PREEMPT_POD_GROUPS, prioritize_verb};
pub use client::read_admin_page;
pub use config::{NO_LABEL, WireConfig, WireObserver};
pub use peers::{FORWARDED, Forward, ForwardError, Forwarding, MAX_FORWARDED_REPLY, Peers};
pub use tls::{Tls, TlsError, TlsFiles, TlsObserver};
pub use wire::serve_wire;
