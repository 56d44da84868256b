//! The promises of the cache, one by one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod toy;

use std::sync::{Arc, atomic::Ordering};

use plimsoll_decision_cache::{Branch, DecisionTree, Disabled, Evaluation, Evict, RecentCombined, Row, evict_to};

use self::toy::{By, Cache, KEYS, Of, Reads, Snapshot, World, ask, ask_with_witnesses};

fn world(rows: usize, cells: impl Fn(usize) -> i64) -> World {
    let rows = (0..rows).map(|row| [cells(row); KEYS as usize]).collect();
    World { subject: [1; KEYS as usize], snapshot: Arc::new(Snapshot::new(rows)) }
}

fn all(world: &World) -> Vec<Row> {
    (0..world.snapshot.rows.len() as Row).collect()
}

/// The number of rows that were evaluated to answer about all of them.
fn evaluated(cache: &Cache, world: &World, function: impl FnMut(&Reads<'_>) -> String) -> usize {
    ask(cache, world, &all(world), By::RowClass, function).unwrap().1
}

#[test]
fn a_function_is_evaluated_once_for_each_combination_of_values() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| (reads.read(&Of::Subject(0)) + reads.read(&Of::Row(0))).to_string();
    let mut world = world(100, |row| row as i64 % 4);
    assert_eq!(evaluated(&cache, &world, function), 4);
    assert_eq!(evaluated(&cache, &world, function), 0);
    world.subject[1] = 9;
    assert_eq!(evaluated(&cache, &world, function), 0, "it does not read that");
    world.subject[0] = 9;
    assert_eq!(evaluated(&cache, &world, function), 4);
}

#[test]
fn a_subject_that_reads_more_than_the_one_before_is_not_answered_by_the_classes_of_that_one() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| {
        let more = if reads.read(&Of::Subject(0)) == 2 { reads.read(&Of::Row(1)) } else { 0 };
        (reads.read(&Of::Row(0)) + 10 * more).to_string()
    };
    let row = |row: i64| [row % 2, row % 3, 0, 0, 0, 0, 0, 0];
    let snapshot = Arc::new(Snapshot::new((0..12).map(row).collect()));
    let mut world = World { subject: [1; KEYS as usize], snapshot };
    assert_eq!((evaluated(&cache, &world, function), evaluated(&cache, &world, function)), (2, 0));
    world.subject[0] = 2;
    let (answers, evaluated) = ask(&cache, &world, &all(&world), By::RowClass, function).unwrap();
    assert_eq!(answers, (0..12).map(|row| (row % 2 + 10 * (row % 3)).to_string()).collect::<Vec<_>>());
    assert_eq!(evaluated, 6);
}

#[test]
fn subject_classes_share_the_row_classes_that_one_of_them_had_numbered_again() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| (reads.read(&Of::Subject(0)) + reads.read(&Of::Row(0))).to_string();
    let mut world = world(80, |row| row as i64);
    let of_subject = |world: &World, subject| World { subject: [subject; KEYS as usize], ..world.clone() };
    for subject in 1..4 {
        let world = of_subject(&world, subject);
        let again = [evaluated(&cache, &world, function), evaluated(&cache, &world, function)];
        assert_eq!(again[1], 0);
    }
    let share_row_classes = |world: &World| {
        let known = |subject| cache.lookup(&of_subject(world, subject));
        let recent = RecentCombined::default();
        let combined = |subject| recent.get([&known(subject)].into_iter()).is_some();
        // The first request for a list only notes it.
        (combined(1), combined(1), combined(2), combined(3)) == (false, true, true, true)
    };
    assert!(share_row_classes(&world));
    // More values than there is room for: only subject 1 is asked about meanwhile.
    for step in 1..20 {
        let cells = |row: i64| [step * 100 + row; KEYS as usize];
        world.snapshot = Arc::new(world.snapshot.next((0..80).map(cells).collect()));
        assert!(cache.lookup(&of_subject(&world, 1)).has_row_classes());
    }
    assert!(share_row_classes(&world));
}

