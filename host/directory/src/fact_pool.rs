//! The facts of files in memory: each content once, however many policies name it, and a bounded sum of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use plimsoll_core::{CsvError, FactSource, MAX_TOTAL_FACT_BYTES, MAX_TOTAL_FACTS};
use plimsoll_system::digest::sha256;

use crate::refusal::FileRefusal;

/// The facts that all files may have in memory, as a multiple of the limit for their newest contents. Last good
/// versions keep their facts until the new ones have answered, and a reload of all files must not be refused meanwhile.
const KEPT_VERSIONS: usize = 2;

/// The digest of a file's text.
pub(crate) type TextDigest = [u8; 32];

/// The facts of one policy's files, by file name.
pub(crate) type FileFacts = BTreeMap<String, FileContent>;

/// One content of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileContent {
    pub(crate) digest: TextDigest,
    pub(crate) facts: Arc<FactSource>,
}

/// A number of facts, and the bytes of their keys and values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactVolume {
    facts: usize,
    bytes: usize,
}

/// The facts of all files that the policies of one directory name.
#[derive(Debug)]
pub struct FactPool {
    limit: FactVolume,
    known: Mutex<KnownFacts>,
}

#[derive(Debug, Default)]
struct KnownFacts {
    /// Every content that a version of a policy still uses.
    sources: HashMap<TextDigest, Weak<FactSource>>,
    /// The newest content of each file.
    newest: HashMap<PathBuf, TextDigest>,
}

// === impl FactPool ===

impl FactPool {
    fn new(limit: FactVolume) -> Self {
        Self { limit, known: Mutex::default() }
    }

    /// The facts of files of one directory as they are now.
    ///
    /// # Errors
    /// If a text has something else than facts, or all files together have too many.
    pub(crate) fn read(&self, directory: &Path, texts: &BTreeMap<String, String>) -> Result<FileFacts, FileRefusal> {
        let facts = self.restore(directory, texts)?;
        let mut known = self.known.lock();
        let mut newest = known.newest.clone();
        for (file, content) in &facts {
            let path = directory.join(file);
            newest.insert(path.clone(), content.digest);
            if known.volume(newest.values()).exceeds(self.limit) {
                return Err(too_many(&path, "the files that sidecars name", self.limit));
            }
        }
        known.newest = newest;
        Ok(facts)
    }

    /// The facts of a stored version, which do not count as the newest. Stops at the first file that passes the limit of
    /// the memory, so that no more than one is parsed beyond it.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(crate) fn restore(&self, label: &Path, texts: &BTreeMap<String, String>) -> Result<FileFacts, FileRefusal> {
        let all = self.limit.times(KEPT_VERSIONS);
        let mut facts = FileFacts::new();
        for (file, text) in texts {
            let path = label.join(file);
            let content =
                self.content(text).map_err(|error| FileRefusal::new(format!("{}:{error}", path.display())))?;
            facts.insert(file.clone(), content);
            let known = self.known.lock();
            if known.volume(known.sources.keys()).exceeds(all) {
                return Err(too_many(&path, "the files that sidecars name, and those of the last good versions,", all));
            }
        }
        Ok(facts)
    }

    /// The content of a text. It is hashed and parsed without the lock, so that the large files of one policy do not
    /// hold up the others.
    fn content(&self, text: &str) -> Result<FileContent, CsvError> {
        let digest = sha256(text.as_bytes());
        let known = self.known.lock().source(digest);
        let facts = if let Some(facts) = known {
            facts
        } else {
            let parsed = Arc::new(FactSource::from_csv(text)?);
            self.known.lock().keep(digest, parsed)
        };
        Ok(FileContent { digest, facts })
    }
}

impl Default for FactPool {
    fn default() -> Self {
        Self::new(FactVolume { facts: MAX_TOTAL_FACTS, bytes: MAX_TOTAL_FACT_BYTES })
    }
}

// === impl KnownFacts ===

impl KnownFacts {
    /// The facts of this content, if a version in use has them.
    fn source(&mut self, digest: TextDigest) -> Option<Arc<FactSource>> {
        self.forget_unused();
        self.sources.get(&digest).and_then(Weak::upgrade)
    }

    /// Keeps facts while they are used; another thread may have parsed them meanwhile.
    fn keep(&mut self, digest: TextDigest, parsed: Arc<FactSource>) -> Arc<FactSource> {
        self.source(digest).unwrap_or_else(|| {
            self.sources.insert(digest, Arc::downgrade(&parsed));
            parsed
        })
    }

