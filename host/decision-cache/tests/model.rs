//! The cache against functions that are evaluated each time: random functions over a world that changes at random.
//!
//! Each run prints its seed; `PLIMSOLL_SEED=N` runs the same again, `PLIMSOLL_MODEL_STEPS` makes runs longer.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "how long to look is said where the test is started")]

mod toy;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use plimsoll_decision_cache::{Attribute, Evict, Row, Scope, Source, Witness, evict_to};
use plimsoll_random::{Random, seed};

use self::toy::{By, Cache, KEYS, Kept, Of, Reads, Snapshot, World, ask, ask_with_witnesses};

/// Steps of a run that `cargo test` makes.
const STEPS: u64 = 4_000;

/// One step of a function. The values that it has read so far decide about arguments and skipped steps.
#[derive(Debug, Clone, Copy)]
enum Step {
    Read(Kind),
    /// Skips this many steps if the number read so far can be divided.
    Skip(u64, usize),
    /// Reads attributes of the row until something was read that ends it.
    Loop(u64),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Subject(u64),
    Row(u64),
    /// The name depends on a value that was read before.
    SubjectByValue(u64),
    RowByValue(u64),
    CountByValue(u64),
    Other,
}

#[derive(Debug)]
struct Function {
    steps: Vec<Step>,
    /// Whether it keeps values of the subject from one row to the next.
    keeps: bool,
}

// === impl Function ===

impl Function {
    fn any(rng: &mut Random) -> Self {
        let steps = (0..=rng.below(12)).map(|_| Step::any(rng)).collect();
        Self { steps, keeps: rng.below(3) == 0 }
    }

    fn answer(&self, reads: &Reads<'_>, kept: &mut Kept) -> String {
        let mut state = 1;
        let mut steps = self.steps.iter();
        while let Some(step) = steps.next() {
            match *step {
                Step::Read(kind) => self.read(kind, reads, kept, &mut state),
                Step::Skip(by, count) if state % by == 0 => drop(steps.nth(count - 1)),
                Step::Skip(..) => {}
                Step::Loop(by) => {
                    for name in 0..30 {
                        mix(&mut state, reads.read(&Of::RowNamed(name)));
                        if state % by == 0 {
                            break;
                        }
                    }
                }
            }
        }
        (state % 7).to_string()
    }

    fn read(&self, kind: Kind, reads: &Reads<'_>, kept: &mut Kept, state: &mut u64) {
        let of = match kind {
            Kind::Subject(key) => Of::Subject(key),
            Kind::Row(key) => Of::Row(key),
            Kind::SubjectByValue(many) => Of::Named(*state % many),
            Kind::RowByValue(many) => Of::RowNamed(*state % many),
            Kind::CountByValue(many) => Of::Count(*state % KEYS, (*state % many) as i64),
            Kind::Other => return mix(state, reads.read_other(&Of::Row(0), 0)),
        };
        let is_of_subject = matches!(of, Of::Subject(_) | Of::Named(_));
        let known = kept.get(&of).copied().filter(|_| self.keeps && is_of_subject);
        let value = known.unwrap_or_else(|| reads.read(&of));
        kept.insert(of, value);
        mix(state, value);
    }
}

impl Step {
    fn any(rng: &mut Random) -> Self {
        match rng.below(30) {
            0..=6 => Self::Read(Kind::Row(rng.below(KEYS))),
            7..=11 => Self::Read(Kind::Subject(rng.below(KEYS))),
            12..=14 => Self::Read(Kind::SubjectByValue(1 + rng.below(20))),
            15..=17 => Self::Read(Kind::RowByValue(1 + rng.below(20))),
            18..=20 => Self::Read(Kind::CountByValue(1 + rng.below(4))),
            21 if rng.below(8) == 0 => Self::Read(Kind::Other),
            22 => Self::Loop(2 + rng.below(30)),
            _ => Self::Skip(2 + rng.below(2), 1 + rng.below(3) as usize),
        }
    }
}

fn mix(state: &mut u64, value: i64) {
    // Not the hasher of a process: a seed must lead to the same run everywhere.
    let mut hasher = DefaultHasher::new();
    (*state, value).hash(&mut hasher);
    *state = hasher.finish();
}

/// A subject or a row.
fn cells(random: &mut Random) -> [i64; KEYS as usize] {
    std::array::from_fn(|_| random.below(4) as i64)
}

fn steps() -> u64 {
    std::env::var("PLIMSOLL_MODEL_STEPS").ok().map_or(STEPS, |steps| steps.parse().unwrap())
}

/// The snapshot after this one: some cells change, sometimes rows come or go.
fn changed(snapshot: &Snapshot, rng: &mut Random) -> Snapshot {
    let mut rows = snapshot.rows.clone();
    for _ in 0..rng.below(4) {
        let row = rng.below(rows.len() as u64) as usize;
        rows[row][rng.below(KEYS) as usize] = rng.below(4) as i64;
    }
    match rng.below(8) {
        0 => rows.extend((0..rng.below(5)).map(|_| cells(rng))),
        1 => rows.truncate(1 + rng.below(rows.len() as u64) as usize),
        _ => {}
    }
    snapshot.next(rows)
}

