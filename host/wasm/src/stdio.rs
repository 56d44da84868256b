//! The standard input and output of one call of a program.

use std::{borrow::Cow, collections::HashSet, mem};

use plimsoll_core::{NodeRead, PodRead, Read, Value, View};
use wasmtime::Error;

use crate::{limits::MemoryLimiter, stop::Stop};

/// Maximum bytes of one read.
const MAX_READ: usize = 1 << 20;

/// Bytes of an answer to an empty request. An answer may contain each node of the request, encoded again, so this grows
/// with the request.
const MIN_OUTPUT: usize = 1 << 20;

/// Bytes of memory that a standard output gets at once, at least.
const OUTPUT_STEP: usize = 64 << 10;

/// Bytes of one word of the verb; see `componentize/command.wat`.
const WORD: usize = size_of::<u64>();

/// The standard input and output of one call.
pub(crate) struct ProgramStdio {
    verb: &'static str,
    input: Vec<u8>,
    /// Bytes of the input that were read.
    read: usize,
    output: Vec<u8>,
    /// Maximum bytes of the output.
    most: usize,
}

// === impl ProgramStdio ===

impl ProgramStdio {
    /// The request of a view as standard input.
    pub(crate) fn of(view: &View, verb: &'static str) -> Self {
        let input = request_of(view).into_bytes();
        let most = MIN_OUTPUT.saturating_add(input.len().saturating_mul(2));
        Self { verb, input, read: 0, output: Vec::new(), most }
    }

    /// Bytes of the input.
    pub(crate) fn input_len(&self) -> usize {
        self.input.len()
    }

    /// The next bytes of the input; none at its end.
    pub(crate) fn read(&mut self, most: usize) -> Vec<u8> {
        let rest = &self.input[self.read..];
        let bytes = rest[..rest.len().min(most).min(MAX_READ)].to_vec();
        self.read += bytes.len();
        bytes
    }

    /// Eight bytes of the verb, which is filled up with zeros.
    pub(crate) fn verb_word(&self, word: usize) -> u64 {
        let verb = self.verb.as_bytes();
        let bytes = verb.iter().skip(word.saturating_mul(WORD)).take(WORD);
        bytes.rev().fold(0, |value, byte| (value << 8) | u64::from(*byte))
    }

    /// The bytes that it may still write.
    fn room(&self) -> usize {
        self.most.saturating_sub(self.output.len())
    }

    /// Takes the output for one write of this many bytes, with memory for them; [`Self::put_output`] brings it back. So
    /// the bytes go from the memory of the guest to the output without another copy.
    ///
    /// # Errors
    /// If they are more than an answer may have, or there is no memory for them.
    pub(crate) fn take_output(&mut self, length: usize, limiter: &mut MemoryLimiter) -> wasmtime::Result<Vec<u8>> {
        if length > self.room() {
            let detail = format!("more than {} bytes on standard output", self.most);
            return Err(Error::new(Stop::Output(detail)));
        }
        let free = self.output.capacity() - self.output.len();
        if length > free {
            // Twice as much each time, so that a program may write in small pieces.
            let more = length.max(self.output.len()).max(OUTPUT_STEP).min(self.room());
            limiter.keep(more)?;
            self.output.reserve_exact(more);
        }
        Ok(mem::take(&mut self.output))
    }

    /// Brings the output back after a write.
    pub(crate) fn put_output(&mut self, output: Vec<u8>) {
        self.output = output;
    }

    /// The output so far.
    pub(crate) fn output(&self) -> &[u8] {
        &self.output
    }
}

