//! The policy host, tried by guests.

mod cache;
mod hostile;
mod lift;
mod limits;
mod loader;
