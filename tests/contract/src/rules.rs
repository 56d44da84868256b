//! Policies as plain Rust: the recorded extender's rule, and what a test needs beside it.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use plimsoll_core::{
    Ask, BindAnswer, Fault, Member, MetadataEntry, Mode, NodeRead, NodeSource, PodRead, Policy, PolicyConfig,
    Preemption, Read, ReadSet, Value, Verb, Verbs, Verdict,
};

use crate::client::DEADLINE;

type Rule<A> = Box<dyn Fn(&Ask, u32) -> A + Send + Sync>;

/// A policy made of closures; it exports the verbs that it has one for.
#[derive(Default)]
pub struct Fake {
    filter: Option<Rule<Verdict>>,
    score: Option<Rule<u32>>,
    preempt: Option<Rule<Preemption>>,
    bind: Option<Rule<Result<Vec<MetadataEntry>, String>>>,
    imports: Vec<String>,
}

/// Holds calls until a test lets them go.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    entered: usize,
    open: bool,
}

/// The recorded extender's rule: pods labelled `needs: ssd` only run on nodes labelled
/// `disktype: ssd`, and `node-0000N` scores N + 4.
pub fn ssd() -> Fake {
    Fake::default()
        .filter(|ask, node| {
            let needs = text(ask, Read::Pod(PodRead::Label("needs")));
            let disk = text(ask, Read::Node(node, NodeRead::Label("disktype")));
            if needs == "ssd" && disk != "ssd" {
                Verdict::Unschedulable("node has no ssd".into())
            } else {
                Verdict::Fits
            }
        })
        .score(|ask, node| {
            let name = text(ask, Read::Node(node, NodeRead::Name));
            let number = name.bytes().last().map_or(0, |digit| u32::from(digit.saturating_sub(b'0')));
            10 * (number + 4).min(10)
        })
}

/// Turns every node down for good.
pub fn never() -> Fake {
    Fake::default().filter(|_, _| Verdict::Unresolvable("never".into()))
}

/// A member of the root group.
pub fn member(name: &str, policy: Fake) -> Arc<Member> {
    in_mode(Mode::Enforce, name, policy)
}

/// A member of the root group whose answers do not count.
pub fn shadow(name: &str, policy: Fake) -> Arc<Member> {
    in_mode(Mode::Shadow, name, policy)
}

fn in_mode(mode: Mode, name: &str, policy: Fake) -> Arc<Member> {
    let config = PolicyConfig { mode, timeout: DEADLINE, ..PolicyConfig::default() };
    Arc::new(Member::new("", name, config, Arc::new(policy)))
}

fn text(ask: &Ask, read: Read<'_>) -> String {
    match ask.view.read(read) {
        Ok(Value::Text(text)) => text.into_owned(),
        _ => String::new(),
    }
}

// === impl Fake ===

impl Fake {
    /// The same with a read that its module would import (`placed.count`).
    #[must_use]
    pub fn importing(mut self, read: &str) -> Self {
        self.imports.push(read.to_owned());
        self
    }

    /// The same with a filter.
    #[must_use]
    pub fn filter(mut self, rule: impl Fn(&Ask, u32) -> Verdict + Send + Sync + 'static) -> Self {
        self.filter = Some(Box::new(rule));
        self
    }

    /// The same with a score.
    #[must_use]
    pub fn score(mut self, rule: impl Fn(&Ask, u32) -> u32 + Send + Sync + 'static) -> Self {
        self.score = Some(Box::new(rule));
        self
    }

    /// The same with a preempt verb.
    #[must_use]
    pub fn preempt(mut self, rule: impl Fn(&Ask, u32) -> Preemption + Send + Sync + 'static) -> Self {
        self.preempt = Some(Box::new(rule));
        self
    }

    /// The same with a bind verb.
    #[must_use]
    pub fn bind(
        mut self,
        rule: impl Fn(&Ask, u32) -> Result<Vec<MetadataEntry>, String> + Send + Sync + 'static,
    ) -> Self {
        self.bind = Some(Box::new(rule));
        self
    }
}

impl Policy for Fake {
    fn verbs(&self) -> Verbs {
        let verbs = [
            self.filter.as_ref().map(|_| Verb::Filter),
            self.score.as_ref().map(|_| Verb::Score),
            self.preempt.as_ref().map(|_| Verb::Preempt),
            self.bind.as_ref().map(|_| Verb::Bind),
        ];
        verbs.into_iter().flatten().collect()
    }

    fn reads(&self) -> ReadSet {
        self.imports.iter().map(String::as_str).collect()
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        each(self.filter.as_ref().ok_or_else(|| self.lacks(Verb::Filter))?, ask, nodes);
        Ok(())
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        each(self.score.as_ref().ok_or_else(|| self.lacks(Verb::Score))?, ask, nodes);
        Ok(())
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        each(self.preempt.as_ref().ok_or_else(|| self.lacks(Verb::Preempt))?, ask, candidates);
        Ok(())
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<BindAnswer, Fault> {
        let answer = self.bind.as_ref().ok_or_else(|| self.lacks(Verb::Bind))?(ask, node);
        Ok(answer.map(Into::into).map_err(Into::into))
    }
}

fn each<A>(rule: &Rule<A>, ask: &Ask, items: &mut dyn NodeSource<A>) {
    while let Some(item) = items.next() {
        items.answer(rule(ask, item));
    }
}

// === impl Gate ===

impl Gate {
    /// A policy whose filter waits at the gate.
    pub fn policy(self: &Arc<Self>) -> Fake {
        let gate = Arc::clone(self);
        Fake::default().filter(move |ask, _| {
            gate.pass();
            // A policy that reads of the request as a whole is asked each time.
            drop(ask.view.read(Read::NodesCount));
            Verdict::Fits
        })
    }

    /// The number of calls that have come to the gate so far.
    pub fn entered(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).entered
    }

    /// Waits until this many calls have come to the gate; false if they do not.
    pub async fn reached(self: &Arc<Self>, calls: usize) -> bool {
        let gate = Arc::clone(self);
        tokio::task::spawn_blocking(move || gate.wait(|state| state.entered >= calls)).await.unwrap_or(false)
    }

    /// Lets every call go, now and later.
    pub fn open(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open = true;
        self.changed.notify_all();
    }

    /// Waits until the gate is open.
    pub fn pass(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).entered += 1;
        self.changed.notify_all();
        self.wait(|state| state.open);
    }

    fn wait(&self, until: impl Fn(&GateState) -> bool) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let patience: Duration = DEADLINE;
        let waited = self.changed.wait_timeout_while(state, patience, |state| !until(state));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}
