//! `export!`, and the parts that it is made of.

use serde::de::DeserializeOwned;

use crate::{BindMetadata, Candidate, Node, Nodes, NotBound, Pod, Preemption, Verdict};

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
    pub bind: Option<fn(&P, &Pod, &Node) -> Result<BindMetadata, NotBound>>,
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
///
/// A verb that the type implements and `export!` does not name would never be asked: the compiler warns of it. A
/// [`Validate`](crate::Validate) that is not named is an error, since settings would go unchecked:
///
/// ```compile_fail,E0308
/// use plimsoll_policy::prelude::*;
///
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Zone { zone: String }
///
/// impl Filter for Zone {
///     fn filter(&self, _: &Pod, _: &Node) -> Verdict { Verdict::Fits }
/// }
///
/// impl Validate for Zone {
///     fn validate(&self) -> Result<(), String> { Ok(()) }
/// }
///
/// export!(Zone: filter);
/// ```
///
/// ```compile_fail
/// #![deny(deprecated)]
/// use plimsoll_policy::prelude::*;
///
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Zone { zone: String }
///
/// impl Filter for Zone {
///     fn filter(&self, _: &Pod, _: &Node) -> Verdict { Verdict::Fits }
/// }
///
/// impl Score for Zone {
///     fn score(&self, _: &Pod, _: &Node) -> u32 { 0 }
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

            $crate::__forgotten!($policy, validate, Validate; $($verb)+);
            $crate::__forgotten!($policy, filter, Filter; $($verb)+);
            $crate::__forgotten!($policy, score, Score; $($verb)+);
            $crate::__forgotten!($policy, rank, Rank; $($verb)+);
            $crate::__forgotten!($policy, preempt, Preempt; $($verb)+);
            $crate::__forgotten!($policy, bind, Bind; $($verb)+);
        };
    };
}

/// Has the compiler look whether a verb that `export!` does not name is implemented.
///
/// The method of a trait that is implemented for `Named<P>` is found before that of one that is implemented for
/// `&Named<P>`, and the first is there only if `P` has the verb.
#[doc(hidden)]
#[macro_export]
macro_rules! __forgotten {
    ($policy:ty, validate, $trait:ident; validate $($rest:ident)*) => {};
    ($policy:ty, filter, $trait:ident; filter $($rest:ident)*) => {};
    ($policy:ty, score, $trait:ident; score $($rest:ident)*) => {};
    ($policy:ty, rank, $trait:ident; rank $($rest:ident)*) => {};
    ($policy:ty, preempt, $trait:ident; preempt $($rest:ident)*) => {};
    ($policy:ty, bind, $trait:ident; bind $($rest:ident)*) => {};
    ($policy:ty, $verb:ident, $trait:ident; $other:ident $($rest:ident)*) => {
        $crate::__forgotten!($policy, $verb, $trait; $($rest)*);
    };
    ($policy:ty, validate, $trait:ident;) => {
        #[allow(dead_code, clippy::needless_borrow, reason = "it is there to be compiled")]
        const _: fn() = || {
            struct Named<P>(::core::marker::PhantomData<P>);
            struct ValidateIsImplementedButNotNamedInExport;
            trait Forgotten {
                fn is_named(&self) -> ValidateIsImplementedButNotNamedInExport {
                    ValidateIsImplementedButNotNamedInExport
                }
            }
            trait Fine {
                fn is_named(&self) {}
            }
            impl<P: $crate::$trait> Forgotten for Named<P> {}
            impl<P> Fine for &Named<P> {}
            let () = (&Named::<$policy>(::core::marker::PhantomData)).is_named();
        };
    };
    ($policy:ty, $verb:ident, $trait:ident;) => {
        #[allow(dead_code, clippy::needless_borrow, reason = "it is there to be compiled")]
        const _: fn() = || {
            struct Named<P>(::core::marker::PhantomData<P>);
            trait Forgotten {
                #[deprecated(note = "the policy implements this verb, and `export!` does not name it: it is never asked")]
                fn $verb(&self) {}
            }
            trait Fine {
                fn $verb(&self) {}
            }
            impl<P: $crate::$trait> Forgotten for Named<P> {}
            impl<P> Fine for &Named<P> {}
            (&Named::<$policy>(::core::marker::PhantomData)).$verb();
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
        #[unsafe(export_name = "plimsoll:policy/binding@0.1.0#bind")]
        extern "C" fn bind(node: u32) -> *const $crate::__private::BindReply {
            POLICY.bind(node)
        }
    };
    ($other:ident) => {};
}
