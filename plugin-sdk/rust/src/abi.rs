//! The canonical ABI by hand: the only module with `unsafe`, and only in WebAssembly.
//!
//! ```text
//! host ── export ──> Call (rewinds the arena) ──> verb ──> HostCalls ── import ──> host
//!                                                               ^                    │ cabi_realloc
//!      <── Reply (static, kept until the next call) ──          └── &'call str <── Arena
//! ```
//!
//! A module has one thread and the host never enters it twice at once, so statics are not shared. Text
//! and lists that the host returns lie in the arena, which is rewound as the next call begins; a `HostCalls`
//! cannot outlive its [`Call`], and so neither can they.
//!
//! Layouts follow the Canonical ABI: text and lists are a pointer and a length, an option or variant is
//! a byte of tag and then its payload at the payload's alignment.
#![expect(unsafe_code, reason = "the canonical ABI is pointers into linear memory")]

mod arena;
mod call;
mod generated;
mod host_calls;
mod imports;
mod pod;
mod reply;
mod single;

pub(crate) use call::Call;
pub use call::realloc;
pub use host_calls::panic;
pub(crate) use host_calls::{HostCalls, log, now};
pub use reply::{BindReply, List, Reply};
pub(crate) use reply::{bind_reply, numbers, reply};
