//! The threads that read, compile and try policies: one that takes long holds up no other.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    thread,
};

use crate::load::{Order, Outcome, Workshop};

/// Most loads under way at once; compiles are bounded once more by the loader.
const MOST: usize = 8;

/// Most of these that load what may take long: a policy that is in force finds a thread even if many others do.
const MOST_PATIENT: usize = 6;

/// Idle threads that stay for the next order; to start another takes less than a thousandth of a load.
const MOST_IDLE: usize = 1;

/// Threads that carry out orders; dropping it lets each end with the order that it has.
pub(crate) struct Crew {
    shared: Arc<Shared>,
}

struct Shared {
    workshop: Workshop,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// For policies that are in force and have not failed before.
    prompt: VecDeque<Order>,
    patient: VecDeque<Order>,
    threads: usize,
    idle: usize,
    /// Patient orders under way.
    patient_busy: usize,
    is_closed: bool,
}

// === impl Crew ===

impl Crew {
    /// A crew without threads; they come with the orders.
    pub(crate) fn new(workshop: Workshop) -> Self {
        Self { shared: Arc::new(Shared { workshop, queue: Mutex::default(), changed: Condvar::new() }) }
    }

    /// Carries out an order; what comes of it is sent.
    pub(crate) fn take<E: From<Outcome> + Send + 'static>(&self, order: Order, done: &Sender<E>) {
        let mut queue = self.shared.queue();
        if order.is_patient {
            queue.patient.push_back(order);
        } else {
            queue.prompt.push_back(order);
        }
        if queue.idle < queue.waiting() && queue.threads < MOST {
            let (shared, sender) = (Arc::clone(&self.shared), done.clone());
            let name = "policy-loader".to_owned();
            if thread::Builder::new().name(name).spawn(move || shared.work(&sender)).is_ok() {
                queue.threads += 1;
            } else if queue.threads == 0 {
                // No thread can be had: the one that asks does it.
                drop(queue);
                self.shared.carry_out_all(done);
                return;
            }
        }
        drop(queue);
        self.shared.changed.notify_one();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.queue().is_closed = true;
        self.shared.changed.notify_all();
    }
}

// === impl Shared ===

impl Shared {
    fn work<E: From<Outcome>>(&self, done: &Sender<E>) {
        let mut queue = self.queue();
        while !queue.is_closed {
            let Some(order) = queue.next() else {
                if queue.idle >= MOST_IDLE {
                    // Their number follows the work, and is not that of the largest burst.
                    break;
                }
                queue.idle += 1;
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
                continue;
            };
            drop(queue);
            let is_patient = order.is_patient;
            let is_heard = done.send(self.carry_out(order).into()).is_ok();
            queue = self.queue();
            queue.patient_busy -= usize::from(is_patient);
            if !is_heard {
                break;
            }
        }
        queue.threads -= 1;
    }

    fn carry_out_all<E: From<Outcome>>(&self, done: &Sender<E>) {
        loop {
            let Some(order) = self.queue().next() else { return };
            let is_patient = order.is_patient;
            // Nobody who waits: nothing to tell.
            let _ = done.send(self.carry_out(order).into());
            self.queue().patient_busy -= usize::from(is_patient);
        }
    }

    /// A panic refuses the policy, and the thread goes on.
    fn carry_out(&self, order: Order) -> Outcome {
        let failed = Outcome::failed(&order);
        catch_unwind(AssertUnwindSafe(|| self.workshop.carry_out(order))).unwrap_or(failed)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Queue ===

impl Queue {
    fn next(&mut self) -> Option<Order> {
        let prompt = self.prompt.pop_front();
        if prompt.is_some() || self.patient_busy >= MOST_PATIENT {
            return prompt;
        }
        let patient = self.patient.pop_front()?;
        self.patient_busy += 1;
        Some(patient)
    }

    /// Orders that a thread could take up now.
    fn waiting(&self) -> usize {
        self.prompt.len() + self.patient.len().min(MOST_PATIENT.saturating_sub(self.patient_busy))
    }
}
