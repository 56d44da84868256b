//! One source of facts: values by key, bounded.

use hashbrown::HashMap;

use crate::model::{Node, Real, quotable};

/// Maximum bytes of a key. The name of a node has at most 253, and a label 317.
pub const MAX_FACT_KEY_BYTES: usize = 512;

/// Maximum bytes of a value.
pub const MAX_FACT_TEXT_BYTES: usize = 4 << 10;

/// Maximum facts of one source.
pub const MAX_FACTS: usize = 100_000;

/// Maximum bytes of all keys and values of one source.
pub const MAX_SOURCE_BYTES: usize = 8 << 20;

/// Maximum facts of all sources of one origin: those that the operator declares, or the files that sidecars name.
pub const MAX_TOTAL_FACTS: usize = 500_000;

/// Maximum bytes of all keys and values of these sources.
pub const MAX_TOTAL_FACT_BYTES: usize = 64 << 20;

/// The facts of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactSource {
    values: HashMap<Box<str>, FactValue, foldhash::fast::RandomState>,
    bytes: usize,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactValue {
    text: Box<str>,
    /// Where the text is a number.
    number: Option<Real>,
}

// === impl FactValue ===

impl FactValue {
    /// A fact with this text.
    pub fn of(text: &str) -> Self {
        Self { text: text.into(), number: Real::parse(text) }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number that the text is; none if it is none.
    pub const fn number(&self) -> Option<Real> {
        self.number
    }
}

// === impl FactSource ===

impl FactSource {
    /// The source with these values by key. The same value may be given twice for a key.
    ///
    /// # Errors
    /// Says which key has two values, or which limit is passed.
    pub fn from_texts<K, T>(texts: impl IntoIterator<Item = (K, T)>) -> Result<Self, String>
    where
        K: AsRef<str>,
        T: AsRef<str>,
    {
        let mut source = Self::default();
        for (key, text) in texts {
            source.add(key.as_ref(), text.as_ref())?;
        }
        Ok(source)
    }

    pub(super) fn add(&mut self, key: &str, text: &str) -> Result<(), String> {
        let length = key.len();
        if length == 0 || length > MAX_FACT_KEY_BYTES {
            return Err(format!("a key of {length} bytes: expected 1 to {MAX_FACT_KEY_BYTES}"));
        }
        if text.len() > MAX_FACT_TEXT_BYTES {
            let (key, length) = (quotable(key), text.len());
            return Err(format!(
                "the value of the key '{key}' has {length} bytes: expected at most {MAX_FACT_TEXT_BYTES}"
            ));
        }
        if let Some(own) = self.values.get(key) {
            let [key, first, second] = [key, &*own.text, text].map(quotable);
            let two = || format!("the key '{key}' has two values, {first} and {second}: expected one for each key");
            return if *own.text == *text { Ok(()) } else { Err(two()) };
        }
        self.bytes += key.len() + text.len();
        if self.values.len() == MAX_FACTS {
            return Err(format!("more than {MAX_FACTS} facts: expected at most that many in one source"));
        }
        if self.bytes > MAX_SOURCE_BYTES {
            let most = MAX_SOURCE_BYTES >> 20;
            return Err(format!("more than {most} MiB of keys and values: expected at most that much in one source"));
        }
        self.values.insert(key.into(), FactValue::of(text));
        Ok(())
    }

    /// The number of its facts.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Bytes of all keys and values.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// All facts by key, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FactValue)> {
        self.values.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// The fact with this key.
    pub fn by_key(&self, key: &str) -> Option<&FactValue> {
        self.values.get(key)
    }

    /// The fact about a node: by its name, or else by the first of its addresses that has one.
    pub(crate) fn of_node(&self, node: &Node) -> Option<&FactValue> {
        self.values.get(node.name().as_ref()).or_else(|| node.addresses().find_map(|address| self.values.get(address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_the_text_that_it_was() {
        let value = FactValue::of("0123");
        assert_eq!((value.text(), value.number().map(Real::get)), ("0123", Some(123.0)));
        assert_eq!(FactValue::of("NaN").number(), None);
    }

    #[test]
    fn each_limit_holds_and_one_more_is_refused() {
        let long = |bytes: usize| "k".repeat(bytes);
        let of = |key: &str, text: &str| FactSource::from_texts([(key, text)]).map(|source| source.len());
        assert_eq!(of(&long(MAX_FACT_KEY_BYTES), ""), Ok(1));
        assert_eq!(of(&long(MAX_FACT_KEY_BYTES + 1), "").unwrap_err(), "a key of 513 bytes: expected 1 to 512");
        assert_eq!(of("", "a").unwrap_err(), "a key of 0 bytes: expected 1 to 512");
        assert_eq!(of("k", &long(MAX_FACT_TEXT_BYTES)), Ok(1));
        let error = of("k", &long(MAX_FACT_TEXT_BYTES + 1)).unwrap_err();
        assert_eq!(error, "the value of the key 'k' has 4097 bytes: expected at most 4096");
        let many = |count: usize| FactSource::from_texts((0..count).map(|key| (key.to_string(), "1")));
        assert_eq!(many(MAX_FACTS).map(|source| source.len()), Ok(MAX_FACTS));
        assert!(many(MAX_FACTS + 1).unwrap_err().starts_with("more than 100000 facts"));
        let text = long(MAX_FACT_TEXT_BYTES);
        let large = FactSource::from_texts((0..=MAX_SOURCE_BYTES / text.len()).map(|key| (key.to_string(), &text)));
        assert!(large.unwrap_err().starts_with("more than 8 MiB of keys and values"));
    }

    #[test]
    fn a_key_has_one_value() {
        assert_eq!(FactSource::from_texts([("a", "1"), ("a", "1")]).unwrap().len(), 1);
        let error = FactSource::from_texts([("a", "1"), ("a", "2")]).unwrap_err();
        assert_eq!(error, "the key 'a' has two values, 1 and 2: expected one for each key");
    }
}
