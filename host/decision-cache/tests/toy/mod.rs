//! A small world with functions over it, for tests.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(missing_docs, unreachable_pub, reason = "it is a part of tests")]

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use plimsoll_decision_cache::{
    AnswerCache, Attribute, Columns, Disabled, Evaluated, Evaluation, Fingerprint, HeapSize, Lookup, MISS, Parts,
    RecentCombined, Row, Scope, SharedLog, Source, Witness,
};

/// Keys of a subject, and of a row: half of a row's are of one part, half of the other.
pub const KEYS: u64 = 8;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Of {
    Subject(u64),
    /// One of the attributes of a subject, of which there are too many for a list.
    Named(u64),
    Row(u64),
    /// The attribute of a row with any name.
    RowNamed(u64),
    /// The same, by a name of any length.
    RowText(String),
    /// The number of rows that have this value of a key.
    Count(u64, i64),
    Record,
}

/// The rows of one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub rows: Vec<[i64; KEYS as usize]>,
    stamps: Vec<u64>,
    columns: Columns<Of>,
    /// The number of times the fingerprint of a row was asked for.
    pub fingerprints: AtomicUsize,
    /// The same of the subject, or of the snapshot as a whole.
    pub shared_fingerprints: AtomicUsize,
}

#[derive(Debug, Clone)]
pub struct World {
    pub subject: [i64; KEYS as usize],
    pub snapshot: Arc<Snapshot>,
}

/// The reads of a function: they are all that it sees.
pub struct Reads<'w> {
    pub world: &'w World,
    pub position: u32,
    pub row: Row,
    pub log: Option<&'w SharedLog<Of>>,
}

/// The way in which misses are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Row,
    /// By row class, where there are classes.
    RowClass,
}

pub type Cache = AnswerCache<World, String>;
pub type Witnesses = Vec<Witness<Of, String>>;

// === impl Of ===

impl HeapSize for Of {
    fn heap_size(&self) -> usize {
        if let Self::RowText(name) = self { name.len() } else { 0 }
    }
}

impl Attribute for Of {
    fn scope(&self) -> Scope {
        match self {
            Self::Subject(_) | Self::Named(_) => Scope::Subject,
            Self::Count(..) => Scope::Snapshot,
            Self::Row(_) | Self::RowNamed(_) | Self::RowText(_) | Self::Record => Scope::Row,
        }
    }

    fn depends_on(&self) -> Parts {
        match self {
            Self::Row(key) => Parts::single(part(*key)),
            _ => Parts::ALL,
        }
    }

    fn whole_row() -> Vec<Self> {
        vec![Self::Record]
    }
}

const fn part(key: u64) -> u8 {
    (key >= KEYS / 2) as u8
}

// === impl Snapshot ===

impl Snapshot {
    pub fn new(rows: Vec<[i64; KEYS as usize]>) -> Self {
        let stamps = rows.iter().map(|_| stamp()).collect();
        Self { rows, stamps, ..Self::default() }
    }

    /// The snapshot after this one.
    pub fn next(&self, rows: Vec<[i64; KEYS as usize]>) -> Self {
        let mut next = Self { stamps: self.stamps.clone(), rows, ..Self::default() };
        next.stamps.resize_with(next.rows.len(), stamp);
        let mut changed = Vec::new();
        for (row, new) in next.rows.iter().enumerate() {
            let Some(old) = self.rows.get(row) else {
                changed.push((row as Row, Parts::ALL));
                continue;
            };
            let parts =
                (0..KEYS).filter(|key| old[*key as usize] != new[*key as usize]).map(|key| Parts::single(part(key)));
            let parts = parts.fold(Parts::NONE, Parts::union);
            if parts != Parts::NONE {
                next.stamps[row] = stamp();
                changed.push((row as Row, parts));
            }
        }
        next.columns.inherit_from(&self.columns, || changed);
        next
    }

    pub fn columns(&self) -> &Columns<Of> {
        &self.columns
    }
}

fn stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

// === impl World ===

impl World {
    pub fn number(&self, of: &Of, row: Row) -> i64 {
        let cells = || self.snapshot.rows[row as usize];
        match of {
            Of::Subject(key) => self.subject[*key as usize],
            Of::Named(name) => self.subject[(*name % KEYS) as usize] + *name as i64,
            Of::Row(key) => cells()[*key as usize],
            Of::RowNamed(name) => cells()[(*name % KEYS) as usize] + *name as i64,
            Of::RowText(name) => cells()[name.len() % KEYS as usize],
            Of::Count(key, value) => {
                self.snapshot.rows.iter().filter(|cells| cells[*key as usize] == *value).count() as i64
            }
            Of::Record => self.snapshot.stamps[row as usize] as i64,
        }
    }

    fn fingerprint(&self, of: &Of, row: Row) -> Fingerprint {
        match self.number(of, row) {
            0 => Fingerprint::ABSENT,
            number if number % 2 == 0 => Fingerprint::of(&number),
            number => Fingerprint::of_number(number),
        }
    }
}

impl Source for World {
    type Attribute = Of;
    type Value = i64;

    fn row_count(&self) -> usize {
        self.snapshot.rows.len()
    }