/// The rows of a request, some of them more than once.
fn some_rows(world: &World, rng: &mut Random) -> Vec<Row> {
    let count = world.snapshot.rows.len() as u64;
    (0..rng.below(2 * count)).map(|_| rng.below(count) as Row).collect()
}

fn any_way(rng: &mut Random) -> By {
    if rng.below(2) == 0 { By::Row } else { By::RowClass }
}

fn expected(function: &Function, world: &World, rows: &[Row]) -> Vec<String> {
    let answer = |(at, row): (usize, &Row)| {
        function.answer(&Reads { world, position: at as u32, row: *row, log: None }, &mut Kept::new())
    };
    rows.iter().enumerate().map(answer).collect()
}

/// Every witness has the values of its path, and the answer of its row; together they stand for all rows.
fn check_witnesses(witnesses: &[Witness<Of, String>], function: &Function, world: &World, rows: &[Row]) {
    for witness in witnesses {
        assert_eq!(vec![witness.answer.clone()], expected(function, world, &[witness.row]), "{witness:?}");
        for (attribute, fingerprint) in &witness.path {
            let is_of_row = attribute.scope() == Scope::Row;
            let value = if is_of_row {
                world.row_fingerprint(attribute, witness.row)
            } else {
                world.shared_fingerprint(attribute)
            };
            assert_eq!(value, *fingerprint, "{witness:?}");
        }
    }
    let stood_for: usize = witnesses.iter().map(|witness| witness.rows).sum();
    // Where a function reads something that answers cannot be cached by, nothing is known about some.
    let is_cacheable = !function.steps.iter().any(|step| matches!(step, Step::Read(Kind::Other)));
    assert!(!is_cacheable || stood_for == rows.len(), "{stood_for} of {}: {function:?}", rows.len());
}

#[test]
fn a_cached_answer_is_the_answer() {
    let mut rng = Random::new(seed());
    let (mut hits, mut asked) = (0, 0);
    for _ in 0..steps() / 40 {
        let (cache, function) = (Cache::default(), Function::any(&mut rng));
        let subjects: Vec<_> = (0..3).map(|_| cells(&mut rng)).collect();
        let mut snapshot = Arc::new(Snapshot::new((0..=rng.below(40)).map(|_| cells(&mut rng)).collect()));
        let max_bytes = if rng.below(2) == 0 { usize::MAX } else { 10_000 };
        for _ in 0..40 {
            if rng.below(3) == 0 {
                snapshot = Arc::new(changed(&snapshot, &mut rng));
            }
            let subject = subjects[rng.below(3) as usize];
            let world = World { subject, snapshot: Arc::clone(&snapshot) };
            let (rows, mut kept) = (some_rows(&world, &mut rng), Kept::new());
            let answer = |reads: &Reads<'_>| function.answer(reads, &mut kept);
            let (answers, evaluated, witnesses) =
                ask_with_witnesses(&cache, &world, &rows, any_way(&mut rng), answer).unwrap();
            assert_eq!(answers, expected(&function, &world, &rows), "{function:?}");
            check_witnesses(&witnesses, &function, &world, &rows);
            (hits, asked) = (hits + rows.len() - evaluated, asked + rows.len());
            if cache.bytes() > max_bytes {
                evict_to(&[&cache], max_bytes);
                assert!(cache.bytes() <= max_bytes, "{} bytes", cache.bytes());
            }
        }
    }
    assert!(hits > asked / 3, "{hits} of {asked} were hits: this shows little");
}

#[test]
fn requests_at_the_same_time_get_their_own_answers() {
    let mut rng = Random::new(seed());
    for _ in 0..steps() / 200 {
        let (cache, function) = (Cache::default(), Function::any(&mut rng));
        let first = Arc::new(Snapshot::new((0..30).map(|_| cells(&mut rng)).collect()));
        let second = Arc::new(changed(&first, &mut rng));
        let seeds: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        std::thread::scope(|scope| {
            for seed in seeds {
                let (cache, function, snapshots) = (&cache, &function, [&first, &second]);
                scope.spawn(move || {
                    let mut rng = Random::new(seed);
                    for _ in 0..20 {
                        let snapshot = Arc::clone(snapshots[rng.below(2) as usize]);
                        let world = World { subject: [rng.below(3) as i64; KEYS as usize], snapshot };
                        let (rows, mut kept) = (some_rows(&world, &mut rng), Kept::new());
                        let (answers, _) =
                            ask(cache, &world, &rows, any_way(&mut rng), |reads| function.answer(reads, &mut kept))
                                .unwrap();
                        assert_eq!(answers, expected(function, &world, &rows), "{function:?}");
                        if rng.below(10) == 0 {
                            evict_to(&[cache], 5_000);
                        }
                    }
                });
            }
        });
    }
}
