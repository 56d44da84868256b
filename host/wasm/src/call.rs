//! One call: an instance that no call has asked before, bounded in time and memory, and gone when the call ends.

use std::{sync::Arc, time::Instant};

use plimsoll_core::{Ask, Fault, FaultKind};

use crate::{
    engine::Host,
    instance::{Call, Limit, busy},
    shares::{MemoryCharge, Wish},
    template::Template,
};

/// Asks a fresh instance; `ask_guest` may call it as often as it likes.
pub(crate) fn call<R>(
    host: &Host,
    template: &Arc<Template>,
    ask: &Ask,
    ask_guest: impl FnOnce(&mut Call) -> wasmtime::Result<R>,
) -> Result<R, Fault> {
    let wish = Wish { policy: Arc::clone(&ask.policy), class: ask.class, bytes: template.usual_memory() };
    let Some(mut permit) = host.shares.permit(wish, ask.limits.deadline) else {
        return Err(busy("too many calls are under way, and none ended before the request's time was over"));
    };
    let _running = host.ticker.running();
    // Its time begins now, however long it had to wait.
    let limit = Limit::of(ask, Instant::now(), host.max_memory);
    let mut call = match template.take(limit.memory) {
        Some(spare) => spare.begin(ask, limit, &mut permit)?,
        None => Call::start(template.linked(), ask, limit, MemoryCharge::of_call(&host.shares, &mut permit))?,
    };
    let result = ask_guest(&mut call);
    let result = result.map_err(|error| call.fault(&error));
    template.has_used(call.memory());
    host.keeper.used(call.finish(), template);
    result.map_err(|fault| {
        let is_late = permit.is_late && fault.kind == FaultKind::Timeout && limit.is_short_for(ask);
        if is_late { busy("it waited for other calls to end, and had too little time left after that") } else { fault }
    })
}
