//! The network between the processes and the API server: it delays, loses and repeats.

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::{
    LEASE, MILLISECOND, World,
    event::{Request, SimulationEvent, Watch},
    micros,
};
use crate::simulation::{
    api::{ApiReply, refusal},
    process::{Back, Sent, stream, whole},
};

impl World {
    /// A request leaves a process.
    pub(super) fn send(&mut self, at: u64, identity: String, sent: Sent) {
        self.tally.requests += 1;
        let Sent { method, target, body, is_fenced, reply } = sent;
        let mut request = Request { method, target, body, is_fenced, reply: Some(reply) };
        if self.is_trouble(2) {
            self.lose(at, request.reply.take());
            // It never arrives, or only its answer is lost.
            if self.chance.percent(50) {
                return;
            }
        }
        let there = self.delay(is_fenced);
        if self.is_trouble(6) {
            let Request { method, target, body, .. } = &request;
            let twin =
                Request { method: method.clone(), target: target.clone(), body: body.clone(), is_fenced, reply: None };
            let before = self.chance.below(there);
            self.at(at + before, SimulationEvent::Arrive { identity: identity.clone(), sent: twin });
        }
        self.at(at + there, SimulationEvent::Arrive { identity, sent: request });
    }

    /// A request is carried out, or refused.
    pub(super) fn arrive(&mut self, identity: &str, request: Request) {
        let Request { method, target, body, is_fenced, reply } = request;
        if target.contains("watch=true") {
            return self.open(&target, reply);
        }
        let fails = self.is_trouble(4);
        let is_before = self.chance.percent(50);
        let answer = if fails && is_before {
            refusal(if self.chance.percent(50) { 500 } else { 504 }, "it is down")
        } else {
            let answer = self.api.answer(identity, &method, &target, &body);
            let status = answer.0;
            self.tell(self.now, || {
                format!("{identity}: {method} {target} {}: {status}", String::from_utf8_lossy(&body))
            });
            self.tally.binds += u64::from(is_fenced && answer.0 == 201);
            self.happened();
            if fails { refusal(500, "it gave up") } else { answer }
        };
        let Some(reply) = reply else { return };
        if self.is_trouble(4) {
            return self.lose(self.now, Some(reply));
        }
        self.reply(reply, &answer);
    }

    pub(super) fn reply(&mut self, reply: oneshot::Sender<Back>, answer: &ApiReply) {
        let back = self.delay(false);
        self.at(self.now + back, SimulationEvent::Return(reply, Ok(whole(answer.0, &answer.1))));
    }

    /// A reply that does not come: the connection breaks, or nothing is ever heard.
    pub(super) fn lose(&mut self, at: u64, reply: Option<oneshot::Sender<Back>>) {
        let Some(reply) = reply else { return };
        if self.chance.percent(50) {
            self.lost.push(reply);
        } else {
            let back = self.delay(false);
            self.at(at + back, SimulationEvent::Return(reply, Err("the connection broke")));
        }
    }

    /// The delay of a message. On a fenced connection the kernel drops it after a ninth of the Lease, and
    /// the API server after two more ninths.
    pub(super) fn delay(&mut self, is_fenced: bool) -> u64 {
        let quick = MILLISECOND + self.chance.below(5 * MILLISECOND);
        if !self.is_trouble(3) {
            quick
        } else if is_fenced {
            self.chance.below(micros(LEASE) / 3).max(1)
        } else {
            self.chance.below(3 * micros(LEASE)).max(1)
        }
    }

    pub(super) fn open(&mut self, target: &str, reply: Option<oneshot::Sender<Back>>) {
        let Some(reply) = reply else { return };
        if self.is_trouble(4) {
            let answer = refusal(410, "too old");
            return self.reply(reply, &answer);
        }
        let (lines, received) = mpsc::unbounded_channel();
        let from = target.split("resourceVersion=").nth(1).and_then(|rest| rest.split('&').next());
        let shown = from.and_then(|from| from.parse().ok()).unwrap_or_default();
        let back = self.delay(false);
        self.at(self.now + back, SimulationEvent::Return(reply, Ok(stream(received))));
        let lag = if !self.chance.percent(self.lagging) {
            Some(MILLISECOND)
        } else if self.chance.percent(70) {
            Some(self.chance.below(20_000) * MILLISECOND)
        } else {
            None
        };
        self.next_watch += 1;
        let number = self.next_watch;
        if target.starts_with("/api/v1/pods") {
            self.watches.insert(number, Watch { lines, shown, lag });
            if let Some(lag) = lag {
                self.at(self.now + back + lag, SimulationEvent::Show(number));
            }
        } else {
            self.watches.insert(number, Watch { lines, shown: u64::MAX, lag: None });
        }
        if self.is_trouble(2) {
            let end = self.now + self.chance.below(10_000) * MILLISECOND;
            self.at(end, SimulationEvent::Cut(number));
        }
    }

    /// Something changed: each watch shows it when it does.
    pub(super) fn happened(&mut self) {
        let Some(last) = self.api.log.last().map(|happened| happened.version) else { return };
        let behind = self.watches.iter().filter(|(_, watch)| watch.shown < last);
        let behind: Vec<(u64, u64)> = behind.filter_map(|(number, watch)| Some((*number, watch.lag?))).collect();
        for (number, lag) in behind {
            self.at(self.now + lag, SimulationEvent::Show(number));
        }
    }

    pub(super) fn show(&mut self, number: u64) {
        let Some(watch) = self.watches.get_mut(&number) else { return };
        let Some(lag) = watch.lag else { return };
        for happened in &self.api.log {
            if happened.version > watch.shown && happened.at + lag <= self.now {
                watch.shown = happened.version;
                let is_open = watch.lines.send(Bytes::from(happened.line.clone())).is_ok();
                if !is_open {
                    self.watches.remove(&number);
                    return;
                }
            }
        }
    }
}
