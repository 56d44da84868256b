//! The cache by itself: 5,000 rows of 8 attributes, of which a function reads three.
#![allow(clippy::unwrap_used, reason = "a part that fails has no time")]
#![allow(missing_docs, reason = "criterion's macros")]

use std::{hint::black_box, sync::Arc};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_decision_cache::{RecentCombined, Row};

#[path = "../tests/toy/mod.rs"]
mod toy;

use self::toy::{By, Cache, KEYS, Of, Reads, Snapshot, World, ask};

const ROWS: usize = 5_000;
/// Rows that change from one snapshot to the next.
const CHANGED: usize = 50;

criterion_group!(benches, lookups, changes, combined);
criterion_main!(benches);

fn world() -> World {
    let row = |row: usize| std::array::from_fn(|key| (row % (key + 3)) as i64);
    World { subject: [1; KEYS as usize], snapshot: Arc::new(Snapshot::new((0..ROWS).map(row).collect())) }
}

/// Two reads of the subject, the second named by the first, then three of the row.
fn function(reads: &Reads<'_>) -> String {
    let team = reads.read(&Of::Subject(0)) as u64;
    let limit = reads.read(&Of::Named(team));
    (0..3).map(|key| reads.read(&Of::Row(key))).sum::<i64>().min(limit).to_string()
}

fn rows() -> Vec<Row> {
    (0..ROWS as Row).collect()
}

/// A cache that knows the world, asked twice so that its table is there.
fn warm(world: &World) -> Cache {
    let cache = Cache::default();
    ask(&cache, world, &rows(), By::RowClass, function).unwrap();
    ask(&cache, world, &rows(), By::RowClass, function).unwrap();
    cache
}

fn lookups(criterion: &mut Criterion) {
    let (world, rows) = (world(), rows());
    let cache = warm(&world);
    let mut group = criterion.benchmark_group("decision cache");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("lookup, every row known", |bencher| {
        bencher.iter(|| black_box(cache.lookup(&world, rows.iter().copied())).is_complete());
    });
    group.bench_function("a subject never seen, rows of known classes", |bencher| {
        let mut subject = 1;
        bencher.iter(|| {
            subject += 1;
            let world = World { subject: [subject; KEYS as usize], ..world.clone() };
            ask(&cache, &world, &rows, By::RowClass, function).unwrap().1
        });
    });
    group.bench_function("nothing known, the function included", |bencher| {
        bencher.iter_batched(
            Cache::default,
            |cache| ask(&cache, &world, &rows, By::RowClass, function).unwrap(),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("witnesses", |bencher| {
        let cache = warm(&world);
        bencher.iter(|| cache.lookup_by_row_class(&world).map(|known| known.witnesses(&world, &rows).len()));
    });
    group.finish();
}

/// The first lookup after some rows have changed.
fn changes(criterion: &mut Criterion) {
    let (mut world, rows) = (world(), rows());
    let cache = warm(&world);
    let mut moment = 0;
    criterion.bench_function("decision cache/lookup, 1 % of the rows changed", |bencher| {
        let next = || {
            moment += 1;
            let mut next = world.snapshot.rows.clone();
            next.iter_mut().skip(moment % 100).step_by(ROWS / CHANGED).for_each(|row| row[0] = (row[0] + 1) % 3);
            world.snapshot = Arc::new(world.snapshot.next(next));
            world.clone()
        };
        bencher.iter_batched(next, |world| cache.lookup(&world, rows.iter().copied()), BatchSize::PerIteration);
    });
}

/// One look for each row instead of one for each row and function.
fn combined(criterion: &mut Criterion) {
    let world = world();
    let caches: Vec<Cache> = (0..10).map(|_| warm(&world)).collect();
    let recent = RecentCombined::default();
    criterion.bench_function("decision cache/combined classes of ten functions", |bencher| {
        bencher.iter(|| {
            let known: Vec<_> = caches.iter().map(|cache| cache.lookup_by_row_class(&world).unwrap()).collect();
            let combined = recent.get(&known.iter().collect::<Vec<_>>());
            combined.map(|combined| (0..ROWS as Row).map(|row| combined.of_row(row)).sum::<usize>())
        });
    });
}
