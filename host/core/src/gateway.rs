//! The gateway: holds the roster and the cluster in force; each request begins with one snapshot of both.

mod deciding;
mod refused;
mod revisit;
mod state;

pub use self::{
    deciding::Deciding,
    revisit::Wake,
    state::{DEFAULT_CACHE_BYTES, Gateway, PostReplyWork},
};
