//! The description of a module.

use std::{sync::Arc, time::Duration};

use plimsoll_core::{Policy, Verbs};

use crate::wasi::WasiImport;

/// Facts about a module, as `plimsoll check` prints them.
pub struct Inspection {
    /// Whether it is a core module, which was made a component.
    pub is_core_module: bool,
    /// The verbs that it exports; of a program, those that it is asked without a sidecar.
    pub verbs: Verbs,
    /// The reads that it may make, as `nodes.label`.
    pub imports: Vec<String>,
    /// The interfaces of WASI 0.2 that it imports, or its functions of preview 1.
    pub wasi: Vec<WasiImport>,
    /// Bytes of the file.
    pub size: u64,
    /// `sha256:…` of the file.
    pub digest: String,
    /// The time that loading took.
    pub compiled_in: Duration,
    /// Whether it had been compiled before.
    pub from_cache: bool,
    /// The policy itself, to be asked.
    pub policy: Arc<dyn Policy>,
}