/// The pod and each node of a view as `ExtenderArgs`, read in the way in which all policies read. A node that the request
/// names twice is there once, because an answer names a node once.
fn request_of(view: &View) -> String {
    // That there are these nodes and no others is read as well.
    let _ = view.read(Read::NodesCount);
    let mut names = HashSet::with_capacity(view.node_count());
    let distinct = (0..view.node_count() as u32).filter(|node| names.insert(view.node_name(*node)));
    let mut json = r#"{"Pod":"#.to_owned();
    json.push_str(&object(view, Read::Pod(PodRead::Field(""))));
    json.push_str(r#","Nodes":{"metadata":{},"items":["#);
    for (at, node) in distinct.enumerate() {
        json.push_str(if at == 0 { "" } else { "," });
        json.push_str(&object(view, Read::Node(node, NodeRead::Field(""))));
    }
    json.push_str(r#"]},"NodeNames":null}"#);
    json
}

/// The JSON of an object; an empty one where a test has made a pod without any.
fn object<'v>(view: &'v View, read: Read<'_>) -> Cow<'v, str> {
    match view.read(read) {
        Ok(Value::Text(text)) => text,
        _ => Cow::Borrowed("{}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_core::{Cluster, Node, Pod};

    use super::*;
    use crate::shares::{Charge, Pool};

    #[test]
    fn a_write_that_is_refused_takes_no_memory() {
        let mut limiter = MemoryLimiter::new(64 << 10, Charge::new(&Pool::new(1 << 42), None));
        let mut stdio = ProgramStdio::of(&View::empty("null".into()), "filter");
        for length in [1 << 19, 1 << 29] {
            assert!(stdio.take_output(length, &mut limiter).is_err());
            assert_eq!((stdio.output.capacity(), limiter.taken()), (0, 0));
        }
        let output = stdio.take_output(1, &mut limiter).unwrap();
        assert_eq!((output.capacity(), limiter.taken()), (OUTPUT_STEP, OUTPUT_STEP));
    }

    fn view(nodes: u32) -> View {
        let pod = Pod::from_json(r#"{"metadata":{"name":"p"}}"#.into()).unwrap();
        let node = |n: u32| {
            let json = format!(r#"{{"kind":"Node","metadata":{{"name":"n{n}","resourceVersion":"{n}"}}}}"#);
            Node::from_json(json.into()).unwrap()
        };
        let cluster = Cluster::from_objects((0..nodes).map(node).collect(), vec![]);
        View::new(Arc::new(pod), Arc::new(cluster), (0..nodes).collect(), 0)
    }

    /// The input, read in pieces of this many bytes.
    fn whole(view: &View, step: usize) -> String {
        let mut stdio = ProgramStdio::of(view, "filter");
        let mut bytes = Vec::new();
        loop {
            let read = stdio.read(step);
            assert!(read.len() <= step);
            if read.is_empty() {
                return String::from_utf8(bytes).unwrap();
            }
            bytes.extend(read);
        }
    }

    #[test]
    fn a_node_that_is_named_twice_is_in_the_request_once() {
        let node = |name: &str, label: &str| {
            let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"l":"{label}"}}}}}}"#);
            Node::from_json(json.into()).unwrap()
        };
        let nodes = vec![node("a", "1"), node("b", "2"), node("a", "3")];
        let cluster = Arc::new(Cluster::from_objects(nodes, vec![]));
        let view = |slots: &[u32]| View::new(Arc::new(Pod::default()), Arc::clone(&cluster), slots.into(), 0);
        let once = whole(&view(&[0, 1]), usize::MAX);
        for slots in [&[0, 0, 1][..], &[0, 1, 1, 0], &[0, 1, 2]] {
            assert_eq!(whole(&view(slots), 7), once, "{slots:?}");
        }
    }

    #[test]
    fn a_request_is_what_kube_scheduler_sends_without_the_fields_of_a_heartbeat() {
        let nodes = r#"{"metadata":{"name":"n0"}},{"metadata":{"name":"n1"}}"#;
        let expected = |nodes: &str| {
            format!(
                r#"{{"Pod":{{"metadata":{{"name":"p"}}}},"Nodes":{{"metadata":{{}},"items":[{nodes}]}},"NodeNames":null}}"#
            )
        };
        for step in [1, 7, 4096, usize::MAX] {
            assert_eq!(whole(&view(2), step), expected(nodes));
            assert_eq!(whole(&view(0), step), expected(""));
        }
    }
}
