//! The watched directory: policies and sidecars become a roster.
