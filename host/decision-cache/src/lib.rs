//! Caches the answers of a deterministic function by the values that it read.
//!
//! A *function* answers a question about a *subject* and one *row* of a snapshot. It has no inputs but the *attributes*
//! that it reads: of the subject, of the row, or of the snapshot as a whole. The same values, read in the same order,
//! lead to the same answer, however many rows or subjects have them. So the cache records the reads of an evaluation,
//! and finds its answer again for every row and subject with these values. The function is evaluated once for each
//! combination of values that was never seen, and nothing has to be invalidated: a value that changes leads elsewhere.
//!
//! ```text
//!  AnswerCache                the answers of one function
//!   ├─ SubjectTree            subjects that the function cannot tell apart are one class:
//!   │                           subject.team ── "red" ──> subject.zone-of-red ── "a" ──> SubjectClass
//!   │                                        └─ "blue" ─> subject.zone-of-blue ─ "b" ──> SubjectClass
//!   │   └─ SubjectClass
//!   │       ├─ Trie           the reads of rows, and the answers at the ends of the paths:
//!   │       │                   row.zone ── "a" ──> row.free ── 3 ──> no
//!   │       │                            │                   └─ 8 ──> yes
//!   │       │                            └─ "b" ──> no
//!   │       └─ AnswerTable    the answers by row class: one lookup per row
//!   └─ RecentRowClasses       the lists of attributes that rows were last told apart by
//!       └─ RowClasses         rows with equal values of one list are one class, with a number
//!  RecentCombined             the lists of functions that were last looked up together
//!   └─ CombinedClasses        rows of equal classes by each function of a list: one lookup for all functions
//!  Columns                    of one snapshot: the fingerprint of an attribute by row
//!   └─ ChangeLog              the rows that recent snapshots changed: used to update columns and classes
//! ```
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | subject class | the subjects with equal values of all attributes that the function reads of them |
//! | row class | the rows with equal values of one list of attributes; its number means the same in every snapshot |
//! | combined class | the rows that are of one row class by each of several functions |
//! | tuple | the values of a list of attributes at a row, in the order of the list: each row class has one |
//! | row | a row of the snapshot, by its number |
//! | position | the index of a row in one request |
//! | number | of an answer: among those of a subject class and one call |
//! | local number | of an answer: among those of one call alone |
//!
//! # One request
//!
//! 1. [`AnswerCache::lookup`] finds the subject class. The [`Lookup`] has the number of the answer about each row, or
//!    about each row class, so that many functions can be looked up together ([`RecentCombined::get`]).
//! 2. [`Evaluation`] returns the missed rows, or a representative of each missed class, one by one. The reads of the
//!    function are recorded in its [`ReadLog`]. An answer holds at once for all other rows with the same values.
//! 3. After the reply [`AnswerCache::insert`] publishes the new answers.
//!
//! To record a decision with the values that it follows from, ask the [`Answers`] for their [`Witness`]es.
//!
//! ```
//! use std::sync::Arc;
//!
//! use plimsoll_decision_cache::*;
//!
//! /// An attribute. Its argument may be a value that was read before.
//! #[derive(Debug, Clone, PartialEq, Eq, Hash)]
//! enum Read { Team, ZoneOf(String), Zone }
//! impl HeapSize for Read {}
//! impl Attribute for Read {
//!     fn scope(&self) -> Scope {
//!         if *self == Read::Zone { Scope::Row } else { Scope::Subject }
//!     }
//! }
//!
//! /// A subject with its team, and a snapshot of rows with their zones. Clones share the columns of the snapshot.
//! #[derive(Clone)]
//! struct World { team: &'static str, zones: [&'static str; 3], columns: Arc<Columns<Read>> }
//! impl World {
//!     fn text(&self, read: &Read, row: Row) -> String {
//!         match read {
//!             Read::Team => self.team.to_owned(),
//!             Read::ZoneOf(team) => format!("zone-{}", team.len()),
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
//! /// The function: is the row in the zone of the subject's team?
//! fn is_in_zone(world: &World, position: u32, log: &SharedLog<Read>) -> bool {
//!     log.lock().record_subject(&Read::Team);
//!     let zone_of = Read::ZoneOf(world.text(&Read::Team, 0));
//!     log.lock().record_subject(&zone_of);
//!     log.lock().record_row(position, &Read::Zone);
//!     // All rows are asked about in order, so the position of a row is its number.
//!     world.text(&zone_of, 0) == world.text(&Read::Zone, position)
//! }
//!
//! /// The answer about each row, and how many were evaluated.
//! fn ask(cache: &AnswerCache<World, u32>, world: &World) -> (Vec<u32>, usize) {
//!     let lookup = cache.lookup(world);
//!     let mut numbers = lookup.numbers(world, 0..3);
//!     let misses: Vec<u32> = (0..3).filter(|row| numbers[*row as usize] == MISS).collect();
//!     let mut evaluation = Evaluation::new(lookup, world.clone(), [0, 1, 2].into(), misses.clone(), false);
//!     let log = evaluation.log().clone();
//!     while let Some(position) = evaluation.next_miss() {
//!         evaluation.record_answer(u32::from(is_in_zone(world, position, &log)));
//!     }
//!     let evaluated = evaluation.evaluated();
//!     let Evaluated { answers, numbers: evaluated_numbers, update, .. } = evaluation.finish();
//!     misses.iter().for_each(|row| numbers[*row as usize] = evaluated_numbers[*row as usize]);
//!     update.map(|update| cache.insert(&update)).transpose().expect("it is a function of its reads");
//!     let answers: Vec<u32> = answers.iter().copied().collect();
//!     (numbers.iter().map(|number| answers[*number as usize]).collect(), evaluated)
//! }
//!
//! let cache = AnswerCache::default();
//! let red = World { team: "red", zones: ["zone-3", "zone-4", "zone-3"], columns: Arc::default() };
//! assert_eq!(ask(&cache, &red), (vec![1, 0, 1], 2), "two rows have the same zone");
//! assert_eq!(ask(&cache, &red), (vec![1, 0, 1], 0), "everything is known");
//! let blue = World { team: "blue", ..red };
//! assert_eq!(ask(&cache, &blue), (vec![0, 1, 0], 2), "another team is another subject class");
//! ```
//!
//! # What the function must promise
//!
//! - It has no other inputs: no clock, no random numbers, no state from earlier calls.
//! - Within one call it may keep values of the subject from one row to the next. Values of rows and of the snapshot it
//!   must read again for each row.
//! - It may read other rows or anything else if [`ReadLog::record_other`] is called. Then it is evaluated each time.
//!
//! The cache notices some broken promises: if the same values lead to another read or another answer, it is disabled
//! ([`Disabled::NotAFunction`]). To find the others, compare cached answers with evaluated ones in a test.
//!
//! # Bounds
//!
//! | quantity | maximum | beyond it |
//! |---|---|---|
//! | bytes of all caches | the argument of [`evict_to`] | the largest begins anew |
//! | edges of one [`AnswerCache`]'s tree of subjects | 8,192 | it begins anew |
//! | attributes of one subject | 256 | the cache is disabled |
//! | row attributes of one evaluation | 16 | [`Attribute::whole_row`] stands for the others |
//! | snapshot attributes of one evaluation | 128 | the function is evaluated each time for this subject class |
//! | bytes of all attributes of one call | 1 MiB | the same |
//! | attributes of a subject class | 16,384 | the class keeps those of the last call alone |
//! | paths of a subject class | 2 per row, and 1,024 | the same |
//! | row attributes of a table | 256 | each row is looked up in the trie |
//! | snapshot attributes of a table | 64 | the same |
//! | lists of attributes that rows are told apart by | 8 for each cache | the oldest goes |
//! | row classes by one list | 4 per row, and 1,024 | they are numbered again |
//! | lists of functions in a [`RecentCombined`] | 16 | the oldest goes |
//! | combined classes of one list | 1 per 4 rows, and 64 | the functions are looked up one by one |
//! | columns of a snapshot | 512, and [`Columns::set_limit`] bytes | they begin anew |
//! | changes of rows in a snapshot's log | 2,048 | earlier values are read again for every row |
//!
//! # In the literature
//!
//! This is *selective memoization* (Acar, Blelloch, Harper: *Selective Memoization*, POPL 2003): a result is stored
//! under the values that the computation has read, and not under all of its arguments. In the terms of *Build Systems à
//! la Carte* (Mokhov, Mitchell, Peyton Jones, ICFP 2018) the paths of a trie are *constructive traces*: dependencies
//! are found out while a task runs, compared by hash, and lead to the stored result. The manifests of ccache's *direct
//! mode* work in the same way: a list of included files with their hashes, found by the hash of the source file, leads
//! to an object file. New here are the classes: the traces of one subject class are evaluated for all rows at once,
//! column by column, as in a column store with dictionary encoding.

mod answers;
mod attribute;
mod cache;
mod change_log;
mod column;
mod combined;
mod decision_tree;
mod evaluation;
mod fingerprint;
mod interner;
mod read_log;
mod row_classes;
mod source;
mod subject_class;
mod subject_tree;
mod trie;
mod usage;

pub use answers::{Answers, Lookup, Witness};
pub use attribute::{Attribute, BorrowedAttribute, HeapSize, Parts, Row, Scope};
pub use cache::{AnswerCache, Disabled, Update};
pub use column::Columns;
pub use combined::{CombinedClasses, RecentCombined};
pub use decision_tree::{Branch, DecisionTree};
pub use evaluation::{Evaluated, Evaluation};
pub use fingerprint::Fingerprint;
pub use read_log::{ReadLog, SharedLog};
pub use source::{Source, fingerprints};
pub use subject_class::MISS;
pub use trie::Answer;
pub use usage::{Evict, evict_to};
