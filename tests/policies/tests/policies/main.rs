//! A policy gives the same answers natively and compiled: the sample policies and the SDK.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod assemblyscript;
mod c;
mod cel;
mod conformance;
mod documented;
mod go;
mod languages;
mod licence_seats;
mod python;
mod remembered;
mod rust;
mod samples;
mod typescript;
