//! The ways to fail, and the limits.

use std::hint::black_box;

use plimsoll_policy::prelude::*;

use super::topic::Topic;

/// Fails as the topic says, or reaches a limit without a fault.
pub(super) fn filter(topic: Topic, node: &Node) -> String {
    match topic {
        Topic::Trap => black_box(&[0_u8][..])[black_box(1)].to_string(),
        Topic::Recursion => recursion(black_box(0)).to_string(),
        Topic::Loop => loop {
            black_box(());
        },
        Topic::Memory => memory(),
        Topic::LongReason => "x".repeat(2000),
        // The types of this SDK have no node and no pod that does not exist.
        Topic::MissingNode | Topic::MissingPod => "impossible".to_owned(),
        Topic::ForeignSource => node.facts().text("foreign", "key").unwrap_or_default().to_owned(),
        Topic::Log => log_each_level(),
        Topic::LogFlood => {
            (0..10_000).for_each(|line| log::info!("line {line}"));
            "lines=10000".to_owned()
        }
        _ => panic!("no {} here", node.name()),
    }
}

fn log_each_level() -> String {
    log::debug!("é at level debug");
    log::info!("é at level info");
    log::warn!("é at level warn");
    log::error!("é at level error");
    "lines=4".to_owned()
}

fn memory() -> String {
    let mut kept = vec![];
    loop {
        kept.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// The array keeps the call from becoming a loop.
fn recursion(depth: u64) -> u64 {
    let own = black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { recursion(depth + 1) + own[(depth % 64) as usize] }
}
