//! What a policy answers natively it answers compiled: the sample policies and the SDK.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod cases;
mod everything;
mod licence_seats;
mod remembered;
