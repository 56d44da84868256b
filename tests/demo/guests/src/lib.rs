//! Policies that exist for the demo alone: two versions of `zone-drain`, and one that crashes.
//!
//! Each example is a policy of its own.
