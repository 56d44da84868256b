//! One call: it runs in a fresh instance, bounded in time and memory, which is dropped at the end.

use std::{sync::Arc, time::Instant};

use plimsoll_core::{Ask, Fault, FaultKind};

use crate::{
    engine::Host,
    instance::{GuestCall, busy},
    instance_pool::{InstancePool, InstanceSource},
    shares::{MemoryCharge, ShareRequest},
    store::CallLimits,
};

/// Runs `ask_guest` with an instance that no other call has used, which it may call several times. With `primed` it may
/// have read the settings before.
pub(crate) fn call<R>(
    host: &Host,
    instance_pool: &Arc<InstancePool>,
    ask: &Ask,
    primed: bool,
    ask_guest: impl FnOnce(&mut GuestCall) -> wasmtime::Result<R>,
) -> Result<R, Fault> {
    let request =
        ShareRequest { policy: Arc::clone(&ask.policy), class: ask.class, bytes: instance_pool.usual_memory() };
    let Some(mut permit) = host.shares.permit(request, ask.limits.deadline) else {
        return Err(busy("too many calls are under way, and none ended before the request's time was over"));
    };
    let _running = host.ticker.running();
    // The guest's time starts now; waiting for a permit does not count.
    let limit = CallLimits::of(ask, Instant::now(), host.max_memory);
    let settings = ask.view.settings();
    let mut call = match instance_pool.take(Some(settings).filter(|_| primed), limit.memory) {
        InstanceSource::Spare(spare) => spare.begin(ask, limit, &mut permit)?,
        InstanceSource::Module(module) => {
            GuestCall::start(module, ask, limit, MemoryCharge::of_call(&host.shares, &mut permit))?
        }
    };
    let result = ask_guest(&mut call);
    let result = result.map_err(|error| call.fault(&error));
    instance_pool.record_usage(call.memory());
    host.pool_worker.used(call.finish(), instance_pool, settings);
    result.map_err(|fault| {
        let is_late = permit.is_late && fault.kind == FaultKind::Timeout && limit.is_short_for(ask);
        if is_late { busy("it waited for other calls to end, and had too little time left after that") } else { fault }
    })
}
