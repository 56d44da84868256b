//! One call: an instance that no call has asked before, bounded in time and memory, and gone when the call ends.

use std::{sync::Arc, time::Instant};

use plimsoll_core::{Ask, Fault, FaultKind};

use crate::{
    engine::Host,
    instance::{Call, Limit},
    template::Template,
};

/// Asks a fresh instance; `ask_guest` may call it as often as it likes.
pub(crate) fn call<R>(
    host: &Host,
    template: &Arc<Template>,
    ask: &Ask,
    ask_guest: impl FnOnce(&mut Call) -> wasmtime::Result<R>,
) -> Result<R, Fault> {
    let started = Instant::now();
    let Some(_slot) = host.slots.take(ask.limits.deadline) else {
        return Err(Fault::new(FaultKind::Timeout, "too many calls are under way; its time was over before its turn"));
    };
    let _running = host.ticker.running();
    let limit = Limit::of(ask, started, host.max_memory);
    let mut call = match template.take(limit.memory) {
        Some(spare) => spare.begin(ask, limit),
        None => Call::start(template.linked(), ask, limit)?,
    };
    let result = ask_guest(&mut call);
    let result = result.map_err(|error| call.fault(&error));
    host.keeper.used(call.finish(), template);
    result
}
