//! The contract's functions and types, one module for each version.

mod v0_1;

pub(crate) use v0_1::{
    ADAPTER, BindAnswer, Exports, FormerBindAnswer, INTERFACES, PACKAGE, PROGRAM, SignatureError, VERSION,
    WitAnnotation, WitNotBound, WitPair, WitPreemption, WitVerdict, add_to_linker, full_name, verb_interfaces,
};
