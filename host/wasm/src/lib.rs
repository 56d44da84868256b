//! The policy host: loads, lifts, bounds and calls WebAssembly guests.
