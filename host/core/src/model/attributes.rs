//! The reads of a view as the decision cache knows them: a value is found by its attribute, and a call is recorded by the
//! attributes that it reads.

mod attribute;
mod recording;

pub use self::recording::ReadLine;
pub(crate) use self::{
    attribute::{Attribute, AttributeOf, Columns, FACTS, NODE, PODS},
    recording::Recording,
};
