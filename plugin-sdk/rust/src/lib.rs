//! Write a plimsoll policy in Rust.

#[cfg(target_family = "wasm")]
mod abi;
mod answer;
mod door;
mod export;
#[cfg(target_family = "wasm")]
mod instance;
mod json;
pub mod log;
#[cfg(not(target_family = "wasm"))]
mod native;
mod quantity;
mod settings;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod verbs;
mod view;

pub use answer::{Annotation, Preemption, Verdict};
pub use door::now;
pub use json::JsonError;
pub use quantity::{Quantity, parse_quantity};
pub use verbs::{Bind, Filter, Preempt, Rank, Score, Validate};
pub use view::{Candidate, Candidates, Node, Nodes, Placed, Pod, Taint};

/// What [`export!`] is made of.
#[doc(hidden)]
pub mod __private {
    pub use crate::export::{Exported, Table};
    #[cfg(target_family = "wasm")]
    pub use crate::{
        abi::{List, Reply, realloc},
        instance::Instance,
    };
}

/// Everything that a policy usually needs: `use plimsoll_policy::prelude::*;`.
pub mod prelude {
    pub use serde::Deserialize;

    pub use crate::{
        Annotation, Bind, Candidate, Candidates, Filter, Node, Nodes, Placed, Pod, Preempt, Preemption, Rank, Score,
        Taint, Validate, Verdict, export, log, now,
    };
}