#[test]
fn only_the_rows_that_are_asked_about_are_read() {
    let (cache, world) = (Cache::default(), world(1_000, |row| row as i64 % 4));
    let some: Vec<Row> = (0..1_000).step_by(10).collect();
    let function = |reads: &Reads<'_>| reads.read(&Of::Row(0)).to_string();
    let (answers, evaluated) = ask(&cache, &world, &some, By::RowClass, function).unwrap();
    assert_eq!((answers[1].as_str(), answers.len(), evaluated), ("2", 100, 2));
    assert_eq!(world.snapshot.fingerprints.load(Ordering::Relaxed), 100, "each once, and none of the other rows");
}

#[test]
fn a_row_that_is_not_asked_about_is_read_by_no_walk_of_the_trie() {
    let (cache, mut world) = (Cache::default(), world(1_000, |row| row as i64 % 4));
    let some: Vec<Row> = (0..1_000).step_by(100).collect();
    // More values of the snapshot than a table may depend on.
    let function = |reads: &Reads<'_>| {
        let counts: i64 = (0..70).map(|value| reads.read(&Of::Count(1, value))).sum();
        (counts + reads.read(&Of::Row(0))).to_string()
    };
    assert_eq!(ask(&cache, &world, &some, By::Row, function).unwrap().1, 1);
    world.snapshot = Arc::new(Snapshot::new(world.snapshot.rows.clone()));
    assert_eq!(ask(&cache, &world, &some, By::Row, function).unwrap().1, 0);
    assert_eq!(world.snapshot.fingerprints.load(Ordering::Relaxed), some.len());
}

#[test]
fn no_row_is_read_where_all_are_known_to_have_one_value() {
    let (cache, world) = (Cache::default(), world(1_000, |_| 7));
    let function = |reads: &Reads<'_>| reads.read(&Of::Row(0)).to_string();
    assert_eq!(evaluated(&cache, &world, function), 1);
    assert_eq!(world.snapshot.fingerprints.load(Ordering::Relaxed), 0);
    let DecisionTree::Read(_, branches) = cache.decision_tree(&world).unwrap() else { panic!("the row is read") };
    assert_eq!(branches.iter().map(|branch| branch.value).collect::<Vec<_>>(), [Some(7)]);
}

#[test]
fn attributes_named_by_the_subject_are_unlimited() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| {
        let team = reads.read(&Of::Subject(0)) as u64;
        (reads.read(&Of::Named(team)) + reads.read(&Of::Row(0))).to_string()
    };
    let mut world = world(10, |row| row as i64 % 2);
    for team in 0..2_000 {
        world.subject[0] = team;
        assert_eq!(evaluated(&cache, &world, function), 2, "team {team} is new");
    }
    for team in 0..2_000 {
        world.subject[0] = team;
        assert_eq!(evaluated(&cache, &world, function), 0, "team {team} is known");
    }
    assert_eq!(cache.disabled(), None);
}

#[test]
fn an_attribute_of_rows_has_a_column_however_many_the_snapshot_has() {
    let (cache, world) = (Cache::default(), world(400, |row| row as i64 + 1));
    let function = |reads: &Reads<'_>| {
        let cell = reads.read(&Of::Row(0));
        let count = reads.read(&Of::Count(0, cell));
        // The row that is evaluated last.
        let more = if cell == 1 { reads.read(&Of::Row(1)) } else { 0 };
        (count + more).to_string()
    };
    assert_eq!(evaluated(&cache, &world, function), 400);
    let columns = format!("{:?}", world.snapshot.columns());
    assert!(columns.contains("Row(0)") && columns.contains("Row(1)"), "{columns}");
    assert_eq!(evaluated(&cache, &world, function), 0);
}

#[test]
fn the_names_that_rows_are_told_apart_by_are_charged() {
    let cache = Cache::default();
    let mut world = world(10, |row| row as i64 % 2);
    let long = Of::RowText("k".repeat(500_000));
    let function = |reads: &Reads<'_>| reads.read(&long).to_string();
    evaluated(&cache, &world, function);
    assert!(cache.bytes() > 1_000_000, "the subject class and the row classes own the name: {}", cache.bytes());
    world.snapshot = Arc::new(world.snapshot.next(vec![[5; KEYS as usize]; 10]));
    evaluated(&cache, &world, function);
    assert!(cache.bytes() > 1_000_000, "{}", cache.bytes());
    evict_to(&[&cache], 0);
    assert_eq!(cache.bytes(), 0);
}

