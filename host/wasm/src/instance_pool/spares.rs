//! The spare instances of one module: plain ones, and primed ones for each policy's settings.

use std::{
    ptr,
    sync::{Arc, Weak},
};

use super::preinitialized::Preinitialized;
use crate::{
    instance::{NotWarmed, WarmInstance},
    linked_module::LinkedModule,
    pool_permits::PoolPermit,
};

/// Maximum spares of one kind. Several policies of a group may share a module and are called in quick succession.
const MAX_SPARES: usize = 4;

/// Maximum policies of one module that have primed spares: as many as there are spares of all modules.
const MAX_PRIMED_POLICIES: usize = 64;

/// Consecutive times that creating an instance may take too long, before calls pass without an attempt. A policy that
/// never gets ready costs the thread that works for all policies at most 5 times its limit per 100 calls; a machine that
/// was busy for a while costs the policy little.
const MAX_LATE: u32 = 5;

/// Calls that then pass without an attempt.
const PAUSE_CALLS: u32 = 100;

/// Spares of one kind, and their target number.
pub(super) struct Spares {
    instances: Vec<PooledInstance>,
    /// One more whenever a call finds none; 0 if they cannot be created ahead of a call.
    wanted: usize,
    /// Consecutive times that creating one took too long.
    late: u32,
    /// Calls until the next attempt.
    pause: u32,
}

/// Spares that have read the settings of one policy.
pub(super) struct PrimedSpares {
    /// The text of the policy's configuration. It is dropped with the policy, and these spares soon after it.
    settings: Weak<str>,
    pub(super) spares: Spares,
    /// The module that new instances are created from, once it is there.
    pub(super) preinitialized: Option<Preinitialized>,
}

/// The primed spares of all policies of one module.
#[derive(Default)]
pub(super) struct PrimedByPolicy(Vec<PrimedSpares>);

/// A warm instance with its permit.
pub(super) struct PooledInstance {
    instance: WarmInstance,
    /// Released when the instance is taken: from then on the permit of the call accounts for its place in the pooling
    /// allocator.
    _permit: PoolPermit,
}

// === impl Spares ===

impl Spares {
    pub(super) const fn new() -> Self {
        Self { instances: Vec::new(), wanted: 1, late: 0, pause: 0 }
    }

    /// Takes an instance whose start would have behaved the same within this memory limit; if there is none, one more
    /// is wanted from now on.
    pub(super) fn take(&mut self, memory: usize) -> Option<WarmInstance> {
        if self.instances.is_empty() && self.wanted > 0 {
            self.wanted = MAX_SPARES.min(self.wanted + 1);
        }
        self.take_without_growing(memory)
    }

    /// The same, but the target number stays.
    pub(super) fn take_without_growing(&mut self, memory: usize) -> Option<WarmInstance> {
        self.instances.pop_if(|spare| spare.instance.fits(memory)).map(|spare| spare.instance)
    }

    /// Takes all of them, to be dropped without the lock.
    pub(super) fn take_all(&mut self) -> Vec<PooledInstance> {
        std::mem::take(&mut self.instances)
    }

    pub(super) const fn lacks(&self) -> bool {
        self.instances.len() < self.wanted
    }

    /// Counts a call; true if nothing is to be created after it, because of a pause.
    pub(super) fn count_down_pause(&mut self) -> bool {
        let pauses = self.pause > 0;
        self.pause = self.pause.saturating_sub(1);
        pauses
    }

    /// Whether calls must create their instances.
    pub(super) const fn is_given_up(&self) -> bool {
        self.wanted == 0
    }

    /// Adds the instance that was created; otherwise creating more has no use now, or never.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(super) fn add(
        &mut self,
        created: Result<WarmInstance, NotWarmed>,
        permit: PoolPermit,
    ) -> Result<(), NotWarmed> {
        match created {
            Ok(instance) => {
                self.late = 0;
                self.instances.push(PooledInstance { instance, _permit: permit });
                return Ok(());
            }
            // Memory may be free at the next attempt.
            Err(NotWarmed::Full) => {}
            Err(NotWarmed::Late) => {
                self.late += 1;
                if self.late == MAX_LATE {
                    (self.late, self.pause) = (0, PAUSE_CALLS);
                }
            }
            Err(NotWarmed::NeedsItsCall) => self.wanted = 0,
        }
        created.map(drop)
    }
}

// === impl PrimedSpares ===

impl PrimedSpares {
    /// The pre-initialised module.
    pub(super) fn module(&self) -> Option<Arc<LinkedModule>> {
        Some(self.preinitialized.as_ref()?.module())
    }

    /// The pre-initialised module, if its instances fit this memory limit.
    pub(super) fn module_within(&self, memory: usize) -> Option<Arc<LinkedModule>> {
        self.preinitialized.as_ref()?.within(memory)
    }
}

// === impl PrimedByPolicy ===

impl PrimedByPolicy {
    /// The spares of the policy with these settings, which are added if it has none yet; `None` if too many policies have
    /// some.
    pub(super) fn entry(&mut self, settings: &Arc<str>) -> Option<&mut PrimedSpares> {
        let at = match self.position(settings) {
            Some(at) => at,
            None => self.add(settings)?,
        };
        Some(&mut self.0[at])
    }

    /// Whether the policy with these settings has spares, or may have some.
    pub(super) fn has_room_for(&self, settings: &Arc<str>) -> bool {
        self.0.len() < MAX_PRIMED_POLICIES || self.position(settings).is_some()
    }

    /// Takes those of policies that are gone, to be dropped without the lock.
    pub(super) fn take_abandoned(&mut self) -> Vec<PrimedSpares> {
        self.0.extract_if(.., |primed| primed.settings.strong_count() == 0).collect()
    }

    /// Takes all of them, to be dropped without the lock.
    pub(super) fn take_all(&mut self) -> Vec<PooledInstance> {
        self.0.iter_mut().flat_map(|primed| primed.spares.take_all()).collect()
    }

    /// Takes the pre-initialised modules, to be dropped without the lock.
    pub(super) fn take_modules(&mut self) -> Vec<Preinitialized> {
        self.0.iter_mut().filter_map(|primed| primed.preinitialized.take()).collect()
    }

    fn position(&self, settings: &Arc<str>) -> Option<usize> {
        self.0.iter().position(|primed| ptr::addr_eq(primed.settings.as_ptr(), Arc::as_ptr(settings)))
    }

    fn add(&mut self, settings: &Arc<str>) -> Option<usize> {
        if self.0.len() == MAX_PRIMED_POLICIES {
            return None;
        }
        let settings = Arc::downgrade(settings);
        self.0.push(PrimedSpares { settings, spares: Spares::new(), preinitialized: None });
        Some(self.0.len() - 1)
    }
}
