//! The functions of Kubernetes' environment, and those of the world, for the interpreter.
#![expect(clippy::trivially_copy_pass_by_ref, reason = "the macros of `cel` pass references")]

mod lists;
mod patterns;

use std::cmp::Ordering;

use cel::{
    DeclarationError, Env, ExecutionError, add_member_overload, add_overload,
    common::types::{CelBool, CelDouble, CelInt, CelString, INT_TYPE, LIST_TYPE, STRING_TYPE},
    extensions,
};

use crate::values::{
    ip::Ip,
    quantity::Quantity,
    semver::Semver,
    time::{self, Duration, Timestamp},
    world::{OBJECTS, ask},
};

pub(crate) use lists::KEYS;

type Outcome<T> = Result<T, ExecutionError>;

/// An environment with all functions.
pub(crate) fn environment() -> Result<Env, DeclarationError> {
    let mut env = Env::stdlib();
    env.add_extension(extensions::strings)?;
    env.add_extension(extensions::lists)?;
    lists::declare(&mut env)?;
    patterns::declare(&mut env)?;
    declare_quantities(&mut env)?;
    declare_versions(&mut env)?;
    declare_addresses(&mut env)?;
    declare_times(&mut env)?;
    declare_world(&mut env)?;
    Ok(env)
}

/// Whether the literal, the last argument of a function, would make it fail each time.
pub(crate) fn check_literal(function: &str, arguments: usize, text: &str) -> Result<(), String> {
    match (function, arguments) {
        ("matches" | "find" | "findAll", _) => patterns::check(text),
        ("quantity", 1) => Quantity::parse(text).map(drop),
        ("semver", 1) => Semver::parse(text, false).map(drop),
        ("ip", 1) => Ip::parse(text).map(drop),
        ("duration", 1) => Duration::parse(text).map(drop),
        ("timestamp", 1) => Timestamp::parse(text).map(drop),
        (name, 1) if name.starts_with("get") => time::offset(text).map(drop),
        _ => Ok(()),
    }
}

fn failed<T>(function: &str, result: Result<T, String>) -> Outcome<T> {
    result.map_err(|error| ExecutionError::function_error(function, error))
}

fn order(ordering: Ordering) -> CelInt {
    CelInt::from(ordering as i64)
}

fn declare_quantities(env: &mut Env) -> Result<(), DeclarationError> {
    fn parse(text: &CelString) -> Outcome<Quantity> {
        failed("quantity", Quantity::parse(text))
    }
    fn is(text: &CelString) -> CelBool {
        Quantity::parse(text).is_ok().into()
    }
    fn sum(quantity: Quantity, other: Quantity) -> Outcome<Quantity> {
        failed("quantity", quantity.add(other).ok_or_else(|| "the sum is too large".to_owned()))
    }
    fn integer(quantity: &Quantity) -> Outcome<CelInt> {
        let integer = quantity.integer().ok_or_else(|| "it is no integer: ask `isInteger()` first".to_owned());
        failed("asInteger", integer).map(CelInt::from)
    }
    fn add(one: &Quantity, other: &Quantity) -> Outcome<Quantity> {
        sum(*one, *other)
    }
    fn add_int(one: &Quantity, other: &CelInt) -> Outcome<Quantity> {
        sum(*one, Quantity::counted(**other, 0))
    }
    fn sub(one: &Quantity, other: &Quantity) -> Outcome<Quantity> {
        sum(*one, other.negated())
    }
    fn sub_int(one: &Quantity, other: &CelInt) -> Outcome<Quantity> {
        sum(*one, Quantity::counted(**other, 0).negated())
    }
    fn sign(quantity: &Quantity) -> CelInt {
        quantity.sign().into()
    }
    fn float(quantity: &Quantity) -> CelDouble {
        quantity.float().into()
    }
    fn is_integer(quantity: &Quantity) -> CelBool {
        quantity.integer().is_some().into()
    }
    fn compare(one: &Quantity, other: &Quantity) -> CelInt {
        order(one.compare(*other))
    }
    fn greater(one: &Quantity, other: &Quantity) -> CelBool {
        one.compare(*other).is_gt().into()
    }
    fn less(one: &Quantity, other: &Quantity) -> CelBool {
        one.compare(*other).is_lt().into()
    }
    add_overload!(env, fn parse: (CelString) -> Result<Quantity>, name = "quantity")?;
    add_overload!(env, fn is: (CelString) -> CelBool, name = "isQuantity")?;
    add_member_overload!(env, fn sign: (Quantity) -> CelInt)?;
    add_member_overload!(env, fn float: (Quantity) -> CelDouble, name = "asApproximateFloat")?;
    add_member_overload!(env, fn integer: (Quantity) -> Result<CelInt>, name = "asInteger")?;
    add_member_overload!(env, fn is_integer: (Quantity) -> CelBool)?;
    add_member_overload!(env, fn greater: (Quantity, Quantity) -> CelBool, name = "isGreaterThan")?;
    add_member_overload!(env, fn less: (Quantity, Quantity) -> CelBool, name = "isLessThan")?;
    add_member_overload!(env, fn compare: (Quantity, Quantity) -> CelInt, name = "compareTo")?;
    add_member_overload!(env, fn add: (Quantity, Quantity) -> Result<Quantity>)?;
    add_member_overload!(env, fn add_int: (Quantity, CelInt) -> Result<Quantity>, name = "add")?;
    add_member_overload!(env, fn sub: (Quantity, Quantity) -> Result<Quantity>)?;
    add_member_overload!(env, fn sub_int: (Quantity, CelInt) -> Result<Quantity>, name = "sub")
}