#[test]
fn attributes_named_by_rows_are_unlimited() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| {
        let name = reads.read(&Of::Row(0)) as u64;
        reads.read(&Of::RowNamed(name)).to_string()
    };
    let mut world = world(3_000, |row| row as i64 + 1);
    assert_eq!(evaluated(&cache, &world, function), 3_000);
    assert_eq!(evaluated(&cache, &world, function), 0);
    let mut rows = world.snapshot.rows.clone();
    rows[7] = [5_000; KEYS as usize];
    world.snapshot = Arc::new(world.snapshot.next(rows));
    assert_eq!(evaluated(&cache, &world, function), 1);
    let bytes = world.snapshot.columns().bytes();
    assert!(bytes < 512 * 3_000 * 9, "{bytes} bytes: not a column for each of 3,000 attributes");
}

#[test]
fn a_class_whose_attributes_become_too_many_keeps_those_of_the_last_call() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| {
        let first = reads.read(&Of::Row(0)) as u64;
        (0..15).map(|name| reads.read(&Of::RowNamed(first * 16 + name))).sum::<i64>().to_string()
    };
    let (first, second) = (world(600, |row| row as i64 + 1), world(600, |row| row as i64 + 1_001));
    assert_eq!((evaluated(&cache, &first, function), evaluated(&cache, &first, function)), (600, 0));
    assert_eq!((evaluated(&cache, &second, function), evaluated(&cache, &second, function)), (600, 0));
    assert_eq!(evaluated(&cache, &first, function), 600, "18,000 attributes are too many for a class");
}

#[test]
fn a_count_that_changes_affects_only_the_rows_that_read_it() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| {
        let pool = reads.read(&Of::Row(0));
        reads.read(&Of::Count(1, pool)).to_string()
    };
    // 400 pools: more counts than a table may have attributes of rows.
    let mut world = world(1_200, |row| row as i64 % 400 + 1);
    assert_eq!(evaluated(&cache, &world, function), 400);
    assert_eq!(evaluated(&cache, &world, function), 0);
    let mut rows = world.snapshot.rows.clone();
    rows[0][1] = 1_000;
    world.snapshot = Arc::new(world.snapshot.next(rows.clone()));
    assert_eq!(evaluated(&cache, &world, function), 1, "the count of the first pool is another");
    rows[0][1] = 1;
    world.snapshot = Arc::new(world.snapshot.next(rows));
    assert_eq!(evaluated(&cache, &world, function), 0, "it is as it was");
}

#[test]
fn of_a_count_for_each_row_only_those_of_the_rows_that_are_asked_about_are_read() {
    let (cache, mut world) = (Cache::default(), world(1_000, |row| row as i64 + 1));
    let function = |reads: &Reads<'_>| {
        let name = reads.read(&Of::Row(0));
        reads.read(&Of::Count(0, name)).to_string()
    };
    assert_eq!(evaluated(&cache, &world, function), 1_000);
    world.snapshot = Arc::new(world.snapshot.next(world.snapshot.rows.clone()));
    let some: Vec<Row> = (0..1_000).step_by(100).collect();
    let (answers, evaluated) = ask(&cache, &world, &some, By::RowClass, function).unwrap();
    assert_eq!((answers, evaluated), (vec!["1".to_owned(); 10], 0));
    let read = world.snapshot.shared_fingerprints.load(Ordering::Relaxed);
    assert_eq!(read, 20, "by the look-up, and by the witnesses of its answers");
}

