//! Lists, maps and enums, and their items.

use std::borrow::Cow;

use serde::{
    de::{
        DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess, Unexpected, VariantAccess,
        Visitor,
    },
    forward_to_deserialize_any,
};

use super::{JsonError, parser::Parser};

/// The items of a list, or the entries of a map.
pub(super) struct Items<'p, 'de> {
    parser: &'p mut Parser<'de>,
    count: usize,
    /// Of the entry whose value is next.
    key: Cow<'de, str>,
}

/// A key of a map: text that may stand for a number.
struct Key<'k, 'de>(&'k Cow<'de, str>);

// === impl Parser ===

impl<'de> Parser<'de> {
    pub(super) fn list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, JsonError> {
        self.within(b'[', b']', visitor, |items, visitor| visitor.visit_seq(items))
    }

    pub(super) fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, JsonError> {
        self.within(b'{', b'}', visitor, |items, visitor| visitor.visit_map(items))
    }

    /// Reads the text between two brackets.
    pub(super) fn within<V: Visitor<'de>>(
        &mut self,
        open: u8,
        close: u8,
        visitor: V,
        read: impl FnOnce(&mut Items<'_, 'de>, V) -> Result<V::Value, JsonError>,
    ) -> Result<V::Value, JsonError> {
        if !self.take(open) {
            return Err(self.unexpected(&visitor));
        }
        self.enter()?;
        let mut items = Items::new(self);
        let value = read(&mut items, visitor)?;
        let count = items.count();
        self.leave();
        if self.take(close) { Ok(value) } else { Err(JsonError::new(format!("expected no more than {count} items"))) }
    }
}

// === impl Items ===

impl<'p, 'de> Items<'p, 'de> {
    pub(super) fn new(parser: &'p mut Parser<'de>) -> Self {
        Self { parser, count: 0, key: Cow::Borrowed("") }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether one more follows; takes the comma before it.
    fn advance(&mut self, close: u8) -> Result<bool, JsonError> {
        if self.parser.peek() == Some(close) {
            return Ok(false);
        }
        if self.count > 0 && !self.parser.take(b',') {
            return Err(JsonError::new("a comma is missing"));
        }
        self.count += 1;
        Ok(true)
    }

    fn read_key(&mut self) -> Result<bool, JsonError> {
        if !self.advance(b'}')? {
            return Ok(false);
        }
        self.key = self.parser.text(&"a key")?;
        if self.parser.take(b':') { Ok(true) } else { Err(JsonError::new("a colon is missing")) }
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'_, 'de> {
    type Error = JsonError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, JsonError> {
        if !self.advance(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.parser).map(Some).map_err(|error| error.at_index(self.count - 1))
    }
}

impl<'de> MapAccess<'de> for &mut Items<'_, 'de> {
    type Error = JsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, JsonError> {
        if !self.read_key()? {
            return Ok(None);
        }
        seed.deserialize(Key(&self.key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, JsonError> {
        seed.deserialize(&mut *self.parser).map_err(|error| error.under_key(&self.key))
    }
}

/// `{"variant": content}`.
impl<'de> EnumAccess<'de> for &mut Items<'_, 'de> {
    type Error = JsonError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), JsonError> {
        if !self.read_key()? {
            return Err(JsonError::new("expected a variant, found an empty map"));
        }
        Ok((seed.deserialize(Key(&self.key))?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Items<'_, 'de> {
    type Error = JsonError;

    fn unit_variant(self) -> Result<(), JsonError> {
        Err(JsonError::new(format!("expected only \"{}\", found a map", self.key)))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, JsonError> {
        seed.deserialize(&mut *self.parser).map_err(|error| error.under_key(&self.key))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, JsonError> {
        self.parser.list(visitor).map_err(|error| error.under_key(&self.key))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, JsonError> {
        self.parser.map(visitor).map_err(|error| error.under_key(&self.key))
    }
}

// === impl Key ===

impl<'de> Key<'_, 'de> {
    fn integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        if let Ok(number) = self.0.parse::<u64>() {
            visitor.visit_u64(number)
        } else if let Ok(number) = self.0.parse::<i64>() {
            visitor.visit_i64(number)
        } else {
            Err(self.wrong(&visitor))
        }
    }

    fn wrong(&self, expected: &dyn Expected) -> JsonError {
        JsonError::invalid_value(Unexpected::Str(self.0), expected)
    }
}

/// Keys that are integers; one method for each size.
macro_rules! integer_keys {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
            self.integer(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'_, 'de> {
    type Error = JsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self.0 {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_str(key),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        visitor.visit_enum(serde::de::value::StrDeserializer::new(self.0))
    }

    integer_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    forward_to_deserialize_any! {
        bool f32 f64 i128 u128 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}
