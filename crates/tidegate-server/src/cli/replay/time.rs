//! The times that logs hold, read without allocating.

use tidegate::Timestamp;

const NANOS_PER_SEC: u64 = 1_000_000_000;
const SECS_PER_DAY: i64 = 86_400;
const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// Numbers since 1970 below this are seconds, to the year 5138; below the next milliseconds, from
/// 1973 on; then microseconds; and nanoseconds.
const SECS_END: u64 = 100_000_000_000;
const MILLIS_END: u64 = 1_000 * SECS_END;
const MICROS_END: u64 = 1_000 * MILLIS_END;

/// Why a text is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeFault {
    /// It has none of the forms that are read.
    #[error("not a time; read are 17/May/2015:10:05:03 +0000, RFC 3339, and numbers since 1970")]
    NotATime,
    /// It has the form of a time, of a day or hour that does not exist.
    #[error("no such day or hour")]
    NoSuchDay,
    /// It lies outside what a timestamp holds.
    #[error("before 1970 or after 2554")]
    OutOfRange,
}

/// Reads a time: that of an access log, RFC 3339, or a number since 1970.
pub(super) fn parse_time(text: &[u8]) -> Result<Timestamp, TimeFault> {
    let text = text.trim_ascii();
    let text = match text {
        [b'[', inner @ .., b']'] => inner,
        text => text,
    };
    match text {
        [_, _, b'/', ..] => parse_clf(text),
        [_, _, _, _, b'-', ..] => parse_rfc3339(text),
        _ => parse_epoch(text),
    }
}

/// Reads `17/May/2015:10:05:03 +0000`.
fn parse_clf(text: &[u8]) -> Result<Timestamp, TimeFault> {
    let [d1, d2, b'/', m1, m2, m3, b'/', y1, y2, y3, y4, b':', clock @ ..] = text else {
        return Err(TimeFault::NotATime);
    };
    let name = [*m1, *m2, *m3].map(|byte| byte.to_ascii_lowercase());
    let month = (1..)
        .zip(MONTHS)
        .find_map(|(month, known)| (known == &name).then_some(month))
        .ok_or(TimeFault::NotATime)?;
    let day = number(&[*d1, *d2])?;
    let days = days_since_epoch(number(&[*y1, *y2, *y3, *y4])?, month, day)?;
    parse_clock(clock, days)
}

/// Reads `2015-05-17T10:05:03.25+02:00`, also with a space for the `T`.
fn parse_rfc3339(text: &[u8]) -> Result<Timestamp, TimeFault> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b't' | b' ' | b'_', clock @ ..] = text
    else {
        return Err(TimeFault::NotATime);
    };
    let year = number(&[*y1, *y2, *y3, *y4])?;
    let days = days_since_epoch(year, number(&[*m1, *m2])?, number(&[*d1, *d2])?)?;
    parse_clock(clock, days)
}

