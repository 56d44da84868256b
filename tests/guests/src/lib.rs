//! Guests, good and hostile, that the tests of the policy host run.
