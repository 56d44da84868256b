//! Caches what a deterministic function answered, by the values that it read.

mod answers;
mod attribute;
mod cache;
mod change_log;
mod class;
mod class_tree;
mod column;
mod combined;
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
pub use attribute::{Attribute, HeapSize, Parts, ReadOf, Row, Scope};
pub use cache::{AnswerCache, Disabled, Update};
pub use class::Answer;
pub use column::Columns;
pub use combined::{CombinedClasses, RecentCombined};
pub use evaluation::Evaluation;
pub use evict::{Evict, evict_to};
pub use fingerprint::Fingerprint;
pub use lookup::{ByClass, Lookup};
pub use read_log::{ReadLog, SharedLog};
pub use source::{ColumnReader, Source};
pub use tree::{Branch, Tree};
pub use witness::Witness;
