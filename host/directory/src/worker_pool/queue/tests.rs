use plimsoll_system::FileStamp;

use super::*;
use crate::scan::{File, PolicyId, Scan, Sources};

const MIB: u64 = 1 << 20;

fn module(name: &str) -> ModuleFile {
    ModuleFile { file: File { group: "".into(), name: name.into() }, stamp: FileStamp::Other }
}

fn job(name: &str, of: &str, is_slow: bool) -> Box<LoadJob> {
    Box::new(LoadJob {
        id: PolicyId { group: "".into(), name: name.into() },
        number: 0,
        version: 1,
        sources: Sources::default(),
        scan: Arc::new(Scan::default()),
        current: None,
        refused: vec![],
        may_restore: false,
        is_slow,
        is_retry: false,
        module: Some(module(of)),
    })
}

/// A job of a policy with a module of its own, of this many bytes.
fn job_of_size(group: &str, name: &str, length: u64, is_slow: bool) -> Box<LoadJob> {
    let stamp = FileStamp::File { length, modified: None, identity: plimsoll_system::FileIdentity::default() };
    let job = job(name, name, is_slow);
    let module = ModuleFile { stamp, ..module(name) };
    let scan = Arc::new(Scan { groups: ["".into(), group.into()].into(), ..Scan::default() });
    Box::new(LoadJob { id: PolicyId { group: group.into(), ..job.id }, module: Some(module), scan, ..*job })
}

/// Starts jobs until none may start, and returns the names of their policies.
fn started(queue: &mut JobQueue) -> Vec<String> {
    std::iter::from_fn(|| queue.next()).map(|(job, _)| name_of(&job)).collect()
}

fn name_of(job: &Job) -> String {
    match job {
        Job::Load(job) => job.id.name.to_string(),
        Job::Check(_) => "a check".to_owned(),
    }
}

/// Runs all jobs, each to its end before the next one of a full class starts; returns them in the order of their starts.
fn run_all(queue: &mut JobQueue) -> Vec<String> {
    let (mut order, mut running) = (Vec::new(), VecDeque::new());
    loop {
        while let Some((job, permit)) = queue.next() {
            order.push(name_of(&job));
            running.push_back(permit);
        }
        let Some(permit) = running.pop_front() else { return order };
        queue.end(permit);
    }
}

#[test]
fn policies_of_a_module_that_took_long_come_last_and_two_at_a_time() {
    for is_slow in [false, true] {
        let mut queue = JobQueue::default();
        for name in ["a", "b", "c"] {
            queue.insert(Job::Load(job(name, "long.wasm", is_slow)));
        }
        queue.insert(Job::Load(job("other", "other.wasm", is_slow)));
        queue.note_long(Some(module("long.wasm")));
        assert_eq!(started(&mut queue), ["other", "a", "b"], "{is_slow}");
        let class = LoadClass::of(&job("a", "long.wasm", is_slow));
        queue.end(JobPermit::Load { class, group: "".into(), is_long: true });
        assert_eq!(started(&mut queue), ["c"], "{is_slow}");
    }
}

#[test]
fn a_module_with_another_content_is_another_one() {
    let mut queue = JobQueue::default();
    let old = ModuleFile { stamp: FileStamp::Dangling, ..module("long.wasm") };
    queue.note_long(Some(old));
    for name in ["a", "b", "c"] {
        queue.insert(Job::Load(job(name, "long.wasm", false)));
    }
    assert_eq!(started(&mut queue), ["a", "b", "c"]);
}

#[test]
fn many_modules_of_one_group_delay_a_larger_one_of_another_by_one_at_a_time() {
    for is_slow in [false, true] {
        for (size, other) in [(100, 200), (100, 2 * MIB), (2 * MIB, 3 * MIB)] {
            let mut queue = JobQueue::default();
            for number in 0..40 {
                queue.insert(Job::Load(job_of_size("many", &format!("m{number}"), size, is_slow)));
            }
            for name in ["x", "y"] {
                queue.insert(Job::Load(job_of_size("few", name, other, is_slow)));
            }
            let order = run_all(&mut queue);
            let at = |name: &str| order.iter().position(|other| other == name).unwrap();
            assert!(at("x") <= 1 && at("y") <= 3, "{is_slow} {size} {other}: {order:?}");
        }
    }
}

