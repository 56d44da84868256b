//! Caches the answers of a deterministic function by the values that it read.
//!
//! A *function* answers a question about a *subject* and one *row* of a snapshot. It has no inputs but the *attributes*
//! that it reads: of the subject, of the row, or of the snapshot as a whole. The same values, read in the same order,
//! lead to the same answer, however many rows or subjects have them. So the cache records the reads of an evaluation,
//! and finds its answer again for every row and subject with these values. The function is evaluated once for each
//! combination of values that was never seen, and nothing has to be invalidated: a value that changes leads elsewhere.
//!
//! ```text
//!  AnswerCache              the answers of one function
//!   ├─ ClassTree            subjects that the function cannot tell apart are one class:
//!   │                         subject.team ── "red" ──> subject.limit-of-red ── 5 ──> Class
//!   │                                      └─ "blue" ─> subject.limit-of-blue ─ 7 ──> Class
//!   │   └─ Class
//!   │       ├─ Trie         the reads of rows, and the answers at the ends of the paths:
//!   │       │                 row.zone ── "a" ──> row.free ── 3 ──> no
//!   │       │                          │                   └─ 8 ──> yes
//!   │       │                          └─ "b" ──> no
//!   │       └─ AnswerTable  the answers by class of rows: one lookup per row
//!   └─ RowClasses           rows that a list of attributes cannot tell apart are one class, with a number
//!  Columns                  of one snapshot: the fingerprint of an attribute by row
//!   └─ ChangeLog            rows that recent snapshots changed: used to update columns and classes
//! ```
//!
//! A request goes like this. [`AnswerCache::lookup`] finds the class of the subject, then the answer of each row;
//! [`AnswerCache::by_class`] finds those of each class of rows, so that many functions can be looked up together
//! ([`CombinedClasses`]). [`Evaluation`] returns the missed rows, or one row of each missed class, one by one; each read
//! of the function is recorded in its [`ReadLog`].
//! An answer holds at once for all other rows with the same values. After the reply [`AnswerCache::insert`] publishes
//! it. [`Answers::witnesses`] says which values the answers follow from.
//!
//! ```
//! use plimsoll_decision_cache::*;
//!
//! /// What the function can read. An argument may be a value that was read before.
//! #[derive(Debug, Clone, PartialEq, Eq, Hash)]
//! enum Read { Team, LimitOf(String), Zone }
//! impl HeapSize for Read {}
//! impl Attribute for Read {
//!     fn scope(&self) -> Scope {
//!         if *self == Read::Zone { Scope::Row } else { Scope::Subject }
//!     }
//! }
//!
//! /// A subject with its team, and a snapshot of rows with their zones.
//! struct World { team: &'static str, zones: Vec<&'static str>, columns: Columns<Read> }
//! impl World {
//!     fn text(&self, read: &Read, row: Row) -> String {
//!         match read {
//!             Read::Team => self.team.to_owned(),
//!             Read::LimitOf(team) => format!("zone-{}", team.len()),
//!             Read::Zone => self.zones[row as usize].to_owned(),
//!         }
//!     }
//! }
//! impl Source for World {
//!     type Attribute = Read;
//!     type Value = String;
//!     fn row_count(&self) -> usize { self.zones.len() }
//!     fn columns(&self) -> &Columns<Read> { &self.columns }
//!     fn shared_fingerprint(&self, read: &Read) -> Fingerprint { Fingerprint::of(&self.text(read, 0)) }
//!     fn row_fingerprint(&self, read: &Read, row: Row) -> Fingerprint { Fingerprint::of(&self.text(read, row)) }
//!     fn value(&self, read: &Read, row: Row) -> String { self.text(read, row) }
//! }
//!
//! /// Answers about each row, and how many were evaluated.
//! fn ask(cache: &AnswerCache<World, u32>, team: &'static str) -> (Vec<u32>, usize) {
//!     let world = || World { team, zones: vec!["zone-3", "zone-4", "zone-3"], columns: Columns::default() };
//!     let lookup = cache.lookup(&world(), 0..3);
//!     let mut evaluation = Evaluation::new(lookup, world(), [0, 1, 2].into());
//!     let log = evaluation.log().clone();
//!     while let Some(position) = evaluation.next_miss() {
//!         let world = world();
//!         // The function: is the row in the zone of the subject's team?
//!         log.lock().subject(&Read::Team);
//!         let limit = Read::LimitOf(world.text(&Read::Team, 0));
//!         log.lock().subject(&limit);
//!         log.lock().row(position, &Read::Zone);
//!         let fits = world.text(&limit, 0) == world.text(&Read::Zone, position);
//!         evaluation.record_answer(u32::from(fits));
//!     }
//!     let evaluated = evaluation.evaluated();
//!     let (answers, update) = evaluation.finish();
//!     let Evaluated::ByRow(answers) = answers else { unreachable!("rows were looked up") };
//!     update.map(|update| cache.insert(&update)).transpose().expect("it is a function of what it reads");
//!     ((0..3).filter_map(|at| answers.get(at).copied()).collect(), evaluated)
//! }
//!
//! let cache = AnswerCache::default();
//! assert_eq!(ask(&cache, "red"), (vec![1, 0, 1], 2), "two rows have the same zone");
//! assert_eq!(ask(&cache, "red"), (vec![1, 0, 1], 0), "everything is known");
//! assert_eq!(ask(&cache, "blue"), (vec![0, 1, 0], 2), "another team is another class");
//! ```
//!
//! # What the function must promise
//!
//! - It has no other inputs: no clock, no random numbers, no state from earlier calls.
//! - Within one call it may keep values of the subject from one row to the next. Values of rows and of the snapshot it
//!   must read again for each row.
//! - It may read other rows or anything else if [`ReadLog::other`] is told. Then it is evaluated each time.
//!
//! The cache notices some broken promises: the same values that lead to another read or answer disable it
//! ([`Disabled::NotAFunction`]). To notice the others, evaluate some hits again and call [`AnswerCache::disable`].
//!
//! # Bounds
//!
//! | what | at most | beyond it |
//! |---|---|---|
//! | bytes of all caches | the argument of [`evict_to`] | the least recently used classes go |
//! | bytes of a snapshot's columns | [`Columns::set_limit`] | the least recently used columns go |
//! | attributes of one row in one path | 16 | [`Attribute::whole_row`] stands for the others |
//! | attributes of rows in a table | 256 | each row is looked up in the trie |
//! | attributes of one subject | 256 | the cache is disabled |
//! | attributes of a class | 16,384 | the class is emptied |
//! | edges of all subjects | 8,192 | the older half goes |
//!
//! # In the literature
//!
//! This is *selective memoization* (Acar, Blelloch, Harper: *Selective Memoization*, POPL 2003): a result is stored under
//! the values that the computation has read, and not under all of its arguments. In the terms of *Build Systems à la Carte*
//! (Mokhov, Mitchell, Peyton Jones, ICFP 2018) the paths of a trie are *constructive traces*: dependencies are found out
//! while a task runs, compared by hash, and lead to the stored result. The manifests of ccache's *direct mode* work in the
//! same way: a list of included files with their hashes, found by the hash of the source file, leads to an object file.
//! New here are the classes: the traces of one subject class are evaluated for all rows at once, column by column, as in a
//! column store with dictionary encoding.

mod answers;
mod attribute;
mod cache;
mod change_log;
mod class;
mod class_tree;
mod column;
mod combined;
mod edge;
mod evaluation;
mod evict;
mod fingerprint;
mod interner;
mod lookup;
mod memory;
mod read_log;
mod row_classes;
mod source;
mod tree;
mod trie;
mod witness;

pub use answers::Answers;
pub use attribute::{Attribute, BorrowedAttribute, HeapSize, Parts, Row, Scope};
pub use cache::{AnswerCache, Disabled, Update};
pub use class::Answer;
pub use column::Columns;
pub use combined::{CombinedClasses, RecentCombined};
pub use evaluation::{Evaluated, Evaluation};
pub use evict::{Evict, evict_to};
pub use fingerprint::Fingerprint;
pub use lookup::{ByClass, Lookup};
pub use read_log::{ReadLog, SharedLog};
pub use source::{ColumnReader, Source};
pub use tree::{Branch, Tree};
pub use witness::Witness;
