//! Runs a policy natively, in `cargo test`: no WebAssembly, no cluster, the host's answers to every read.
//!
//! ```
//! use plimsoll_policy::{prelude::*, testing::{World, node, pod, settings}};
//!
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Zone { zone: String }
//!
//! impl Filter for Zone {
//!     fn filter(&self, _: &Pod, node: &Node) -> Verdict {
//!         match node.label("topology.kubernetes.io/zone") {
//!             Some(zone) if zone == self.zone => Verdict::Fits,
//!             _ => Verdict::unresolvable("node is in another zone"),
//!         }
//!     }
//! }
//!
//! export!(Zone: filter);
//!
//! let policy: Zone = settings("zone: a").unwrap();
//! let world = World::new(pod("web-0"))
//!     .node(node("node-1").label("topology.kubernetes.io/zone", "a"))
//!     .node(node("node-2"));
//! assert_eq!(world.filter(&policy, "node-1"), Verdict::Fits);
//! assert_eq!(world.filter(&policy, "node-2"), Verdict::unresolvable("node is in another zone"));
//! assert_eq!(settings::<Zone>("zone: 5").err().unwrap(), "zone: expected a string, found 5");
//! ```
//!
//! [`run_cases`] does the same for a directory of YAML files, each a [`Case`]. Such a case also runs
//! against the built module: [`Case::check`] takes anything that answers as a policy.

mod builder;
mod case;
mod native;
mod world;

pub use builder::{NodeBuilder, PodBuilder, node, pod};
pub use case::run_cases;
pub use native::Native;
pub use plimsoll_cases::{
    Case, CaseError, Difference, Expectations, ExpectedBinding, ExpectedPreemption, ExpectedVerdict, WorldError, cases,
};
pub use world::World;

use crate::{__private::Exported, settings::parse};

/// Reads a policy's settings from YAML, with the checks that a host makes as it loads the policy.
///
/// # Errors
/// The text that the operator would see.
pub fn settings<P: Exported>(yaml: &str) -> Result<P, String> {
    let value: serde_json::Value = serde_saphyr::from_str(yaml).map_err(|error| error.to_string())?;
    parse(&value.to_string())
}
