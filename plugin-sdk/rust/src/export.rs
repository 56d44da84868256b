//! `export!`, and what it is made of.

use serde::de::DeserializeOwned;

use crate::{Annotation, Candidate, Node, Nodes, Pod, Preemption, Verdict};

/// A policy type with the table of its verbs; written by [`export!`](crate::export!).
pub trait Exported: DeserializeOwned + Send + Sync + 'static {
    /// The verbs that it has.
    const VERBS: Table<Self>;
}

/// The verbs of a policy.
#[expect(clippy::type_complexity, reason = "each is the signature of a trait's method")]
pub struct Table<P> {
    /// Checks settings beyond their types.
    pub validate: Option<fn(&P) -> Result<(), String>>,
    /// `filter`.
    pub filter: Option<fn(&P, &Pod, &Node) -> Verdict>,
    /// `score`.
    pub score: Option<fn(&P, &Pod, &Node) -> u32>,
    /// `rank`.
    pub rank: Option<fn(&P, &Pod, &Nodes) -> Vec<u32>>,
    /// `preempt`.
    pub preempt: Option<fn(&P, &Pod, &Candidate) -> Preemption>,
    /// `bind`.
    pub bind: Option<fn(&P, &Pod, &Node) -> Result<Vec<Annotation>, String>>,
}

// === impl Table ===

impl<P> Table<P> {
    /// No verbs.
    pub const EMPTY: Self = Self { validate: None, filter: None, score: None, rank: None, preempt: None, bind: None };
}

/// Makes a crate a policy: exports the verbs named, and `validate`.
///
/// The type implements the trait of each verb: `filter`, `score`, `rank`, `preempt`, `bind`, and
/// `validate` if it has the hook [`Validate`](crate::Validate). One policy is exported by a crate.
///
/// ```
/// use plimsoll_policy::prelude::*;
///
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Zone { zone: String }
///
/// impl Filter for Zone {
///     fn filter(&self, _: &Pod, node: &Node) -> Verdict {
///         match node.label("topology.kubernetes.io/zone") {
///             Some(zone) if zone == self.zone => Verdict::Fits,
///             _ => Verdict::unresolvable("node is in another zone"),
///         }
///     }
/// }
///
/// export!(Zone: filter);
/// ```
#[macro_export]
macro_rules! export {
    ($policy:ty: $($verb:ident),+ $(,)?) => {
        const _: () = {
            impl $crate::__private::Exported for $policy {
                #[allow(clippy::needless_update, reason = "a policy with every verb leaves nothing to fill")]
                const VERBS: $crate::__private::Table<Self> = $crate::__private::Table {
                    $($verb: ::core::option::Option::Some($crate::__trait_of!($verb)),)+
                    ..$crate::__private::Table::EMPTY
                };
            }

            #[cfg(target_family = "wasm")]
            static POLICY: $crate::__private::Instance<$policy> = $crate::__private::Instance::new();

            #[cfg(target_family = "wasm")]
            #[unsafe(export_name = "cabi_realloc")]
            unsafe extern "C" fn realloc(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
                // SAFETY: the host calls it as the canonical ABI says.
                unsafe { $crate::__private::realloc(old, old_size, align, size) }
            }

            #[cfg(target_family = "wasm")]
            #[unsafe(export_name = "plimsoll:policy/validate@0.1.0#validate")]
            extern "C" fn validate() -> *const $crate::__private::Reply {
                POLICY.validate()
            }

            $($crate::__export_verb!($verb);)+
        };
    };
}

/// The function of a verb's trait.
#[doc(hidden)]
#[macro_export]
macro_rules! __trait_of {
    (validate) => {
        <Self as $crate::Validate>::validate
    };
    (filter) => {
        <Self as $crate::Filter>::filter
    };
    (score) => {
        <Self as $crate::Score>::score
    };
    (rank) => {
        <Self as $crate::Rank>::rank
    };
    (preempt) => {
        <Self as $crate::Preempt>::preempt
    };
    (bind) => {
        <Self as $crate::Bind>::bind
    };
    ($other:ident) => {
        ::core::compile_error!(::core::concat!(
            "a policy has no verb `",
            ::core::stringify!($other),
            "`: expected filter, score, rank, preempt, bind or validate"
        ))
    };
}

/// One exported function.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_verb {
    (filter) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(export_name = "plimsoll:policy/filter@0.1.0#filter")]
        extern "C" fn filter(node: u32) -> *const $crate::__private::Reply {
            POLICY.filter(node)
        }
    };
    (score) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(export_name = "plimsoll:policy/score@0.1.0#score")]
        extern "C" fn score(node: u32) -> u32 {
            POLICY.score(node)
        }
    };
    (rank) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(export_name = "plimsoll:policy/rank@0.1.0#rank")]
        extern "C" fn rank() -> *const $crate::__private::List {
            POLICY.rank()
        }
    };
    (preempt) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(export_name = "plimsoll:policy/preempt@0.1.0#preempt")]
        extern "C" fn preempt(candidate: u32) -> *const $crate::__private::Reply {
            POLICY.preempt(candidate)
        }
    };
    (bind) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(export_name = "plimsoll:policy/bind@0.1.0#bind")]
        extern "C" fn bind(node: u32) -> *const $crate::__private::Reply {
            POLICY.bind(node)
        }
    };
    ($other:ident) => {};
}
