//! What functions take and return.

use std::cmp::Ordering;

use cel::{
    ExecutionError,
    common::{
        types::{CelBool, CelDouble, CelInt, CelList, CelString, CelUInt},
        value::CowVal,
    },
};

use crate::values::{
    ip::Ip,
    quantity::Quantity,
    semver::Semver,
    time::{Duration, Timestamp},
};

pub(super) type Args<'b, 'v> = Vec<CowVal<'b, 'v>>;
pub(super) type Outcome<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// What a function returns, as the interpreter takes it.
pub(super) trait Answer {
    fn answer<'b, 'v>(self, function: &str) -> Outcome<'b, 'v>;
}

macro_rules! answers {
    ($($from:ty => $to:ty),*) => {$(
        impl Answer for $from {
            fn answer<'b, 'v>(self, _: &str) -> Outcome<'b, 'v> {
                Ok(CowVal::owned(<$to>::from(self)))
            }
        }
    )*};
}

answers! {
    bool => CelBool, i64 => CelInt, u64 => CelUInt, f64 => CelDouble, String => CelString, CelList<'static> => CelList, Ip => Ip,
    Quantity => Quantity, Semver => Semver, Timestamp => Timestamp, Duration => Duration
}

impl Answer for Ordering {
    fn answer<'b, 'v>(self, function: &str) -> Outcome<'b, 'v> {
        (self as i64).answer(function)
    }
}

impl<T: Answer> Answer for Result<T, String> {
    fn answer<'b, 'v>(self, function: &str) -> Outcome<'b, 'v> {
        self.map_err(|error| failed(function, error))?.answer(function)
    }
}

pub(super) fn failed(function: &str, error: impl ToString) -> ExecutionError {
    ExecutionError::function_error(function, error)
}

/// An argument that is missing or of another type, which the types of the overload rule out.
pub(super) fn missing(function: &str) -> ExecutionError {
    failed(function, "an argument is of another type")
}
