//! A module that is ready to be instantiated.

use wasmtime::component::InstancePre;

use crate::{abi::Exports, store::StoreData};

/// A component with its imports linked, and the functions that it exports.
pub(crate) struct LinkedModule {
    pub(crate) instances: InstancePre<StoreData>,
    pub(crate) exports: Exports,
}