    fn columns(&self) -> &Columns<Of> {
        &self.snapshot.columns
    }

    fn shared_fingerprint(&self, attribute: &Of) -> Fingerprint {
        self.snapshot.shared_fingerprints.fetch_add(1, Ordering::Relaxed);
        self.fingerprint(attribute, 0)
    }

    fn row_fingerprint(&self, attribute: &Of, row: Row) -> Fingerprint {
        self.snapshot.fingerprints.fetch_add(1, Ordering::Relaxed);
        self.fingerprint(attribute, row)
    }

    fn fingerprint_of_all_rows(&self, attribute: &Of) -> Option<Fingerprint> {
        let Of::Row(key) = attribute else { return None };
        let is_everywhere = |value: i64| self.snapshot.rows.iter().all(|cells| cells[*key as usize] == value);
        is_everywhere(*self.snapshot.rows.first()?.get(*key as usize)?).then(|| self.fingerprint(attribute, 0))
    }

    fn value(&self, attribute: &Of, row: Row) -> i64 {
        self.number(attribute, row)
    }
}

// === impl Reads ===

impl Reads<'_> {
    pub fn read(&self, of: &Of) -> i64 {
        if let Some(log) = self.log {
            match of.scope() {
                Scope::Subject => log.lock().record_subject(of),
                Scope::Snapshot => log.lock().record_snapshot(of),
                Scope::Row => drop(log.lock().record_row(self.position, of)),
            }
        }
        self.world.number(of, self.row)
    }

    /// Reads another row.
    pub fn read_other(&self, of: &Of, row: Row) -> i64 {
        if let Some(log) = self.log {
            log.lock().record_row(self.position + 1, of);
        }
        self.world.number(of, row)
    }
}

/// Answers about these rows by the cache, and how many were evaluated.
pub fn ask(
    cache: &Cache,
    world: &World,
    rows: &[Row],
    by: By,
    function: impl FnMut(&Reads<'_>) -> String,
) -> Result<(Vec<String>, usize), Disabled> {
    ask_with_witnesses(cache, world, rows, by, function).map(|(answers, evaluated, _)| (answers, evaluated))
}

/// The same, with the paths that the answers follow from; nothing where they are not cached.
pub fn ask_with_witnesses(
    cache: &Cache,
    world: &World,
    rows: &[Row],
    by: By,
    mut function: impl FnMut(&Reads<'_>) -> String,
) -> Result<(Vec<String>, usize, Witnesses), Disabled> {
    let lookup = cache.lookup(world);
    if !lookup.is_cacheable() {
        let all = rows.iter().enumerate();
        let answer = |(at, row): (usize, &Row)| function(&Reads { world, position: at as u32, row: *row, log: None });
        return Ok((all.map(answer).collect(), rows.len(), Vec::new()));
    }
    let classes = if by == By::RowClass { class_of_each(&lookup, rows) } else { None };
    let mut numbers = lookup.numbers(world, rows.iter().copied());
    // Without classes each row is the only one of its kind.
    let is_by_class = classes.is_some();
    let kinds = classes.unwrap_or_else(|| (0..rows.len() as u32).collect());
    let last: HashMap<u32, u32> = kinds.iter().copied().zip(0..).collect();
    let mut misses: Vec<u32> = last.into_values().filter(|at| numbers[*at as usize] == MISS).collect();
    misses.sort_unstable();
    let representatives = misses.clone();
    let mut evaluation = Evaluation::new(lookup, world.clone(), rows.into(), misses, is_by_class);
    let log = evaluation.log().clone();
    while let Some(position) = evaluation.next_miss() {
        let row = rows[position as usize];
        evaluation.record_answer(function(&Reads { world, position, row, log: Some(&log) }));
    }
    assert!(evaluation.is_complete());
    let evaluated = evaluation.evaluated();
    let Evaluated { answers, numbers: by_position, is_of_misses, update } = evaluation.finish();
    update.map(|update| cache.insert(&update)).transpose()?;
    if is_of_misses {
        let found: HashMap<u32, u32> =
            representatives.iter().map(|at| (kinds[*at as usize], by_position[*at as usize])).collect();
        for (number, kind) in numbers.iter_mut().zip(&kinds).filter(|(number, _)| **number == MISS) {
            *number = found[kind];
        }
    } else {
        numbers = by_position;
    }
    let distinct: Vec<&String> = answers.iter().collect();
    let by_row = numbers.iter().map(|number| distinct[*number as usize].clone()).collect();
    Ok((by_row, evaluated, answers.witnesses(world, rows)))
}

/// The row class of each row, by the combined classes of this function alone.
fn class_of_each(lookup: &Lookup<Of, String>, rows: &[Row]) -> Option<Vec<u32>> {
    let recent = RecentCombined::default();
    // The first request for a list only notes it.
    let combined = recent.get([lookup].into_iter()).or_else(|| recent.get([lookup].into_iter()))?;
    let class = |row: &Row| combined.row_classes(combined.by_row[*row as usize] as usize)[0];
    Some(rows.iter().map(class).collect())
}

/// The values of a subject that a call has read so far, for functions that keep them.
pub type Kept = HashMap<Of, i64>;
