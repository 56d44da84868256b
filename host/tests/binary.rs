//! The tests of other packages start the binary that cargo builds for this one.

use std::path::Path;

#[test]
fn the_binary_that_tests_start_is_the_one_just_built() {
    assert_eq!(plimsoll_harness::binary(), Path::new(env!("CARGO_BIN_EXE_plimsoll")));
}