#[test]
fn small_modules_of_one_group_leave_places_for_two_more_groups() {
    for (is_slow, places) in [(false, [4, 2, 1]), (true, [3, 2, 1])] {
        let mut queue = JobQueue::default();
        for (group, places) in ["a", "b", "c"].into_iter().zip(places) {
            for number in 0..20 {
                queue.insert(Job::Load(job_of_size(group, &format!("{group}{number}"), 1, is_slow)));
            }
            // Those before have what they get.
            assert_eq!(queue.startable(), places, "{is_slow} {group}");
            let started = started(&mut queue);
            assert!(started.len() == places && started.iter().all(|name| name.starts_with(group)), "{started:?}");
        }
        let mut queue = JobQueue::default();
        for number in 0..20 {
            queue.insert(Job::Load(job_of_size("", &format!("m{number}"), 1, is_slow)));
        }
        assert_eq!(started(&mut queue).len(), if is_slow { MAX_SLOW } else { MAX_URGENT }, "without groups");
    }
}

#[test]
fn in_one_group_a_larger_module_is_overtaken_by_one_more_than_came_before_it() {
    let mut queue = JobQueue::default();
    queue.insert(Job::Load(job_of_size("", "first", 200, true)));
    queue.insert(Job::Load(job_of_size("", "second", 200, true)));
    for number in 0..40 {
        queue.insert(Job::Load(job_of_size("", &format!("m{number}"), 100, true)));
    }
    assert_eq!(run_all(&mut queue)[..4], ["m0", "first", "m1", "second"]);
}

#[test]
fn each_class_has_its_bound_and_leaves_threads_for_the_others() {
    let mut queue = JobQueue::default();
    for is_slow in [true, false] {
        for (kind, size) in [("large", 2 * MIB), ("small", 1)] {
            for number in 0..20 {
                let group = format!("g{number}");
                queue.insert(Job::Load(job_of_size(&group, &format!("{kind}-{is_slow}-{number}"), size, is_slow)));
            }
        }
    }
    assert_eq!(queue.startable(), MAX_URGENT + MAX_SLOW);
    let started = started(&mut queue);
    let count = |prefix: &str| started.iter().filter(|name| name.starts_with(prefix)).count();
    assert_eq!([count("large-false"), count("small-false")], [MAX_LARGE, MAX_URGENT - MAX_LARGE]);
    assert_eq!([count("large-true"), count("small-true")], [MAX_LARGE, MAX_SLOW - MAX_LARGE]);
    assert!(started[..MAX_URGENT].iter().all(|name| name.contains("false")), "those in force first");
    assert_eq!(queue.startable(), 0);
    // A small module in force finds a thread whatever runs, and so does a new policy.
    const { assert!(MAX_SLOW + MAX_CHECKS + MAX_LARGE < MAX_THREADS && MAX_URGENT + MAX_CHECKS < MAX_THREADS) };
}

#[test]
fn those_that_were_refused_before_come_last() {
    let mut queue = JobQueue::default();
    for (name, size) in [("large-retry", 2 * MIB), ("retry", 1)] {
        let job = job_of_size("", name, size, true);
        queue.insert(Job::Load(Box::new(LoadJob { is_retry: true, ..*job })));
    }
    for (name, size) in [("large", 2 * MIB), ("small", 2)] {
        queue.insert(Job::Load(job_of_size("", name, size, true)));
    }
    queue.insert(Job::Load(job_of_size("", "in force", 3, false)));
    assert_eq!(started(&mut queue), ["in force", "large", "small", "large-retry", "retry"]);
}
