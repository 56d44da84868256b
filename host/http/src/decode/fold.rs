//! Objects whose keys match in any ASCII case, and bounded lists. Errors name the path of the value.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Maximum elements of one list of names, nodes, candidates or victims. Kubernetes supports 5,000 nodes.
pub(super) const MAX_ELEMENTS: usize = 100_000;

/// An object with these keys. They match in any ASCII case, the last of several wins, and other keys are skipped.
pub(super) trait Fields<'de>: Default {
    /// The object, for errors.
    const EXPECTED: &'static str;
    const KEYS: &'static [&'static str];

    /// Reads the value of the key with this index.
    fn read<A: MapAccess<'de>>(&mut self, key: usize, map: &mut A) -> Result<(), A::Error>;
}

/// Reads an object with fields.
pub(super) struct Object<T>(pub(super) T);

/// Finds a key among others: its index there, or none for an unknown key.
#[derive(Clone, Copy)]
struct Key(&'static [&'static str]);

/// A list; null is an empty one. Elements are named by their index in errors.
pub(super) struct BoundedList<T>(pub(super) Vec<T>);

/// Reads the value of a field; errors are prefixed with the field's name.
pub(super) fn value<'de, A: MapAccess<'de>, T: Deserialize<'de>>(map: &mut A, field: &str) -> Result<T, A::Error> {
    map.next_value().map_err(|error| at(field, &error))
}

/// Prefixes an error with one more step of its path.
pub(super) fn at<E: Error>(step: impl fmt::Display, error: &E) -> E {
    let text = error.to_string();
    // An error that already has a path begins with its next step.
    let join = if text.starts_with(['.', '[']) { "" } else { ": " };
    E::custom(format_args!("{step}{join}{text}"))
}

/// The text of the error for a list that is too long.
fn too_long() -> String {
    format!("it has more than {MAX_ELEMENTS} elements")
}

/// Refuses one more element than a list may have.
pub(super) fn check_length<E: Error>(elements: usize) -> Result<(), E> {
    if elements == MAX_ELEMENTS { Err(E::custom(too_long())) } else { Ok(()) }
}

/// Whether this is an error about a list that is too long.
pub(super) fn is_too_long(error: &str) -> bool {
    error.contains(&too_long())
}

impl<'de, T: Fields<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Fields<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = T::default();
        while let Some(key) = map.next_key_seed(Key(T::KEYS))? {
            match key {
                Some(key) => fields.read(key, &mut map)?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Object(fields))
    }
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|own| own.eq_ignore_ascii_case(key)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BoundedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = BoundedList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<BoundedList<T>, E> {
        Ok(BoundedList(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<BoundedList<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element().map_err(|error| at(format_args!("[{}]", list.len()), &error))? {
            check_length(list.len())?;
            list.push(element);
        }
        Ok(BoundedList(list))
    }
}
