//! The scheduler-extender wire and the admin listener.
