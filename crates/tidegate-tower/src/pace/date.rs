//! Dates as HTTP writes them.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The seconds since the Unix epoch of a date in the preferred form of RFC 9110, section 5.6.7, as
/// in `Sun, 06 Nov 1994 08:49:37 GMT`; none for another form or a time before the epoch.
pub(super) fn seconds_of(date: &str) -> Option<u64> {
    let (_weekday, rest) = date.split_once(", ")?;
    let mut parts = rest.split(' ');
    let mut next = || parts.next();
    let (day, month, year, time, zone) = (next()?, next()?, next()?, next()?, next()?);
    let month = MONTHS.iter().position(|name| *name == month)?;
    let mut time = time.split(':').map(|part| number(part, 60));
    let mut next = || time.next()?;
    let (hour, minute, second) = (next()?, next()?, next()?);
    if zone != "GMT" || hour > 23 || minute > 59 {
        return None;
    }
    let days = days_since_epoch(number(year, 9_999)?, month as u64 + 1, number(day, 31)?)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// A number of digits alone, up to `most`.
fn number(text: &str, most: u64) -> Option<u64> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_digits && *number <= most)
}

/// The days from 1970-01-01 to a day of the Gregorian calendar. Years are taken to begin in March,
/// so that a leap day is the last of its year.
fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    /// The days from the year 0 to the epoch, by the same count.
    const EPOCH: u64 = 719_468;
    let (year, months) =
        if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let of_years = year * 365 + year / 4 - year / 100 + year / 400;
    let of_months = (153 * months + 2) / 5;
    (of_years + of_months + day.checked_sub(1)?).checked_sub(EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_the_calendar_has_them() {
        // Seconds by GNU date.
        for (date, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 23:59:60 GMT", 951_868_800),
            ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Tue, 01 Dec 2026 12:00:00 GMT", 1_796_126_400),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] {
            assert_eq!(seconds_of(date), Some(seconds), "{date}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "soon",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov +994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Sat, 01 Jan 0000 00:00:00 GMT",
        ] {
            assert_eq!(seconds_of(text), None, "{text}");
        }
    }
}
