//! The parser of an answer: it hands names, reasons and scores over one by one, as they stand in the output.

use std::fmt;

use plimsoll_core::Fault;
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor},
};

use super::{
    parts::{AnswerList, Field, Part},
    statements::Statements,
};

/// Reads an answer.
///
/// # Errors
/// If it is no such JSON, or `statements` has the fault that ended it.
pub(super) fn read(text: &[u8], whole: Part, statements: &mut Statements<'_>) -> serde_json::Result<()> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    Reader { part: whole, statements }.deserialize(&mut parser)?;
    parser.end()
}

/// Reads one part of an answer.
struct Reader<'r, 'v> {
    part: Part,
    statements: &'r mut Statements<'v>,
}

/// Passes over a value that an answer does not need. `IgnoredAny` of serde would not check the deadline.
struct Skipped<'r, 'v>(&'r mut Statements<'v>);

/// Finds a key among the fields of an object.
struct Key(&'static [Field]);

// === impl Reader ===

impl<'v> Reader<'_, 'v> {
    fn of(&mut self, part: Part) -> Reader<'_, 'v> {
        Reader { part, statements: self.statements }
    }

    /// A mistake about a node ends the parser.
    fn accept<E: Error>(self, stated: Result<(), Fault>) -> Result<(), E> {
        stated.map_err(|fault| {
            self.statements.stop(fault);
            E::custom("the answer ends here")
        })
    }

    fn wrong_type<E: Error>(&self, found: Unexpected<'_>) -> E {
        E::invalid_type(found, self)
    }

    fn reasons<'de, A: MapAccess<'de>>(mut self, list: AnswerList, mut map: A) -> Result<(), A::Error> {
        while map.next_key_seed(self.of(Part::Name(list)))?.is_some() {
            map.next_value_seed(self.of(Part::Reason(list)))?;
        }
        Ok(())
    }

    /// Reads the fields of an object; other keys are ignored.
    fn object<'de, A: MapAccess<'de>>(mut self, fields: &'static [Field], mut map: A) -> Result<(), A::Error> {
        // A bit for each field.
        let mut seen = 0_u8;
        while let Some(key) = map.next_key_seed(Key(fields))? {
            let Some((index, field)) = key else {
                map.next_value_seed(Skipped(self.statements))?;
                continue;
            };
            if seen & (1 << index) != 0 {
                return Err(A::Error::duplicate_field(field.names[0]));
            }
            seen |= 1 << index;
            map.next_value_seed(self.of(field.part))?;
        }
        let is_missing = |(index, field): &(usize, &Field)| field.is_required && seen & (1 << index) == 0;
        if let Some((_, field)) = fields.iter().enumerate().find(is_missing) {
            return Err(A::Error::missing_field(field.names[0]));
        }
        match self.part {
            Part::Priority => {
                let scored = self.statements.scored();
                self.accept(scored)
            }
            _ => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.statements.next_value()?;
        // Any: the messages of a parser that expects one type quote a string of another type as a whole.
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.part.expected())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.part.is_nullable() { Ok(()) } else { Err(self.wrong_type(Unexpected::Unit)) }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        if self.part != Part::Score {
            return Err(self.wrong_type(Unexpected::Signed(number)));
        }
        self.statements.score(number);
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(self.wrong_type(Unexpected::Unsigned(number))),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let stated = match self.part {
            Part::Name(list) => self.statements.name(list, text),
            Part::Reason(list) => self.statements.reason(list, text),
            Part::Error => Statements::error(text),
            // The string may be as long as the output: no message may copy it.
            _ => return Err(self.wrong_type(Unexpected::Other("a string"))),
        };
        self.accept(stated)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let Some(item) = self.part.item() else { return Err(self.wrong_type(Unexpected::Seq)) };
        while list.next_element_seed(self.of(item))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match self.part {
            Part::Reasons(list) => self.reasons(list, map),
            part if part.fields().is_empty() => Err(self.wrong_type(Unexpected::Map)),
            part => {
                if part == Part::Nodes {
                    self.statements.note_objects();
                }
                self.object(part.fields(), map)
            }
        }
    }
}

// === impl Skipped ===

impl<'de> DeserializeSeed<'de> for Skipped<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.next_value()?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Skipped<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Skipped(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key_seed(Skipped(self.0))?.is_some() {
            map.next_value_seed(Skipped(self.0))?;
        }
        Ok(())
    }
}

// === impl Key ===

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<(usize, &'static Field)>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<(usize, &'static Field)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().enumerate().find(|(_, field)| field.names.contains(&key)))
    }
}
