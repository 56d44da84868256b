//! One instance of a policy's module: its settings, and the verbs that the host calls.

use std::sync::OnceLock;

use crate::{
    Candidate, Node, Nodes, Pod,
    abi::{self, BindReply, Call, List, Reply},
    export::Exported,
    settings,
};

/// The policy of this instance; its settings are read by the first call, `validate` or a verb.
pub struct Instance<P>(OnceLock<P>);

// === impl Instance ===

impl<P: Exported> Instance<P> {
    /// An instance whose settings were not read yet.
    #[expect(clippy::new_without_default, reason = "only `export!` makes one")]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The export `validate`.
    pub fn validate(&self) -> *const Reply {
        set_panic_hook();
        let call = Call::begin();
        // Kept: the host asks this of an instance before it asks the first verb.
        let read = settings::parse::<P>(call.host().host_settings()).map(|policy| self.0.get_or_init(|| policy));
        abi::reply(read.map(drop))
    }

    /// The export `filter`.
    pub fn filter(&self, node: u32) -> *const Reply {
        let call = Call::begin();
        abi::reply(verb(P::VERBS.filter)(self.policy(&call), &call.pod(), &Node::new(call.host(), node)))
    }

    /// The export `score`.
    pub fn score(&self, node: u32) -> u32 {
        let call = Call::begin();
        verb(P::VERBS.score)(self.policy(&call), &call.pod(), &Node::new(call.host(), node))
    }

    /// The export `rank`.
    pub fn rank(&self) -> *const List {
        let call = Call::begin();
        abi::numbers(verb(P::VERBS.rank)(self.policy(&call), &call.pod(), &Nodes::new(call.host())))
    }

    /// The export `preempt`.
    pub fn preempt(&self, candidate: u32) -> *const Reply {
        let call = Call::begin();
        let candidate = Candidate::new(call.host(), candidate);
        abi::reply(verb(P::VERBS.preempt)(self.policy(&call), &call.pod(), &candidate))
    }

    /// The export `bind`.
    pub fn bind(&self, node: u32) -> *const BindReply {
        let call = Call::begin();
        abi::bind_reply(verb(P::VERBS.bind)(self.policy(&call), &call.pod(), &Node::new(call.host(), node)))
    }

    fn policy(&self, call: &Call) -> &P {
        self.0.get_or_init(|| {
            set_panic_hook();
            // The host asked `validate` as it loaded the policy, and refused it then.
            settings::parse(call.host().host_settings()).unwrap_or_else(|error| {
                // Not a panic: its place in this file would say nothing to the operator.
                abi::panic(&format!("settings refused: {error}"));
                std::process::abort()
            })
        })
    }
}

/// The verb of a table; `export!` exports only those that are in it.
const fn verb<F: Copy>(own: Option<F>) -> F {
    match own {
        Some(verb) => verb,
        None => panic!("the verb is not exported"),
    }
}

/// Lets a panic end the call as a fault with the panic's text and place.
fn set_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.payload_as_str().unwrap_or("a panic without a text");
        match info.location() {
            Some(at) => abi::panic(&format!("{text}, at {}:{}", at.file(), at.line())),
            None => abi::panic(text),
        }
    }));
}

// === impl Call ===

impl Call {
    fn pod(&self) -> Pod<'_> {
        Pod::new(self.host())
    }
}
