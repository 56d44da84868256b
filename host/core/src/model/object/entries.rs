//! Labels and annotations: a sorted map of text in two allocations.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

/// A map from text to text; a cluster has many, so each keeps all its text in one piece.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Entries {
    text: Box<str>,
    /// Where the key and the value of each entry end in `text`; sorted by key.
    ends: Box<[(u32, u32)]>,
}

// === impl Entries ===

impl Entries {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Equal => return Some(self.value(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// All entries by ascending key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.ends.len()).map(|at| (self.key(at), self.value(at)))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all keys and values together.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn key(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1].1 };
        &self.text[start as usize..self.ends[at].0 as usize]
    }

    fn value(&self, at: usize) -> &str {
        &self.text[self.ends[at].0 as usize..self.ends[at].1 as usize]
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Entries {
    /// The last of several entries with one key wins, as in Go.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut entries: Vec<(K, V)> = entries.into_iter().collect();
        if !entries.is_sorted_by(|a, b| a.0.as_ref() < b.0.as_ref()) {
            entries.reverse();
            entries.sort_by(|a, b| a.0.as_ref().cmp(b.0.as_ref()));
            entries.dedup_by(|later, first| later.0.as_ref() == first.0.as_ref());
        }
        let size = entries.iter().map(|(key, value)| key.as_ref().len() + value.as_ref().len());
        let mut text = String::with_capacity(size.sum());
        let mut ends = Vec::with_capacity(entries.len());
        for (key, value) in &entries {
            text.push_str(key.as_ref());
            let key_end = text.len() as u32;
            text.push_str(value.as_ref());
            ends.push((key_end, text.len() as u32));
        }
        Self { text: text.into(), ends: ends.into() }
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of text to text")
            }

            fn visit_unit<E>(self) -> Result<Entries, E> {
                Ok(Entries::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::with_capacity(16);
                while let Some((Text(key), value)) = map.next_entry::<Text<'de>, Option<Text<'de>>>()? {
                    entries.push((key, value.map_or(Cow::Borrowed(""), |Text(value)| value)));
                }
                Ok(entries.into_iter().collect())
            }
        }

        deserializer.deserialize_any(EntriesVisitor)
    }
}

/// Text that is borrowed from the input unless it has escapes.
#[derive(Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn every_entry_is_found_whatever_the_order_it_came_in() {
        let entries: Entries = [("b", "2"), ("a", "1"), ("c", ""), ("", "empty key")].into_iter().collect();
        assert_eq!(entries.get("a"), Some("1"));
        assert_eq!(entries.get("b"), Some("2"));
        assert_eq!(entries.get("c"), Some(""));
        assert_eq!(entries.get(""), Some("empty key"));
        assert_eq!(entries.get("d"), None);
    }

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
