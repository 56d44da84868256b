//! A control plane for a test: etcd, kube-apiserver and kube-scheduler as plain processes on loopback.
//!
//! Each test has one of its own, on free ports, with its own data directory; all of it ends with the test.
//! There is no kubelet: a pod that is bound stays `Pending`, and one that is deleted is gone at once.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

mod balancer;
mod chart;
mod component;
mod control_plane;
mod gateways;
mod metrics;
mod objects;
mod prometheus;
mod version;

pub use balancer::Balancer;
pub use chart::{chart, helm, objects, of_kind, render, scheduler_config, value_files};
pub use control_plane::{ControlPlane, Scheduler};
pub use gateways::{may_write, wait_for_bound};
pub use metrics::SchedulerMetrics;
pub use objects::{node, pod};
pub use prometheus::Prometheus;
pub use version::{minor, skip_before};
