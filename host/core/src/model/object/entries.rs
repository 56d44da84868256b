//! Labels and annotations: a sorted map of text in two allocations.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Deserializer};

use super::members::{Members, Text};

/// A map from text to text; a cluster has many, so each keeps all its text in one piece.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Entries {
    text: Box<str>,
    /// Where the key and the value of each entry begin in `text`; sorted by key.
    starts: Box<[(u32, u32)]>,
}

// === impl Entries ===

impl Entries {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let key_of = |(key, value): &(u32, u32)| &self.text[*key as usize..*value as usize];
        let at = self.starts.binary_search_by(|starts| key_of(starts).cmp(key)).ok()?;
        Some(self.entry(at).1)
    }

    /// All entries by ascending key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.starts.len()).map(|at| self.entry(at))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Bytes of all keys and values together.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    fn entry(&self, at: usize) -> (&str, &str) {
        let (key, value) = self.starts[at];
        let end = self.starts.get(at + 1).map_or(self.text.len(), |next| next.0 as usize);
        (&self.text[key as usize..value as usize], &self.text[value as usize..end])
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Entries {
    /// The last of several entries with one key wins, as in Go.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries: Vec<(K, V)> = entries.into_iter().collect();
        let sorted: BTreeMap<&str, &str> = entries.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
        let mut text = String::with_capacity(sorted.iter().map(|(key, value)| key.len() + value.len()).sum());
        let mut starts = Vec::with_capacity(sorted.len());
        for (key, value) in sorted {
            starts.push((text.len() as u32, (text.len() + key.len()) as u32));
            text.push_str(key);
            text.push_str(value);
        }
        Self { text: text.into(), starts: starts.into() }
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members(members) = Members::<Option<Text<'de>>>::deserialize(deserializer)?;
        let text = |value: Option<Text<'de>>| value.map_or(Cow::Borrowed(""), |Text(value)| value);
        Ok(members.into_iter().map(|(key, value)| (key, text(value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn the_last_of_a_duplicated_key_wins() {
        let entries: Entries = serde_json::from_str(r#"{"a":"1","b":"x","a":"2"}"#).unwrap();
        assert_eq!(entries.get("a"), Some("2"));
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn null_is_an_empty_map_and_escapes_are_decoded() {
        assert!(serde_json::from_str::<Entries>("null").unwrap().is_empty());
        let entries: Entries = serde_json::from_str(r#"{"a":"\u003cé\""}"#).unwrap();
        assert_eq!(entries.get("a"), Some("<é\""));
    }

    proptest! {
        #[test]
        fn entries_are_a_sorted_map(given in vec(("[a-cé]{0,3}", "[xyé]{0,3}"), 0..12), other in "[a-dé]{0,3}") {
            let map: BTreeMap<&str, &str> = given.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let entries: Entries = given.iter().map(|(key, value)| (key, value)).collect();
            prop_assert_eq!(entries.iter().collect::<Vec<_>>(), map.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>());
            prop_assert_eq!(entries.len(), map.len());
            prop_assert_eq!(entries.is_empty(), map.is_empty());
            for key in map.keys().copied().chain([other.as_str()]) {
                prop_assert_eq!(entries.get(key), map.get(key).copied());
            }
            let read: Entries = serde_json::from_str(&serde_json::to_string(&map).unwrap()).unwrap();
            prop_assert_eq!(read, entries);
        }
    }
}
