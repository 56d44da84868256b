use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    time::Duration,
};

use plimsoll_cluster::{SnapshotError, SnapshotWatch, watch_snapshot};
use plimsoll_core::Cluster;

use super::{NODE, PATIENCE, Written, write};

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

#[test]
fn a_bad_snapshot_or_none_is_an_error_and_the_next_good_one_is_published() {
    let (file, _watch, published) = watch(NODE);
    let break_it: [fn(&Path); 2] = [|path| fs::write(path, "{").unwrap(), |path| fs::remove_file(path).unwrap()];
    for (break_it, zone) in break_it.into_iter().zip(["z2", "z3"]) {
        break_it(&file.path);
        while published.recv_timeout(PATIENCE).expect("an update").is_ok() {}
        fs::write(&file.path, NODE.replace("z1", zone)).unwrap();
        wait_for_zone(&published, zone);
    }
}

#[test]
fn a_dropped_watch_publishes_no_more() {
    let (file, watch, published) = watch(NODE);
    drop(watch);
    fs::write(&file.path, NODE.replace("z1", "z2")).unwrap();
    // It ends when the publisher is gone with its thread.
    assert!(published.iter().count() < 2);
}
