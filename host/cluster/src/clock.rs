//! Time and random numbers of this crate. All code here waits and reads the clock through this module, so
//! that the simulation can run the very same tasks on simulated clocks.

#[cfg(test)]
pub(crate) mod paused;

use std::{
    future::Future,
    time::{Duration, Instant},
};

/// The time limit was reached.
#[derive(Debug)]
pub(crate) struct Elapsed;

/// The current time.
pub(crate) fn now() -> Instant {
    #[cfg(test)]
    if let Some(now) = paused::now() {
        return now;
    }
    Instant::now()
}

/// Any number. The standard library's hashers are keyed from the system's source of randomness.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    #[cfg(test)]
    if let Some(number) = paused::random() {
        return number;
    }
    RandomState::new().hash_one(std::process::id())
}

/// A random number from 0 to 1.
pub(crate) fn random_part() -> f64 {
    f64::from(random() as u32) / f64::from(u32::MAX)
}

/// Waits until this moment.
pub(crate) async fn sleep_until(at: Instant) {
    #[cfg(test)]
    if let Some(sleep) = paused::sleep_until(at) {
        return sleep.await;
    }
    #[expect(clippy::disallowed_methods, reason = "the one place that waits")]
    tokio::time::sleep_until(at.into()).await;
}

/// Waits.
pub(crate) async fn sleep(duration: Duration) {
    sleep_until(now() + duration).await;
}

/// The output of a future, if it has one by this moment.
pub(crate) async fn timeout_at<F: Future>(at: Instant, future: F) -> Result<F::Output, Elapsed> {
    tokio::select! {
        biased;
        output = future => Ok(output),
        () = sleep_until(at) => Err(Elapsed),
    }
}

/// The output of a future, if it has one within this time.
pub(crate) async fn timeout<F: Future>(within: Duration, future: F) -> Result<F::Output, Elapsed> {
    timeout_at(now() + within, future).await
}