fn declare_versions(env: &mut Env) -> Result<(), DeclarationError> {
    fn parse(text: &CelString) -> Outcome<Semver> {
        failed("semver", Semver::parse(text, false))
    }
    fn parse_normal(text: &CelString, normalise: &CelBool) -> Outcome<Semver> {
        failed("semver", Semver::parse(text, **normalise))
    }
    fn is(text: &CelString) -> CelBool {
        Semver::parse(text, false).is_ok().into()
    }
    fn is_normal(text: &CelString, normalise: &CelBool) -> CelBool {
        Semver::parse(text, **normalise).is_ok().into()
    }
    fn number(version: &Semver, index: usize) -> CelInt {
        CelInt::from(version.numbers[index] as i64)
    }
    fn major(version: &Semver) -> CelInt {
        number(version, 0)
    }
    fn minor(version: &Semver) -> CelInt {
        number(version, 1)
    }
    fn patch(version: &Semver) -> CelInt {
        number(version, 2)
    }
    fn compare(one: &Semver, other: &Semver) -> CelInt {
        order(one.compare(other))
    }
    fn greater(one: &Semver, other: &Semver) -> CelBool {
        one.compare(other).is_gt().into()
    }
    fn less(one: &Semver, other: &Semver) -> CelBool {
        one.compare(other).is_lt().into()
    }
    add_overload!(env, fn parse: (CelString) -> Result<Semver>, name = "semver")?;
    add_overload!(env, fn parse_normal: (CelString, CelBool) -> Result<Semver>, name = "semver")?;
    add_overload!(env, fn is: (CelString) -> CelBool, name = "isSemver")?;
    add_overload!(env, fn is_normal: (CelString, CelBool) -> CelBool, name = "isSemver")?;
    add_member_overload!(env, fn major: (Semver) -> CelInt)?;
    add_member_overload!(env, fn minor: (Semver) -> CelInt)?;
    add_member_overload!(env, fn patch: (Semver) -> CelInt)?;
    add_member_overload!(env, fn greater: (Semver, Semver) -> CelBool, name = "isGreaterThan")?;
    add_member_overload!(env, fn less: (Semver, Semver) -> CelBool, name = "isLessThan")?;
    add_member_overload!(env, fn compare: (Semver, Semver) -> CelInt, name = "compareTo")
}

fn declare_addresses(env: &mut Env) -> Result<(), DeclarationError> {
    fn parse(text: &CelString) -> Outcome<Ip> {
        failed("ip", Ip::parse(text))
    }
    fn is(text: &CelString) -> CelBool {
        Ip::parse(text).is_ok().into()
    }
    fn is_canonical(text: &CelString) -> Outcome<CelBool> {
        Ok((parse(text)?.text() == text.inner()).into())
    }
    fn string(ip: &Ip) -> CelString<'static> {
        ip.text().into()
    }
    fn family(ip: &Ip) -> CelInt {
        (if ip.0.is_ipv4() { 4 } else { 6 }).into()
    }
    fn is_unspecified(ip: &Ip) -> CelBool {
        ip.0.is_unspecified().into()
    }
    fn is_loopback(ip: &Ip) -> CelBool {
        ip.0.is_loopback().into()
    }
    fn is_link_local_multicast(ip: &Ip) -> CelBool {
        ip.is_link_local_multicast().into()
    }
    fn is_link_local_unicast(ip: &Ip) -> CelBool {
        ip.is_link_local_unicast().into()
    }
    fn is_global_unicast(ip: &Ip) -> CelBool {
        ip.is_global_unicast().into()
    }
    add_overload!(env, fn parse: (CelString) -> Result<Ip>, name = "ip")?;
    add_overload!(env, fn is: (CelString) -> CelBool, name = "isIP")?;
    add_overload!(env, fn is_canonical: (CelString) -> Result<CelBool>, name = "ip.isCanonical")?;
    add_overload!(env, fn string: (Ip) -> CelString)?;
    add_member_overload!(env, fn family: (Ip) -> CelInt)?;
    add_member_overload!(env, fn is_unspecified: (Ip) -> CelBool)?;
    add_member_overload!(env, fn is_loopback: (Ip) -> CelBool)?;
    add_member_overload!(env, fn is_link_local_multicast: (Ip) -> CelBool)?;
    add_member_overload!(env, fn is_link_local_unicast: (Ip) -> CelBool)?;
    add_member_overload!(env, fn is_global_unicast: (Ip) -> CelBool)
}

