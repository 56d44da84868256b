//! A directory of policies as operators, editors and kubelets change it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test says by a panic what is wrong")]

mod cel;
mod configmap;
mod facts;
mod fake;
mod fake_interpreter;
mod loading;
mod names;
mod reloading;
mod rollback;
mod sequences;
mod starting;
mod switching_off;
mod threads;
mod vanishing;
mod world;
