//! The keys of Kubernetes' objects, for objects that people write by hand: a misspelt one is an error.

use std::{collections::HashMap, fmt, sync::LazyLock};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor},
};
use serde_json::{Map, Value};

/// A line for each type: its name and its fields, `field:Type` where these have fields again, and `field:texts` for a map of
/// texts. `tests/contract/oracle fields` prints it from Kubernetes' own types.
const TABLE: &str = include_str!("fields.txt");

static TYPES: LazyLock<HashMap<&str, Fields>> = LazyLock::new(|| TABLE.lines().map(fields).collect());

/// The fields of a type.
struct Fields {
    names: Vec<&'static str>,
    /// The type of each field, if it has fields itself.
    types: Vec<Option<&'static str>>,
}

/// Reads an object of a kind, and refuses keys that Kubernetes does not know; of another kind it takes any object.
#[derive(Clone, Copy)]
pub struct KnownKeys(Content);

#[derive(Clone, Copy)]
enum Content {
    Any,
    Object(&'static Fields),
    /// A map of texts, such as annotations.
    Texts,
    Text,
}

fn fields(line: &'static str) -> (&'static str, Fields) {
    let (name, fields) = line.split_once(' ').unwrap_or((line, ""));
    let split = |field: &'static str| field.split_once(':').map_or((field, None), |(field, of)| (field, Some(of)));
    let (names, types) = fields.split_whitespace().map(split).unzip();
    (name, Fields { names, types })
}

// === impl Content ===

impl Content {
    /// Of a type in the table.
    fn of(name: &str) -> Self {
        if name == "texts" { Self::Texts } else { TYPES.get(name).map_or(Self::Any, Self::Object) }
    }
}

// === impl KnownKeys ===

impl KnownKeys {
    /// For an object of this kind.
    pub fn of(kind: &str) -> Self {
        Self(Content::of(kind))
    }

    /// A value that is no object; what should be one is left to the reader of the object.
    fn scalar<E: Error>(self, value: Value, found: Unexpected<'_>) -> Result<Value, E> {
        match self.0 {
            Content::Text => Err(E::invalid_type(found, &"text")),
            _ => Ok(value),
        }
    }
}

impl<'de> DeserializeSeed<'de> for KnownKeys {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.0 {
            Content::Any => Value::deserialize(deserializer),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for KnownKeys {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, of)) = map.next_key_seed(KnownKey(self.0))? {
            object.insert(key, map.next_value_seed(of)?);
        }
        Ok(Value::Object(object))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = vec![];
        while let Some(item) = list.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.scalar(value.into(), Unexpected::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        self.scalar(number.into(), Unexpected::Signed(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        self.scalar(number.into(), Unexpected::Unsigned(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        self.scalar(number.into(), Unexpected::Float(number))
    }
}

/// Reads a key, and finds the type of its value. The error is made here, where a parser knows the key's place.
struct KnownKey(Content);

impl<'de> DeserializeSeed<'de> for KnownKey {
    type Value = (String, KnownKeys);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let key = String::deserialize(deserializer)?;
        let fields = match self.0 {
            Content::Object(fields) => fields,
            Content::Texts => return Ok((key, KnownKeys(Content::Text))),
            Content::Any | Content::Text => return Ok((key, KnownKeys(Content::Any))),
        };
        let at = fields.names.iter().position(|name| *name == key);
        let at = at.ok_or_else(|| Error::unknown_field(&key, &fields.names))?;
        Ok((key, KnownKeys(fields.types[at].map_or(Content::Any, Content::of))))
    }
}
