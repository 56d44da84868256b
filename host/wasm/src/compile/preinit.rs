//! Pre-initialises a component: the memory that an instance has after its start and its `validate` becomes the memory
//! with which new instances begin.
//!
//! `wasmtime-wizer` adds functions to the component that read its memories and globals, and writes a component without
//! them and without the start. In between the component runs here, as a warm instance of the gateway would: with its
//! settings, and nothing else.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use wasmtime::{
    Engine, Error, OptLevel, Result, Store, bail,
    component::{Component, Instance, Lift, Linker, WasmList},
    format_err,
};
use wasmtime_wizer::{ComponentContext, ComponentInstanceState, Wizer};

use crate::{
    abi::{self, Exports},
    contract::RefusedError,
    engine::compile_config,
    instance::{NotWarmed, WarmInstance},
    linked_module::LinkedModule,
    shares::Shares,
    store::StoreData,
    ticker::{TICK, Ticker},
};

/// Time for `validate`: nobody waits, and the code is not optimised.
const VALIDATE_TIME: Duration = Duration::from_secs(1);

/// Memory of the process that guests may have; the instance has a lower limit.
const GUEST_MEMORY: usize = 64 << 20;

/// Epochs until the functions that read the state are stopped: never, since the component cannot change them.
const NO_DEADLINE: u64 = 1 << 40;

/// Reads the state of an instance through the functions that wizer has added.
struct InstanceState<'s> {
    store: &'s mut Store<StoreData>,
    instance: Instance,
    /// The first failure: wizer's interface has no place for one.
    failure: Option<Error>,
}

/// Returns the component whose instances have read these settings.
///
/// # Errors
/// If wizer does not know the component's form, or if its start or its `validate` needs more than its settings.
pub(super) fn preinitialize(component: &[u8], settings: &Arc<str>) -> Result<Vec<u8>, RefusedError> {
    let preinitialized = (|| {
        let wizer = Wizer::new();
        let (context, instrumented) = wizer.instrument_component(component)?;
        snapshot(&wizer, &context, &instrumented, settings)
    })();
    preinitialized.map_err(|error| RefusedError::Preinitialize(format!("{error:#}")))
}

fn snapshot(
    wizer: &Wizer,
    context: &ComponentContext<'_>,
    instrumented: &[u8],
    settings: &Arc<str>,
) -> Result<Vec<u8>> {
    let engine = engine()?;
    let ticker = Ticker::start(engine.weak(), TICK)?;
    let _running = ticker.running();
    let component = Component::from_binary(&engine, instrumented)?;
    let mut linker = Linker::new(&engine);
    abi::add_to_linker(&mut linker)?;
    let (instances, exports) = (linker.instantiate_pre(&component)?, Exports::of(&component)?);
    let module = Arc::new(LinkedModule { instances, exports });
    let primed = WarmInstance::start(&module, &Arc::new(Shares::new(1, GUEST_MEMORY)))
        .and_then(|warm| warm.prime(settings, VALIDATE_TIME));
    let (mut store, instance) = primed.map_err(why)?.into_parts();
    store.set_hostcall_fuel(usize::MAX);
    store.set_epoch_deadline(NO_DEADLINE);
    let mut state = InstanceState { store: &mut store, instance, failure: None };
    let written = ready(wizer.snapshot_component(context, &mut state))?;
    state.failure.map_or(written, Err)
}

/// An engine that runs the component as the gateway's does. It compiles sooner, reserves no address space, and writes no
/// file for the initial memory, which the process must not.
fn engine() -> Result<Engine> {
    let mut config = compile_config();
    config.cranelift_opt_level(OptLevel::None).memory_reservation(0).memory_guard_size(0).memory_init_cow(false);
    Engine::new(&config)
}

fn why(not_warmed: NotWarmed) -> Error {
    match not_warmed {
        NotWarmed::Full => format_err!("it needs too much memory"),
        NotWarmed::Late => format_err!("its start or its validate takes too long"),
        NotWarmed::NeedsItsCall => format_err!("its start or its validate needs more than its settings"),
    }
}

/// The result of a future that waits for nothing: functions of a component are called at once.
fn ready<T>(future: impl Future<Output = T>) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => bail!("reading the state of an instance did not end at once"),
    }
}

// === impl InstanceState ===

impl InstanceState<'_> {
    /// The value that a function returns, as `then` takes it; after a failure the default.
    fn read<R: Lift + 'static, T: Default>(
        &mut self,
        instance: &str,
        function: &str,
        then: impl FnOnce(&Store<StoreData>, R) -> T,
    ) -> T {
        match self.call(instance, function) {
            Ok(value) => then(self.store, value),
            Err(error) => {
                self.failure.get_or_insert(error);
                T::default()
            }
        }
    }

    fn call<R: Lift + 'static>(&mut self, instance: &str, function: &str) -> Result<R> {
        let missing = || format_err!("the function {instance}#{function} is missing");
        let (_, interface) = self.instance.get_export(&mut *self.store, None, instance).ok_or_else(missing)?;
        let export = self.instance.get_export(&mut *self.store, Some(&interface), function);
        let (_, export) = export.ok_or_else(missing)?;
        let function = self.instance.get_typed_func::<(), (R,)>(&mut *self.store, export)?;
        Ok(function.call(&mut *self.store, ())?.0)
    }
}

impl ComponentInstanceState for InstanceState<'_> {
    async fn call_func_ret_list_u8(&mut self, instance: &str, func: &str, contents: impl FnOnce(&[u8]) + Send) {
        self.read(instance, func, |store, bytes: WasmList<u8>| contents(bytes.as_le_slice(store)));
    }

    async fn call_func_ret_s32(&mut self, instance: &str, func: &str) -> i32 {
        self.read(instance, func, |_, number| number)
    }

    async fn call_func_ret_s64(&mut self, instance: &str, func: &str) -> i64 {
        self.read(instance, func, |_, number| number)
    }

    async fn call_func_ret_f32(&mut self, instance: &str, func: &str) -> u32 {
        self.read(instance, func, |_, number: f32| number.to_bits())
    }

    async fn call_func_ret_f64(&mut self, instance: &str, func: &str) -> u64 {
        self.read(instance, func, |_, number: f64| number.to_bits())
    }
}