/// Reads `10:05:03`, then a fraction and an offset if there are any, on the day `days`.
fn parse_clock(text: &[u8], days: i64) -> Result<Timestamp, TimeFault> {
    let [h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = text else {
        return Err(TimeFault::NotATime);
    };
    let (hour, minute) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
    let second = number(&[*s1, *s2])?;
    // 60 is a leap second; Unix time gives it the number of the second after it.
    if hour > 23 || minute > 59 || second > 60 {
        return Err(TimeFault::NoSuchDay);
    }
    let (nanos, offset) = match rest {
        [b'.' | b',', fraction @ ..] => split_fraction(fraction)?,
        rest => (0, rest),
    };
    let local = days * SECS_PER_DAY + hour * 3_600 + minute * 60 + second;
    let secs = u64::try_from(local - parse_offset(offset)?).map_err(|_| TimeFault::OutOfRange)?;
    let nanos = secs.checked_mul(NANOS_PER_SEC).and_then(|whole| whole.checked_add(nanos));
    nanos.map(Timestamp::from_nanos).ok_or(TimeFault::OutOfRange)
}

/// Reads the seconds east of UTC of `Z`, `+0200`, ` +02:00`; nothing means UTC.
fn parse_offset(text: &[u8]) -> Result<i64, TimeFault> {
    let (sign, hours, minutes) = match text.trim_ascii_start() {
        b"" | b"Z" | b"z" | b"UTC" | b"GMT" => return Ok(0),
        [sign, h1, h2, b':', m1, m2] | [sign, h1, h2, m1, m2] => (sign, [*h1, *h2], [*m1, *m2]),
        [sign, h1, h2] => (sign, [*h1, *h2], *b"00"),
        _ => return Err(TimeFault::NotATime),
    };
    let (hours, minutes) = (number(&hours)?, number(&minutes)?);
    if hours > 23 || minutes > 59 {
        return Err(TimeFault::NoSuchDay);
    }
    match sign {
        b'+' => Ok(hours * 3_600 + minutes * 60),
        b'-' => Ok(-(hours * 3_600 + minutes * 60)),
        _ => Err(TimeFault::NotATime),
    }
}

/// Reads a number since 1970 in the unit that its size tells.
fn parse_epoch(text: &[u8]) -> Result<Timestamp, TimeFault> {
    if let [b'-', b'0'..=b'9', ..] = text {
        return Err(TimeFault::OutOfRange);
    }
    let point = text.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = text.split_at(point.unwrap_or(text.len()));
    let fraction = match fraction {
        [b'.', digits @ ..] => split_fraction(digits)?,
        _ => (0, [].as_slice()),
    };
    if whole.is_empty() || !fraction.1.is_empty() {
        return Err(TimeFault::NotATime);
    }
    let mut count = 0_u64;
    for byte in whole {
        let digit = digit(*byte)?;
        let longer = count.checked_mul(10).and_then(|ten| ten.checked_add(digit));
        count = longer.ok_or(TimeFault::OutOfRange)?;
    }
    let scale: u64 = match count {
        ..SECS_END => NANOS_PER_SEC,
        SECS_END..MILLIS_END => 1_000_000,
        MILLIS_END..MICROS_END => 1_000,
        MICROS_END.. => 1,
    };
    let nanos = count.checked_mul(scale).ok_or(TimeFault::OutOfRange)?;
    // The fraction is in billionths of the unit, and a unit is at most a billion nanoseconds.
    let part = fraction.0 * scale / NANOS_PER_SEC;
    Ok(Timestamp::from_nanos(nanos.saturating_add(part)))
}

/// Splits the digits of a fraction from what follows them; gives billionths, rounded down.
fn split_fraction(text: &[u8]) -> Result<(u64, &[u8]), TimeFault> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    if digits.is_empty() {
        return Err(TimeFault::NotATime);
    }
    let digits = digits.iter().copied().chain(std::iter::repeat(b'0'));
    let billionths = digits.take(9).fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'));
    Ok((billionths, rest))
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Result<i64, TimeFault> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        1..=12 => 31,
        _ => return Err(TimeFault::NoSuchDay),
    };
    if day < 1 || day > length {
        return Err(TimeFault::NoSuchDay);
    }
    // Years begin in March, so that the leap day is the last of its year; 153 days in 5 months.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        month => (year, month - 3),
    };
    let in_years = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Ok(in_years + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// The number that these digits write.
fn number(digits: &[u8]) -> Result<i64, TimeFault> {
    digits.iter().try_fold(0, |sum, byte| {
        let digit = i64::try_from(digit(*byte)?).map_err(|_| TimeFault::NotATime)?;
        Ok(sum * 10 + digit)
    })
}

fn digit(byte: u8) -> Result<u64, TimeFault> {
    match byte {
        b'0'..=b'9' => Ok(u64::from(byte - b'0')),
        _ => Err(TimeFault::NotATime),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(text: &str) -> Result<u64, TimeFault> {
        parse_time(text.as_bytes()).map(Timestamp::as_nanos)
    }

    #[test]
    fn times_in_every_form_are_the_same_instant() {
        let second = 1_431_857_103;
        for text in [
            "17/May/2015:10:05:03 +0000",
            "[17/May/2015:12:05:03 +0200]",
            "17/may/2015:02:35:03 -0730",
            "2015-05-17T10:05:03Z",
            "2015-05-17t10:05:03z",
            "2015-05-17 10:05:03",
            "2015-05-17 10:05:03 +00:00",
            "2015-05-17T15:50:03+05:45",
            "2015-05-17T10:05:03.000+00",
            "1431857103",
            "1431857103.0",
            "1431857103000",
            "1431857103000000",
            "1431857103000000000",
            " 1431857103 ",
        ] {
            assert_eq!(nanos(text), Ok(second * NANOS_PER_SEC), "{text}");
        }
    }

    #[test]
    fn fractions_keep_their_nanoseconds() {
        assert_eq!(nanos("0.123456789"), Ok(123_456_789));
        assert_eq!(nanos("1970-01-01T00:00:01,5Z"), Ok(1_500_000_000));
        assert_eq!(
            nanos("1970-01-01T00:00:00.1234567899Z"),
            Ok(123_456_789),
            "finer digits are dropped"
        );
        assert_eq!(nanos("1431857103123.25"), Ok(1_431_857_103_123_250_000));
    }

    #[test]
    fn leap_days_exist_in_leap_years_only() {
        assert_eq!(nanos("29/Feb/2024:00:00:00 +0000"), nanos("1709164800"));
        assert_eq!(nanos("2000-02-29T00:00:00Z"), nanos("951782400"));
        assert_eq!(nanos("2023-02-29T00:00:00Z"), Err(TimeFault::NoSuchDay));
        assert_eq!(nanos("2100-02-29T00:00:00Z"), Err(TimeFault::NoSuchDay));
        assert_eq!(nanos("01/Mar/2100:00:00:00 +0000"), nanos("4107542400"));
    }

    #[test]
    fn what_is_no_time_says_why() {
        for (text, fault) in [
            ("", TimeFault::NotATime),
            ("-", TimeFault::NotATime),
            ("yesterday", TimeFault::NotATime),
            ("17/Mai/2015:10:05:03 +0000", TimeFault::NotATime),
            ("17/May/2015:10:05", TimeFault::NotATime),
            ("2015-05-17", TimeFault::NotATime),
            ("2015-05-17T10:05:03.Z", TimeFault::NotATime),
            ("2015-05-17T10:05:03 CEST", TimeFault::NotATime),
            ("1.2.3", TimeFault::NotATime),
            (".5", TimeFault::NotATime),
            ("32/May/2015:10:05:03 +0000", TimeFault::NoSuchDay),
            ("00/May/2015:10:05:03 +0000", TimeFault::NoSuchDay),
            ("2015-13-01T00:00:00Z", TimeFault::NoSuchDay),
            ("2015-05-17T24:00:00Z", TimeFault::NoSuchDay),
            ("2015-05-17T10:05:03+24:00", TimeFault::NoSuchDay),
            ("1969-12-31T23:59:59Z", TimeFault::OutOfRange),
            ("1970-01-01T00:00:00+01:00", TimeFault::OutOfRange),
            ("9999-01-01T00:00:00Z", TimeFault::OutOfRange),
            ("-1", TimeFault::OutOfRange),
            ("99999999999999999999", TimeFault::OutOfRange),
        ] {
            assert_eq!(nanos(text), Err(fault), "{text:?}");
        }
    }

    proptest! {
        /// The calendar here and the one of the time library name the same instants.
        #[test]
        fn calendar_agrees_with_the_time_library(secs in 0_i64..18_000_000_000, part in 0_i32..1_000_000_000) {
            let instant = jiff::Timestamp::new(secs, part).expect("within range");
            let expected = u64::try_from(instant.as_nanosecond()).expect("after 1970");
            prop_assert_eq!(nanos(&instant.to_string()), Ok(expected));
        }

        #[test]
        fn arbitrary_bytes_never_panic(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_time(&text);
        }
    }
}
