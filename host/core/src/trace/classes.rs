//! The classes of one policy and verb, by the values of what it reads of the pod and the time.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::ArcSwap;
use hashbrown::HashMap;

use super::{answers::Remember, class::Class, key::Key, path::Path};
use crate::View;

/// A class that comes is published with a copy of the shard that it belongs to, not of all.
const SHARDS: usize = 64;

/// The most classes.
const MAX_CLASSES: usize = 4_096;

/// Readers take what is published; there is one writer at a time.
pub(super) struct Classes<A> {
    /// Everything that an evaluation has ever read of the pod and the time.
    pub(super) request: Vec<Path>,
    shards: Box<[ArcSwap<Shard<A>>]>,
    count: AtomicUsize,
    bytes: AtomicUsize,
}

type Shard<A> = HashMap<Box<[Key]>, Arc<Class<A>>, foldhash::fast::RandomState>;

impl<A: Remember> Classes<A> {
    pub(super) fn new(request: Vec<Path>) -> Self {
        let shards = std::iter::repeat_with(ArcSwap::default).take(SHARDS).collect();
        Self { request, shards, count: AtomicUsize::new(0), bytes: AtomicUsize::new(0) }
    }

    /// The values by which pods such as the view's are told from others.
    pub(super) fn keys(&self, view: &View) -> Box<[Key]> {
        self.request.iter().map(|path| path.key(view, 0)).collect()
    }

    pub(super) fn get(&self, keys: &[Key]) -> Option<Arc<Class<A>>> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.shard(keys).load().get(keys).cloned()
    }

    /// Publishes a class.
    pub(super) fn put(&self, keys: Box<[Key]>, class: Arc<Class<A>>) {
        let shard = self.shard(&keys);
        let mut next = Shard::clone(&shard.load());
        self.bytes.fetch_add(class.bytes(), Ordering::Relaxed);
        match next.insert(keys, class) {
            Some(before) => drop(self.bytes.fetch_sub(before.bytes(), Ordering::Relaxed)),
            None => drop(self.count.fetch_add(1, Ordering::Relaxed)),
        }
        shard.store(Arc::new(next));
        if self.count.load(Ordering::Relaxed) > MAX_CLASSES {
            self.keep_newer_half();
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Class<A>>> {
        self.shards.iter().flat_map(|shard| shard.load().values().cloned().collect::<Vec<_>>()).collect()
    }

    /// Forgets the classes that were not used since.
    pub(super) fn forget_before(&self, since: u64) {
        for shard in &self.shards {
            let current = shard.load();
            if current.values().all(|class| class.used() >= since) {
                continue;
            }
            let mut next = Shard::clone(&current);
            for (_, class) in next.extract_if(|_, class| class.used() < since) {
                self.bytes.fetch_sub(class.bytes(), Ordering::Relaxed);
                self.count.fetch_sub(1, Ordering::Relaxed);
            }
            shard.store(Arc::new(next));
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Half of them at once, so that this is rare.
    fn keep_newer_half(&self) {
        let mut used: Vec<u64> = self.all().iter().map(|class| class.used()).collect();
        let middle = used.len() / 2;
        let (_, middle, _) = used.select_nth_unstable(middle);
        self.forget_before(*middle);
    }

    fn shard(&self, keys: &[Key]) -> &ArcSwap<Shard<A>> {
        let mixed = keys
            .iter()
            .fold(0_u64, |mixed, key| (mixed.rotate_left(5) ^ key.bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        &self.shards[(mixed >> 58) as usize]
    }
}

impl<A: Remember> Default for Classes<A> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}