    /// The facts of these contents; each counts once.
    fn volume<'d>(&self, contents: impl Iterator<Item = &'d TextDigest>) -> FactVolume {
        let contents: BTreeSet<&TextDigest> = contents.collect();
        let sources = contents.into_iter().filter_map(|digest| self.sources.get(digest)?.upgrade());
        sources.fold(FactVolume::ZERO, |volume, source| FactVolume {
            facts: volume.facts + source.len(),
            bytes: volume.bytes + source.bytes(),
        })
    }

    fn forget_unused(&mut self) {
        let Self { sources, newest } = self;
        sources.retain(|_, source| source.strong_count() > 0);
        newest.retain(|_, digest| sources.contains_key(digest));
    }
}

// === impl FactVolume ===

impl FactVolume {
    const ZERO: Self = Self { facts: 0, bytes: 0 };

    fn times(self, factor: usize) -> Self {
        Self { facts: self.facts * factor, bytes: self.bytes * factor }
    }

    fn exceeds(self, limit: Self) -> bool {
        self.facts > limit.facts || self.bytes > limit.bytes
    }
}

/// Transient: other policies may go, or name smaller files.
fn too_many(path: &Path, all: &str, limit: FactVolume) -> FileRefusal {
    let FactVolume { facts, bytes } = limit;
    let path = path.display();
    FileRefusal::transient(format!(
        "{path}: with it {all} would have more than {facts} facts, or more than {} MiB of keys and values: expected at most that much in the whole directory",
        bytes >> 20
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: FactVolume = FactVolume { facts: 10, bytes: 1 << 20 };

    fn texts(files: &[(&str, usize, &str)]) -> BTreeMap<String, String> {
        let text =
            |facts: usize, value: &str| (0..facts).map(|key| format!("{key},{value}\n")).collect::<Vec<_>>().concat();
        files.iter().map(|(file, facts, value)| ((*file).to_owned(), text(*facts, value))).collect()
    }

    fn read(pool: &FactPool, file: &str, facts: usize, value: &str) -> Result<FileFacts, FileRefusal> {
        pool.read(Path::new("policies"), &texts(&[(file, facts, value)]))
    }

    #[test]
    fn one_content_is_in_memory_once_and_only_while_it_is_used() {
        let pool = FactPool::new(LIMIT);
        let (one, other) = (read(&pool, "a.csv", 10, "1").unwrap(), read(&pool, "b.csv", 10, "1").unwrap());
        assert!(Arc::ptr_eq(&one["a.csv"].facts, &other["b.csv"].facts));
        assert!(read(&pool, "c.csv", 1, "other").is_err());
        drop((one, other));
        assert!(read(&pool, "c.csv", 1, "other").is_ok());
        assert_eq!(pool.known.lock().sources.len(), 1);
    }

    #[test]
    fn all_files_together_are_bounded() {
        let pool = FactPool::new(LIMIT);
        let kept = read(&pool, "a.csv", 10, "1").unwrap();
        let refusal = read(&pool, "b.csv", 1, "2").unwrap_err();
        let expected = "policies/b.csv: with it the files that sidecars name would have more than 10 facts, or more than \
                        1 MiB of keys and values: expected at most that much in the whole directory";
        assert_eq!((refusal.text.as_str(), refusal.transient), (expected, true));
        assert!(read(&pool, "a.csv", 9, "2").is_ok(), "a file that replaces its facts counts once");
        drop(kept);
        let small = FactPool::new(FactVolume { bytes: 19, ..LIMIT });
        assert!(read(&small, "a.csv", 10, "1").is_err(), "bytes count, too");
    }

    #[test]
    fn versions_before_count_for_the_memory_of_all() {
        let pool = FactPool::new(LIMIT);
        let versions: Vec<FileFacts> = ["1", "2"].map(|value| read(&pool, "a.csv", 10, value).unwrap()).into();
        let refusal = read(&pool, "a.csv", 10, "3").unwrap_err();
        assert!(refusal.text.contains("those of the last good versions, would have more than 20 facts"), "{refusal:?}");
        let stored = texts(&[("a.csv", 1, "4")]);
        assert!(pool.restore(Path::new("stored"), &stored).is_err());
        drop(versions);
        assert!(pool.restore(Path::new("stored"), &stored).is_ok());
    }
}
