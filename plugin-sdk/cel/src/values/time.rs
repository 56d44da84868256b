//! Timestamps and durations, with Go's texts.

use std::cmp::Ordering;

use cel::{
    ExecutionError,
    common::{
        traits::{Adder, Comparer, Subtractor},
        value::{CowVal, Val},
    },
};

use super::value;

const NANOS: i128 = 1_000_000_000;
const DAY: i64 = 86_400;

/// Years 1 to 9999, as CEL allows.
const RANGE: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

/// A moment: billionths of a second since 1970, and the seconds from UTC that its text had.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timestamp(i128, i64);

/// A length of time in billionths of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Duration(i64);

value!(Timestamp, TIMESTAMP, "timestamp", as_adder: Adder, as_subtractor: Subtractor; Comparer);
value!(Duration, DURATION, "duration", as_adder: Adder, as_subtractor: Subtractor; Comparer);

// === impl Timestamp ===

impl Timestamp {
    pub(crate) fn of_seconds(seconds: i64) -> Result<Self, String> {
        Self::of_nanos(i128::from(seconds) * NANOS, 0)
    }

    fn of_nanos(nanos: i128, offset: i64) -> Result<Self, String> {
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).unwrap_or(i64::MAX);
        if RANGE.contains(&seconds) {
            Ok(Self(nanos, offset))
        } else {
            Err("the time is not in the years 1 to 9999".to_owned())
        }
    }

    /// Reads RFC 3339.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        read_rfc3339(text)
            .ok_or_else(|| format!("{text:?} is no time; expected one such as 2026-01-31T12:00:00Z"))
            .and_then(|(nanos, offset)| Self::of_nanos(nanos, offset))
    }

    pub(crate) fn seconds(self) -> i64 {
        self.0.div_euclid(NANOS) as i64
    }

    fn nanos(self) -> i64 {
        self.0.rem_euclid(NANOS) as i64
    }

    /// A part of the date or the time of day at an offset from UTC, by the name of its function.
    pub(crate) fn part(self, name: &str, offset: i64) -> i64 {
        let local = self.seconds() + offset;
        let (days, second) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        match name {
            "getFullYear" => year,
            "getMonth" => month - 1,
            "getDate" => day,
            "getDayOfMonth" => day - 1,
            "getDayOfWeek" => (days + 4).rem_euclid(7),
            "getDayOfYear" => days - days_of(year, 1, 1),
            "getHours" => second / 3600,
            "getMinutes" => second / 60 % 60,
            "getSeconds" => second % 60,
            _ => self.nanos() / 1_000_000,
        }
    }

    pub(crate) fn text(self) -> String {
        let local = self.seconds() + self.1;
        let (days, second) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let zone = match self.1 / 60 {
            0 => "Z".to_owned(),
            minutes => {
                format!("{}{:02}:{:02}", if minutes < 0 { '-' } else { '+' }, minutes.abs() / 60, minutes.abs() % 60)
            }
        };
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let fraction = fraction(self.nanos());
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}")
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

// === impl Duration ===

impl Duration {
    fn of_nanos(nanos: i128) -> Result<Self, String> {
        i64::try_from(nanos).map(Self).map_err(|_| "the duration is longer than 292 years".to_owned())
    }

    /// Reads Go's form, `1h30m`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        read_duration(text).ok_or_else(|| format!("{text:?} is no duration; expected one such as 90s or 1h30m"))
    }

    pub(crate) fn nanos(self) -> i64 {
        self.0
    }

    /// As Go has it: as many digits as a double holds.
    pub(crate) fn text(self) -> String {
        let (whole, rest) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        format!("{}s", whole as f64 + rest as f64 / 1e9)
    }
}

// === arithmetic ===

macro_rules! arithmetic {
    ($($own:ty),*) => {$(
        impl Adder for $own {
            fn add<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
            where
                Self: 'v,
            {
                sum("+", self, other)
            }
        }

        impl Subtractor for $own {
            fn sub<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
            where
                Self: 'v,
            {
                sum("-", self, other)
            }
        }

        impl Comparer for $own {
            fn compare(&self, other: &dyn Val) -> Result<Ordering, ExecutionError> {
                let other = other.downcast_ref::<Self>().ok_or_else(|| unfit("<", self, other))?;
                Ok(self.0.cmp(&other.0))
            }
        }
    )*};
}

