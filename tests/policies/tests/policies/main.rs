//! What a policy answers natively it answers compiled: the sample policies and the SDK.

mod cases;
mod everything;
