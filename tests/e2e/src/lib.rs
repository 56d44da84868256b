//! A control plane for a test: etcd, kube-apiserver and kube-scheduler as plain processes on loopback.
//!
//! Each test has one of its own, on free ports, with its own data directory; all of it ends with the test.
//! There is no kubelet: a pod that is bound stays `Pending`, and one that is deleted is gone at once.

mod balancer;
mod burst;
mod chart;
mod component;
mod control_plane;
mod metrics;
mod objects;
mod prometheus;
mod version;

pub use balancer::Balancer;
pub use burst::{Burst, BurstOutcome, may_write, wait_for_bound};
pub use chart::{chart, helm, objects, of_kind, render, scheduler_config, value_files};
pub use control_plane::{ControlPlane, Scheduler};
pub use metrics::SchedulerMetrics;
pub use objects::{node, pod};
pub use prometheus::Prometheus;
pub use version::{minor, skip_before};
