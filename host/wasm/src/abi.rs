//! The contract's functions and types, one module for each version.

mod v0_1;

pub(crate) use v0_1::{
    BindAnswer, Exports, FormerBindAnswer, INTERFACES, WitAnnotation, WitNotBound, WitPair, WitPreemption, WitVerdict,
    add_to_linker,
};
