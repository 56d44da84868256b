//! The functions of Kubernetes' environment, and those of the world, for the interpreter.

mod lists;
mod patterns;
mod texts;

use std::cmp::Ordering;

use cel::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{
            CelBool, CelDouble, CelInt, CelList, CelString, CelUInt, DYN_TYPE, INT_TYPE, LIST_TYPE, STRING_TYPE, Type,
        },
        value::{CowVal, Val},
    },
    extensions,
};

use crate::values::{
    ip::Ip,
    quantity::Quantity,
    semver::Semver,
    time::{self, Duration, Timestamp},
    world::{OBJECTS, ask},
};

pub(crate) use lists::{KEYS, RANGE, begin, is_of_steps};

/// The text of a value that is formatted by `%s`.
pub(crate) const SHOW: &str = "@show";

/// Functions of the crate that have another meaning in Kubernetes, with their number of arguments.
const REPLACED: [(&str, usize); 5] =
    [("string/double", 1), ("bool/string", 1), ("uint/string", 1), ("indexOf/string", 3), ("lastIndexOf/string", 3)];

type Args<'b, 'v> = Vec<CowVal<'b, 'v>>;
type Outcome<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// What a function returns, as the interpreter takes it.
trait Answer {
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

/// Declares functions with the types of their arguments: a `method` is called on its first one.
macro_rules! declare {
    ($env:expr; $($kind:ident $name:literal ($($argument:ident: $type:ident),+) $body:expr;)*) => {$({
        fn call<'b, 'v>(args: Args<'b, 'v>) -> Outcome<'b, 'v> {
            let mut args = args.iter();
            $(let $argument = args.next().and_then(|value| value.downcast_ref::<$type>()).ok_or_else(|| missing($name))?;)+
            $body.answer($name)
        }
        let id = concat!(stringify!($kind), " ", $name, $("/", stringify!($type)),+);
        let types = [$(<$type>::cel_type().to_owned()),+];
        declare!(@$kind $env, $name, id, types, call)?;
    })*};
    (@function $env:expr, $name:literal, $id:expr, $types:expr, $call:expr) => {
        $env.add_overload($name, $id, $types.into(), $call)
    };
    (@method $env:expr, $name:literal, $id:expr, $types:expr, $call:expr) => {
        add_method($env, $name, $id, $types.into(), $call)
    };
}

fn add_method(
    env: &mut Env,
    name: &str,
    id: &str,
    mut types: Vec<Type>,
    call: cel::common::functions::Function,
) -> Result<(), DeclarationError> {
    let target = types.remove(0);
    env.add_member_overload(name, id, target, types, call)
}

/// An environment with all functions.
pub(crate) fn environment() -> Result<Env, DeclarationError> {
    let mut environment = Env::stdlib();
    environment.add_extension(extensions::strings)?;
    environment.add_extension(extensions::lists)?;
    let env = &mut environment;
    lists::declare(env)?;
    declare_times(env)?;
    env.add_overload(SHOW, "show", vec![DYN_TYPE], |args| texts::show(args[0].as_ref(), false)?.answer("format"))?;
    declare_world(env)?;
    declare! { env;
        function "quantity" (text: CelString) Quantity::parse(text);
        function "isQuantity" (text: CelString) Quantity::parse(text).is_ok();
        function "sign" (quantity: Quantity) quantity.sign();
        method "asApproximateFloat" (quantity: Quantity) quantity.float();
        method "asInteger" (quantity: Quantity) quantity.integer().ok_or_else(|| "it is no integer: ask `isInteger()` first".to_owned());
        method "isInteger" (quantity: Quantity) quantity.integer().is_some();
        method "isGreaterThan" (one: Quantity, other: Quantity) one.compare(*other).is_gt();
        method "isLessThan" (one: Quantity, other: Quantity) one.compare(*other).is_lt();
        method "compareTo" (one: Quantity, other: Quantity) one.compare(*other);
        method "add" (one: Quantity, other: Quantity) one.add(*other);
        method "add" (one: Quantity, other: CelInt) one.add(Quantity::counted(**other, 0));
        method "sub" (one: Quantity, other: Quantity) one.add(other.negated());
        method "sub" (one: Quantity, other: CelInt) one.add(Quantity::counted(**other, 0).negated());
        function "semver" (text: CelString) Semver::parse(text, false);
        function "semver" (text: CelString, normalise: CelBool) Semver::parse(text, **normalise);
        function "isSemver" (text: CelString) Semver::parse(text, false).is_ok();
        function "isSemver" (text: CelString, normalise: CelBool) Semver::parse(text, **normalise).is_ok();
        method "major" (version: Semver) version.numbers[0] as i64;
        method "minor" (version: Semver) version.numbers[1] as i64;
        method "patch" (version: Semver) version.numbers[2] as i64;
        method "isGreaterThan" (one: Semver, other: Semver) one.compare(other).is_gt();
        method "isLessThan" (one: Semver, other: Semver) one.compare(other).is_lt();
        method "compareTo" (one: Semver, other: Semver) one.compare(other);
        function "ip" (text: CelString) Ip::parse(text);
        function "isIP" (text: CelString) Ip::parse(text).is_ok();
        function "ip.isCanonical" (text: CelString) Ip::parse(text).map(|ip| ip.text() == text.inner());
        function "string" (ip: Ip) ip.text();
        method "family" (ip: Ip) (if ip.0.is_ipv4() { 4_i64 } else { 6 });
        method "isUnspecified" (ip: Ip) ip.0.is_unspecified();
        method "isLoopback" (ip: Ip) ip.0.is_loopback();
        method "isLinkLocalMulticast" (ip: Ip) ip.is_link_local_multicast();
        method "isLinkLocalUnicast" (ip: Ip) ip.is_link_local_unicast();
        method "isGlobalUnicast" (ip: Ip) ip.is_global_unicast();
        function "@string/double" (number: CelDouble) texts::double(**number);
        function "@bool/string" (text: CelString) texts::bool(text);
        function "@uint/string" (text: CelString) text.parse::<u64>().ok().filter(|_| !text.starts_with('+')).ok_or_else(|| format!("{:?} is no uint", text.inner()));
        method "@indexOf/string" (text: CelString, wanted: CelString, offset: CelInt) texts::index_of(text, wanted, **offset, false);
        method "@lastIndexOf/string" (text: CelString, wanted: CelString, offset: CelInt) texts::index_of(text, wanted, **offset, true);
        function "matches" (text: CelString, pattern: CelString) patterns::matches(text, pattern);
        method "matches" (text: CelString, pattern: CelString) patterns::matches(text, pattern);
        method "find" (text: CelString, pattern: CelString) patterns::find(text, pattern);
        method "findAll" (text: CelString, pattern: CelString) patterns::find_all(text, pattern, -1);
        method "findAll" (text: CelString, pattern: CelString, limit: CelInt) patterns::find_all(text, pattern, **limit);
    }
    Ok(environment)
}

/// The name of the function that is called in place of another, by the type of its first argument.
pub(crate) fn replacement(name: &str, first: &str, arguments: usize) -> Option<String> {
    let full = format!("{name}/{first}");
    REPLACED.contains(&(full.as_str(), arguments)).then(|| format!("@{full}"))
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

fn failed(function: &str, error: impl ToString) -> ExecutionError {
    ExecutionError::function_error(function, error)
}

/// An argument that is missing or of another type, which the types of the overload rule out.
fn missing(function: &str) -> ExecutionError {
    failed(function, "an argument is of another type")
}

fn declare_times(env: &mut Env) -> Result<(), DeclarationError> {
    macro_rules! parts {
        ($($name:literal)*) => {$(declare! { env;
            method $name (time: Timestamp) time.part($name, 0);
            method $name (time: Timestamp, zone: CelString) time::offset(zone).map(|offset| time.part($name, offset));
        })*};
    }
    parts! { "getFullYear" "getMonth" "getDate" "getDayOfMonth" "getDayOfWeek" "getDayOfYear" "getHours" "getMinutes" "getSeconds" "getMilliseconds" }
    declare! { env;
        method "getHours" (duration: Duration) duration.nanos() / 3_600_000_000_000;
        method "getMinutes" (duration: Duration) duration.nanos() / 60_000_000_000;
        method "getSeconds" (duration: Duration) duration.nanos() / 1_000_000_000;
        method "getMilliseconds" (duration: Duration) duration.nanos() / 1_000_000;
        function "duration" (text: CelString) Duration::parse(text);
        function "duration" (duration: Duration) *duration;
        function "timestamp" (text: CelString) Timestamp::parse(text);
        function "timestamp" (seconds: CelInt) Timestamp::of_seconds(**seconds);
        function "timestamp" (time: Timestamp) *time;
        function "int" (time: Timestamp) time.seconds();
        function "string" (time: Timestamp) time.text();
        function "string" (duration: Duration) duration.text();
    }
    Ok(())
}

/// What the pod, the node and the cluster are asked for by a call.
fn declare_world(env: &mut Env) -> Result<(), DeclarationError> {
    macro_rules! methods {
        ($($on:expr => $($name:literal ($($argument:expr),*))*;)*) => {$($(
            let arguments = vec![$($argument),*];
            let id = format!("{}.{}/{}", $on.name(), $name, arguments.len());
            env.add_member_overload($name, &id, $on.to_owned(), arguments, |args| ask($name, &args))?;
        )*)*};
    }
    let [pod, node, placed, cluster, facts, _] = &OBJECTS;
    methods! {
        pod => "request"(STRING_TYPE) "field"(STRING_TYPE);
        node => "allocatable"(STRING_TYPE) "capacity"(STRING_TYPE) "requested"(STRING_TYPE) "free"(STRING_TYPE)
            "resourceKnown"(STRING_TYPE) "imageSize"(STRING_TYPE) "field"(STRING_TYPE) "factText"(STRING_TYPE)
            "factNumber"(STRING_TYPE);
        placed => "request"(STRING_TYPE);
        LIST_TYPE => "count"() "count"(STRING_TYPE, STRING_TYPE, STRING_TYPE);
        facts => "text"(STRING_TYPE, STRING_TYPE) "number"(STRING_TYPE, STRING_TYPE);
        cluster => "namespace"(STRING_TYPE) "label"(STRING_TYPE, STRING_TYPE) "annotation"(STRING_TYPE, STRING_TYPE)
            "nodeLabel"(STRING_TYPE, STRING_TYPE) "count"() "countUpTo"(INT_TYPE) "atLeast"(INT_TYPE)
            "requested"(STRING_TYPE) "nodesWithLabel"(STRING_TYPE, STRING_TYPE) "labelValues"(STRING_TYPE);
    }
    Ok(())
}
