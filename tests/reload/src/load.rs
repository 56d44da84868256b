//! Clients that ask without a pause, and look at every answer.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::Plimsoll;
use serde_json::{Value, json};

/// The number of nodes in each request.
pub const NODES: usize = 20;

/// The answers, counted.
#[derive(Debug, Default)]
pub struct Answers {
    /// The number of answers.
    pub count: usize,
    /// The number of answers by the reason of the policy; without a policy the reason is empty.
    pub by_reason: BTreeMap<String, usize>,
    /// The reason in the answer that came last.
    pub last: String,
    /// The longest that a client waited.
    pub longest: Duration,
    /// The error in the first bad answer.
    pub wrong: Option<String>,
}

/// Clients at work.
pub struct Load<'a> {
    gateway: &'a Plimsoll,
    request: Value,
    answers: Mutex<Answers>,
    stop: AtomicBool,
}

/// Ends the clients when it is dropped.
struct StopOnDrop<'s>(&'s AtomicBool);

// === impl Load ===

impl<'a> Load<'a> {
    /// Runs `work` while this many clients ask this gateway.
    pub fn run(gateway: &'a Plimsoll, clients: usize, work: impl FnOnce(&Self) -> Result<()>) -> Result<Answers> {
        let load = Self { gateway, request: request(), answers: Mutex::default(), stop: AtomicBool::new(false) };
        let worked = thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| load.ask_on());
            }
            // Also where the work panics: the scope waits for its threads.
            let _stop = StopOnDrop(&load.stop);
            work(&load)
        });
        let answers = load.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(wrong) = &answers.wrong {
            anyhow::bail!("after {} good answers: {wrong}", answers.count);
        }
        worked.map(|()| answers)
    }

    /// Looks at the answers so far; ends the test early if one was wrong.
    pub fn look<T>(&self, look: impl FnOnce(&mut Answers) -> T) -> Result<T> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wrong) = &answers.wrong {
            anyhow::bail!("{wrong}");
        }
        Ok(look(&mut answers))
    }

    /// Waits for this many more answers.
    pub fn wait_for_more(&self, count: usize) -> Result<()> {
        let wanted = self.look(|answers| answers.count)? + count;
        self.wait("more answers", |answers| answers.count >= wanted)
    }

    /// Waits for an answer with this reason.
    pub fn wait_for_reason(&self, reason: &str) -> Result<()> {
        self.wait(&format!("an answer of {reason}"), |answers| answers.last == reason)
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Answers) -> bool) -> Result<()> {
        plimsoll_harness::wait_until(what, || match self.look(|answers| is_so(answers)) {
            Ok(true) => Some(Ok(())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        })?
    }

    #[expect(clippy::disallowed_methods, reason = "a swap that stops requests shows in the longest answer")]
    fn ask_on(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let started = Instant::now();
            let reason = self.gateway.ask("/filter", &self.request).and_then(|reply| only_reason(&reply));
            let elapsed = started.elapsed();
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            match reason {
                Ok(reason) => answers.note(reason, elapsed),
                Err(error) => {
                    answers.wrong.get_or_insert(format!("{error:#}"));
                    return;
                }
            }
        }
    }
}

// === impl Answers ===

impl Answers {
    fn note(&mut self, reason: String, elapsed: Duration) {
        self.count += 1;
        self.longest = self.longest.max(elapsed);
        *self.by_reason.entry(reason.clone()).or_default() += 1;
        self.last = reason;
    }
}

/// The request that every client sends.
pub fn request() -> Value {
    let node = |number: usize| json!({"metadata": {"name": format!("n{number}")}});
    let nodes: Vec<Value> = (0..NODES).map(node).collect();
    let pod = json!({"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": {"containers": []}});
    json!({"Pod": pod, "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": null})
}

/// The reason that all nodes were rejected for; an answer with two reasons is one of two versions.
fn only_reason(reply: &Value) -> Result<String> {
    ensure!(reply["Error"] == "", "the decision failed: {reply}");
    let failed = reply["FailedAndUnresolvableNodes"].as_object().context("FailedNodes is no object")?;
    let kept = reply["Nodes"]["items"].as_array().map_or(0, Vec::len);
    ensure!(failed.len() + kept == NODES, "a node is missing: {reply}");
    let reasons: std::collections::BTreeSet<_> = failed.values().filter_map(Value::as_str).collect();
    ensure!(reasons.len() + usize::from(kept > 0) == 1, "two versions in one answer: {reply}");
    Ok(reasons.first().map_or_else(String::new, |reason| reason.rsplit(": ").next().unwrap_or(reason).to_owned()))
}

// === impl StopOnDrop ===

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
