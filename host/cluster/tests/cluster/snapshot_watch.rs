use std::{
    fs,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    time::Duration,
};

use plimsoll_cluster::{SnapshotError, SnapshotWatch, watch_snapshot};
use plimsoll_core::Cluster;

use super::{NODE, Written, write};

const PATIENCE: Duration = Duration::from_secs(20);

type Published = Receiver<Result<Arc<Cluster>, SnapshotError>>;

fn watch(text: &str) -> (Written, SnapshotWatch, Published) {
    let file = write("s.json", text);
    let (publish, published) = mpsc::channel();
    let publish = move |news| drop(publish.send(news));
    let watch = watch_snapshot(file.path.clone(), Duration::from_millis(5), publish).unwrap();
    assert!(published.try_recv().unwrap().is_ok());
    (file, watch, published)
}

/// Waits until the zone of the only node is this. A file that is written in place may be seen empty before.
fn wait_for_zone(published: &Published, zone: &str) {
    let is_there = |cluster: Arc<Cluster>| cluster.slots()[0].node.labels().get("zone") == Some(zone);
    while !published.recv_timeout(PATIENCE).expect("an update").is_ok_and(is_there) {}
}

#[test]
fn a_changed_snapshot_is_published() {
    let (file, _watch, published) = watch(NODE);
    fs::write(&file.path, NODE.replace("z1", "z2")).unwrap();
    wait_for_zone(&published, "z2");
    let beside = file.path.with_extension("new");
    fs::write(&beside, NODE.replace("z1", "z3")).unwrap();
    fs::rename(&beside, &file.path).unwrap();
    wait_for_zone(&published, "z3");
}

/// The file is young, so the watch reads it again; then the test rewrites it with the same content.
#[test]
fn a_snapshot_with_the_same_content_is_no_news() {
    let (file, _watch, published) = watch(NODE);
    assert!(published.recv_timeout(Duration::from_millis(200)).is_err(), "after dozens of looks");
    let beside = file.path.with_extension("new");
    fs::write(&beside, NODE).unwrap();
    fs::rename(&beside, &file.path).unwrap();
    assert!(published.recv_timeout(Duration::from_millis(200)).is_err(), "after dozens of looks");
    fs::write(&beside, NODE.replace("z1", "z2")).unwrap();
    fs::rename(&beside, &file.path).unwrap();
    wait_for_zone(&published, "z2");
}

#[test]
fn a_bad_snapshot_is_an_error_and_the_next_good_one_is_published() {
    let (file, _watch, published) = watch(NODE);
    fs::write(&file.path, "{").unwrap();
    while published.recv_timeout(PATIENCE).expect("an update").is_ok() {}
    fs::write(&file.path, NODE.replace("z1", "z2")).unwrap();
    wait_for_zone(&published, "z2");
}

#[test]
fn a_snapshot_that_is_gone_is_told_and_found_again() {
    let (file, _watch, published) = watch(NODE);
    fs::remove_file(&file.path).unwrap();
    while published.recv_timeout(PATIENCE).expect("an update").is_ok() {}
    fs::write(&file.path, NODE.replace("z1", "z2")).unwrap();
    wait_for_zone(&published, "z2");
}

#[test]
fn a_dropped_watch_publishes_no_more() {
    let (file, watch, published) = watch(NODE);
    drop(watch);
    fs::write(&file.path, NODE.replace("z1", "z2")).unwrap();
    while published.try_recv().is_ok() {}
    assert!(published.recv().is_err(), "the publisher is gone with its thread");
}
