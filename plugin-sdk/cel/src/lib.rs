//! The guest that evaluates rules in CEL: one module for any number of policies, each with its rules as settings.
//!
//! ```text
//!  settings ──> source (parsed) ──> check (types, reads) ──> rules (compiled) ──> filter, score, bind
//!                                     │ schema                │ cel, functions
//!                                     └ what can be named     └──> values/world ──> the host, one read for each touch
//! ```
//!
//! All that can be said about an expression before the first pod is said as the settings are read. The interpreter is the
//! crate `cel`; what it lacks of Kubernetes' environment is in `functions` and `values`.

mod check;
mod fault;
mod functions;
mod json;
mod problem;
mod rules;
mod schema;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod types;
mod values;

use std::sync::OnceLock;

use plimsoll_policy::{Bind, BindMetadata, Filter, Node, NotBound, Pod, Score, Validate, Verdict, export};
use serde::Deserialize;

use rules::{Compiled, Rejection};
use settings::Settings;
use values::world::World;

/// A policy in CEL.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Cel {
    settings: Settings,
    #[serde(skip)]
    compiled: OnceLock<Result<Compiled, String>>,
}

// === impl Cel ===

impl Cel {
    fn compiled(&self) -> Result<&Compiled, String> {
        self.compiled.get_or_init(|| Compiled::new(&self.settings)).as_ref().map_err(Clone::clone)
    }

    /// Evaluates with the variables of one call. An error is a fault of the policy, and ends the call.
    fn evaluate<T>(&self, pod: Pod, node: Node, with: impl FnOnce(&Compiled, &World) -> Result<T, String>) -> T {
        let answer =
            self.compiled().and_then(|compiled| with(compiled, &World { pod, node, settings: compiled.settings() }));
        answer.unwrap_or_else(|error| {
            // A fault of the rule, and no panic: a place in this file would say nothing to its author.
            #[cfg(target_family = "wasm")]
            plimsoll_policy::__private::panic(&error);
            panic!("{error}")
        })
    }
}

impl Validate for Cel {
    fn validate(&self) -> Result<(), String> {
        let compiled = self.compiled()?;
        if self.settings.describe { Err(format!("describe: {}", compiled.describe())) } else { Ok(()) }
    }
}

impl Filter for Cel {
    fn filter(&self, pod: &Pod, node: &Node) -> Verdict {
        match self.evaluate(*pod, *node, Compiled::filter) {
            None => Verdict::Fits,
            Some(Rejection { reason, unresolvable: true }) => Verdict::unresolvable(reason),
            Some(Rejection { reason, unresolvable: false }) => Verdict::unschedulable(reason),
        }
    }
}

impl Score for Cel {
    fn score(&self, pod: &Pod, node: &Node) -> u32 {
        self.evaluate(*pod, *node, Compiled::score)
    }
}

/// A limit holds as the pod is bound, too.
impl Bind for Cel {
    fn bind(&self, pod: &Pod, node: &Node) -> Result<BindMetadata, NotBound> {
        match self.evaluate(*pod, *node, Compiled::filter) {
            None => Ok(BindMetadata::new()),
            Some(rejection) => Err(NotBound::refused(rejection.reason)),
        }
    }
}

export!(Cel: filter, score, bind, validate);