/// A function reads `counts` values of the snapshot and `of_row` values of a row. Then a cell of one row changes that it
/// does not read. Returns the number of rows that are evaluated.
fn evaluated_after_another_change(counts: i64, of_row: u64) -> usize {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| {
        let counts: i64 = (0..counts).map(|value| reads.read(&Of::Count(0, value))).sum();
        let of_row: i64 = (0..of_row).map(|name| reads.read(&Of::RowNamed(name * KEYS))).sum();
        (counts + of_row).to_string()
    };
    let mut world = world(3, |_| 0);
    evaluated(&cache, &world, function);
    let mut rows = world.snapshot.rows.clone();
    rows[1][7] = 9;
    world.snapshot = Arc::new(world.snapshot.next(rows));
    evaluated(&cache, &world, function)
}

#[test]
fn sixteen_attributes_of_a_row_are_told_apart_whatever_else_is_read() {
    assert_eq!(evaluated_after_another_change(0, 16), 0);
    assert_eq!(evaluated_after_another_change(0, 17), 1, "the whole row stands for the seventeenth");
    assert_eq!(evaluated_after_another_change(100, 16), 0, "values of the snapshot are none of the row");
    assert_eq!(evaluated_after_another_change(100, 17), 1);
}

#[test]
fn answers_by_at_most_128_values_of_the_snapshot_are_cached() {
    let world = world(3, |_| 0);
    for (counts, again) in [(128, 0), (129, 3)] {
        let cache = Cache::default();
        let function = |reads: &Reads<'_>| {
            // A value that is read again is no further one.
            let values = (0..counts).chain([0]);
            values.map(|value| reads.read(&Of::Count(0, value))).sum::<i64>().to_string()
        };
        evaluated(&cache, &world, function);
        assert_eq!((evaluated(&cache, &world, function), cache.disabled()), (again, None), "{counts} values");
    }
}

#[test]
fn a_value_of_the_snapshot_counts_for_one_row_and_must_not_be_read_between_two() {
    let (cache, world) = (Cache::default(), world(3, |_| 0));
    let mut evaluation = Evaluation::new(cache.lookup(&world), world, [0, 1, 2].into(), vec![0, 1, 2], false);
    let log = evaluation.log().clone();
    evaluation.next_miss();
    log.lock().record_snapshot(&Of::Count(0, 1));
    evaluation.record_answer(String::new());
    assert!(!log.lock().is_uncacheable());
    log.lock().record_snapshot(&Of::Count(0, 1));
    assert!(log.lock().is_uncacheable(), "the function may keep it for any row that follows");
}

#[test]
fn a_function_that_keeps_the_subject_from_row_to_row_depends_on_it_everywhere() {
    let cache = Cache::default();
    let mut world = world(3, |row| row as i64);
    for subject in [1, 2, 1] {
        world.subject[0] = subject;
        let mut kept = None;
        let function = |reads: &Reads<'_>| {
            let subject = *kept.get_or_insert_with(|| reads.read(&Of::Subject(0)));
            (subject * 10 + reads.read(&Of::Row(0))).to_string()
        };
        let (answers, _) = ask(&cache, &world, &[0, 1, 2], By::RowClass, function).unwrap();
        assert_eq!(answers, [0, 1, 2].map(|row| (subject * 10 + row).to_string()));
    }
}

#[test]
fn a_subject_with_more_attributes_than_a_path_may_have_ends_the_caching() {
    let reading = |names: u64| {
        move |reads: &Reads<'_>| (0..names).map(|name| reads.read(&Of::Named(name))).sum::<i64>().to_string()
    };
    let world = world(3, |_| 0);
    assert_eq!(ask(&Cache::default(), &world, &[0, 1, 2], By::RowClass, reading(256)).unwrap().1, 1);
    let cache = Cache::default();
    assert_eq!(ask(&cache, &world, &[0, 1, 2], By::RowClass, reading(257)).unwrap_err(), Disabled::TooManyReads);
    assert_eq!(ask(&cache, &world, &[0, 1, 2], By::RowClass, reading(257)).unwrap().1, 3, "it is evaluated each time");
    assert_eq!(cache.bytes(), 0);
}

