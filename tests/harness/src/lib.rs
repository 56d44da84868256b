//! Starts a real gateway for a test and talks to it.