fn declare_times(env: &mut Env) -> Result<(), DeclarationError> {
    /// One function of timestamps with and without a zone, and of durations where they have it.
    macro_rules! parts {
        ($($name:literal)*) => {$({
            fn part(time: &Timestamp) -> Outcome<CelInt> {
                failed($name, time.part($name, 0).ok_or_else(String::new)).map(CelInt::from)
            }
            fn part_at(time: &Timestamp, zone: &CelString) -> Outcome<CelInt> {
                let offset = failed($name, time::offset(zone))?;
                failed($name, time.part($name, offset).ok_or_else(String::new)).map(CelInt::from)
            }
            fn part_of(duration: &Duration) -> Outcome<CelInt> {
                failed($name, duration.part($name).ok_or_else(String::new)).map(CelInt::from)
            }
            add_member_overload!(env, fn part: (Timestamp) -> Result<CelInt>, name = $name)?;
            add_member_overload!(env, fn part_at: (Timestamp, CelString) -> Result<CelInt>, name = $name)?;
            add_member_overload!(env, fn part_of: (Duration) -> Result<CelInt>, name = $name)?;
        })*};
    }
    fn duration(text: &CelString) -> Outcome<Duration> {
        failed("duration", Duration::parse(text))
    }
    fn duration_itself(duration: &Duration) -> Duration {
        *duration
    }
    fn timestamp(text: &CelString) -> Outcome<Timestamp> {
        failed("timestamp", Timestamp::parse(text))
    }
    fn timestamp_of_int(seconds: &CelInt) -> Outcome<Timestamp> {
        failed("timestamp", Timestamp::of_seconds(**seconds))
    }
    fn timestamp_itself(time: &Timestamp) -> Timestamp {
        *time
    }
    fn seconds(time: &Timestamp) -> CelInt {
        time.seconds().into()
    }
    fn text(time: &Timestamp) -> CelString<'static> {
        time.text().into()
    }
    fn duration_text(duration: &Duration) -> CelString<'static> {
        duration.text().into()
    }
    parts! { "getFullYear" "getMonth" "getDate" "getDayOfMonth" "getDayOfWeek" "getDayOfYear" "getHours" "getMinutes" "getSeconds" "getMilliseconds" }
    add_overload!(env, fn duration: (CelString) -> Result<Duration>)?;
    add_overload!(env, fn duration_itself: (Duration) -> Duration, name = "duration")?;
    add_overload!(env, fn timestamp: (CelString) -> Result<Timestamp>)?;
    add_overload!(env, fn timestamp_of_int: (CelInt) -> Result<Timestamp>, name = "timestamp")?;
    add_overload!(env, fn timestamp_itself: (Timestamp) -> Timestamp, name = "timestamp")?;
    add_overload!(env, fn seconds: (Timestamp) -> CelInt, name = "int")?;
    add_overload!(env, fn text: (Timestamp) -> CelString, name = "string")?;
    add_overload!(env, fn duration_text: (Duration) -> CelString, name = "string")
}

/// What the pod, the node and the cluster are asked for by a call.
fn declare_world(env: &mut Env) -> Result<(), DeclarationError> {
    let [pod, node, placed, .., cluster, facts, _, _] = &OBJECTS;
    macro_rules! declare {
        ($($on:expr, $name:literal ($($argument:expr),*);)*) => {$(
            let id = format!("{}.{}/{}", $on.name(), $name, <[cel::common::types::Type]>::len(&[$($argument),*]));
            env.add_member_overload($name, &id, $on.to_owned(), vec![$($argument),*], |args| ask($name, &args))?;
        )*};
    }
    declare! {
        pod, "request" (STRING_TYPE);
        pod, "field" (STRING_TYPE);
        node, "allocatable" (STRING_TYPE);
        node, "capacity" (STRING_TYPE);
        node, "requested" (STRING_TYPE);
        node, "free" (STRING_TYPE);
        node, "resourceKnown" (STRING_TYPE);
        node, "imageSize" (STRING_TYPE);
        node, "field" (STRING_TYPE);
        node, "factText" (STRING_TYPE);
        node, "factNumber" (STRING_TYPE);
        placed, "request" (STRING_TYPE);
        &LIST_TYPE, "count" ();
        &LIST_TYPE, "count" (STRING_TYPE, STRING_TYPE, STRING_TYPE);
        facts, "text" (STRING_TYPE, STRING_TYPE);
        facts, "number" (STRING_TYPE, STRING_TYPE);
        cluster, "namespace" (STRING_TYPE);
        cluster, "label" (STRING_TYPE, STRING_TYPE);
        cluster, "annotation" (STRING_TYPE, STRING_TYPE);
        cluster, "nodeLabel" (STRING_TYPE, STRING_TYPE);
        cluster, "count" ();
        cluster, "countUpTo" (INT_TYPE);
        cluster, "atLeast" (INT_TYPE);
        cluster, "requested" (STRING_TYPE);
        cluster, "nodesWithLabel" (STRING_TYPE, STRING_TYPE);
        cluster, "labelValues" (STRING_TYPE);
    }
    Ok(())
}