arithmetic!(Timestamp, Duration);

/// What two values are together, or what is left of the first.
fn sum<'b, 'v>(operator: &str, one: &dyn Val, other: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let time = |value: &dyn Val| value.downcast_ref::<Timestamp>().copied();
    let length = |value: &dyn Val| value.downcast_ref::<Duration>().map(|duration| i128::from(duration.0));
    let signed = |nanos: i128| if operator == "-" { -nanos } else { nanos };
    let (times, lengths) = ((time(one), time(other)), (length(one), length(other)));
    let result = match (times, lengths) {
        ((Some(one), Some(other)), _) if operator == "-" => Duration::of_nanos(one.0 - other.0).map(CowVal::owned),
        ((Some(time), None), (_, Some(by))) => Timestamp::of_nanos(time.0 + signed(by), time.1).map(CowVal::owned),
        ((None, Some(time)), (Some(by), _)) if operator == "+" => {
            Timestamp::of_nanos(time.0 + by, time.1).map(CowVal::owned)
        }
        (_, (Some(one), Some(other))) => Duration::of_nanos(one + signed(other)).map(CowVal::owned),
        _ => return Err(unfit(operator, one, other)),
    };
    result.map_err(|error| ExecutionError::function_error(operator, error))
}

fn unfit(operator: &str, one: &dyn Val, other: &dyn Val) -> ExecutionError {
    ExecutionError::no_such_overload(operator, [one, other].map(|value| value.get_type().name().to_owned()).to_vec())
}

/// Seconds from UTC of `UTC` or `+02:00`; names of the time zone database are not known.
pub(crate) fn offset(zone: &str) -> Result<i64, String> {
    if matches!(zone, "" | "UTC") {
        return Ok(0);
    }
    let parsed = zone.split_once(':').and_then(|(hours, minutes)| {
        let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
        let minutes = if zone.starts_with('-') { -minutes } else { minutes };
        Some((hours * 60 + minutes) * 60).filter(|offset| offset.abs() < DAY)
    });
    parsed.ok_or_else(|| {
        format!("{zone:?} is no time zone that is known here; expected UTC, or an offset such as +02:00")
    })
}

/// The digits after the point, with the point; nothing where there are none.
fn fraction(nanos: i64) -> String {
    match nanos {
        0 => String::new(),
        nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
    }
}

fn read_rfc3339(text: &str) -> Option<(i128, i64)> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?
    };
    let is_shaped = bytes.len() >= 20
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')].iter().all(|(at, byte)| bytes[*at] == *byte);
    if !is_shaped {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_date = (1..=12).contains(&month) && day >= 1 && days_of(year, month, day) < days_of(year, month + 1, 1);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let rest = &text[19..];
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let fraction = &rest[..rest.len() - zone.len()];
    let nanos = match fraction.strip_prefix('.') {
        Some("") => return None,
        Some(digits) => format!("{digits:0<9}").get(..9)?.parse::<i64>().ok()?,
        None if fraction.is_empty() => 0,
        None => return None,
    };
    let offset = match zone.as_bytes() {
        b"Z" => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let at = text.len() - 6;
            let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
            let seconds = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60)?;
            if *sign == b'-' { -seconds } else { seconds }
        }
        _ => return None,
    };
    let seconds = days_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
    Some((i128::from(seconds) * NANOS + i128::from(nanos), offset))
}

fn read_duration(text: &str) -> Option<Duration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(Duration(0));
    }
    let mut total = 0_i128;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 40 {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()?.into() };
        let digits = fraction.get(..fraction.len().min(18))?;
        let part: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        total += whole * unit + part * unit / 10_i128.pow(digits.len() as u32);
        rest = after;
    }
    Duration::of_nanos(if negative { -total } else { total }).ok()
}

/// Days since 1970-01-01 of a date; the month after December is January.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 12 { (year + 1, month - 12) } else { (year, month) };
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of days since 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