#[test]
fn other_answers_to_the_same_values_end_the_caching() {
    let cache = Cache::default();
    let mut calls = 0;
    let mut function = |reads: &Reads<'_>| {
        calls += 1;
        if calls > 2 { reads.read(&Of::Row(1)) } else { reads.read(&Of::Row(0)) }.to_string()
    };
    let world = world(2, |row| row as i64);
    ask(&cache, &world, &[0, 1], By::RowClass, &mut function).unwrap();
    evict_to(&[&cache], 0);
    ask(&cache, &world, &[1], By::RowClass, &mut function).unwrap();
    assert_eq!(
        ask(&cache, &world, &[0], By::RowClass, |reads| reads.read(&Of::Row(0)).to_string()),
        Err(Disabled::NotAFunction)
    );
    assert_eq!(cache.disabled(), Some(Disabled::NotAFunction));
}

#[test]
fn a_witness_has_the_values_that_an_answer_follows_from() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| {
        let team = reads.read(&Of::Subject(0)) as u64;
        let limit = reads.read(&Of::Named(team));
        let pool = reads.read(&Of::Row(0));
        if pool == 0 { "no pool".to_owned() } else { (reads.read(&Of::Count(0, pool)) < limit).to_string() }
    };
    let world = world(9, |row| [0, 1, 2][row % 3]);
    let rows = [3, 4, 5, 6, 7, 8];
    let (_, evaluated, of_new) = ask_with_witnesses(&cache, &world, &rows, By::RowClass, function).unwrap();
    assert_eq!((evaluated, of_new.len()), (3, 3));
    let (_, evaluated, witnesses) = ask_with_witnesses(&cache, &world, &rows, By::RowClass, function).unwrap();
    assert_eq!((evaluated, &witnesses), (0, &of_new), "evaluated or cached, an answer follows from the same");
    assert_eq!(cache.lookup(&world).into_answers().witnesses(&world, &rows), witnesses);
    let shown = |at: usize| {
        let witness = &witnesses[at];
        let values = witness.path.iter().map(|(of, _)| (of.clone(), world.number(of, witness.row)));
        (witness.answer.as_str(), witness.row, witness.rows, values.collect::<Vec<_>>())
    };
    let subject = [(Of::Subject(0), 1), (Of::Named(1), 2)];
    let path = |rest: &[(Of, i64)]| [&subject[..], rest].concat();
    assert_eq!(shown(0), ("no pool", 3, 2, path(&[(Of::Row(0), 0)])));
    assert_eq!(shown(1), ("false", 4, 2, path(&[(Of::Row(0), 1), (Of::Count(0, 1), 3)])));
    assert_eq!(shown(2), ("false", 5, 2, path(&[(Of::Row(0), 2), (Of::Count(0, 2), 3)])));
    assert_eq!(witnesses.len(), 3);
}

#[test]
fn the_tree_shows_what_is_known() {
    let cache = Cache::default();
    let function = |reads: &Reads<'_>| (reads.read(&Of::Subject(0)) + reads.read(&Of::Row(2))).to_string();
    let mut world = world(2, |row| row as i64 * 2);
    evaluated(&cache, &world, function);
    let answer = |branch: &Branch<World, String>| match &branch.next {
        DecisionTree::Answer(answer) => Some((branch.value, answer.clone())),
        _ => None,
    };
    // Of later snapshots too: one whose columns are still those of the one before, one where another cell of a row has
    // changed, and one that begins with no columns.
    let rows = world.snapshot.rows.clone();
    let mut other_cell = rows.clone();
    other_cell[1][0] += 1;
    let next = Arc::new(world.snapshot.next(rows.clone()));
    for snapshot in [Arc::clone(&next), Arc::new(next.next(other_cell)), Arc::new(Snapshot::new(rows))] {
        world.snapshot = snapshot;
        let Some(DecisionTree::Read(Of::Subject(0), of_subject)) = cache.decision_tree(&world) else {
            panic!("the subject comes first")
        };
        assert_eq!((of_subject.len(), of_subject[0].value), (1, Some(1)));
        let DecisionTree::Read(Of::Row(2), of_rows) = &of_subject[0].next else { panic!("then the row") };
        let mut answers: Vec<_> = of_rows.iter().filter_map(answer).collect();
        answers.sort();
        assert_eq!(answers, [(Some(0), "1".to_owned()), (Some(2), "3".to_owned())]);
    }
}
