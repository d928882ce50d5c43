//! Which format a log has, and where in it the wanted fields are.

use super::args::Format;
use super::combined::{self, Field};
use super::csv::Header;
use super::entry::{Fault, Slots, Wanted};
use super::error::{ReplayError, suggestion};
use super::input::Input;
use super::json;
use super::time::parse_time;

/// Names that fields with the time are known by, in order of preference; case does not matter.
const TIME_NAMES: [&str; 22] = [
    "time",
    "timestamp",
    "ts",
    "@timestamp",
    "datetime",
    "date_time",
    "date",
    "time_iso8601",
    "time_local",
    "msec",
    "start_time",
    "starttime",
    "startutc",
    "startlocal",
    "event_time",
    "eventtime",
    "request_timestamp",
    "edgestarttimestamp",
    "created_at",
    "unixtime",
    "epoch",
    "t",
];

/// Names that `ip` stands for where no field is called that.
const IP_NAMES: [&str; 14] = [
    "remote_addr",
    "remote_ip",
    "client_ip",
    "clientip",
    "client_addr",
    "remoteaddr",
    "remoteip",
    "clienthost",
    "ip_address",
    "ipaddress",
    "source_ip",
    "src_ip",
    "request.remote_ip",
    "c-ip",
];

/// The most field names that an error lists.
const NAMES_LISTED: usize = 30;

/// Reads the wanted fields of one log's lines.
#[derive(Debug)]
pub(super) enum LineReader {
    Combined(Vec<Field>),
    Json(Vec<String>),
    Csv { header: Header, columns: Vec<usize> },
}

/// What is asked of every log.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) format: Format,
    pub(super) time: Option<String>,
    pub(super) key: Vec<String>,
    pub(super) cost: Option<String>,
}

impl LineReader {
    /// A reader for this log, told by its first lines, and the names under which it has the wanted
    /// fields.
    pub(super) fn for_log(
        input: &Input,
        question: &Question,
    ) -> Result<(LineReader, Wanted), ReplayError> {
        let columns = Columns { input, question };
        match detect(input, question.format) {
            Format::Json => columns.of_json(),
            Format::Csv => columns.of_csv(),
            Format::Combined | Format::Auto => columns.of_combined(),
        }
    }

    /// Fills the slots from a line; says whether the line is a request at all.
    pub(super) fn pick(&self, line: &[u8], slots: &mut Slots) -> Result<bool, Fault> {
        slots.clear();
        match self {
            LineReader::Combined(fields) => combined::pick(line, fields, slots)?,
            LineReader::Json(names) => json::pick(line, names, slots)?,
            LineReader::Csv { header, .. } if header.is_repeated_by(line) => return Ok(false),
            LineReader::Csv { header, columns } => header.pick(line, columns, slots)?,
        }
        Ok(true)
    }
}

/// The format as told, else that of the first line that has one; a log that has none is CSV when
/// its first line may be a header.
fn detect(input: &Input, told: Format) -> Format {
    if told != Format::Auto {
        return told;
    }
    for line in input.sample() {
        if line.trim_ascii_start().first() == Some(&b'{') {
            return Format::Json;
        }
        if combined::pick(line, &[], &mut Slots::new(0)).is_ok() {
            return Format::Combined;
        }
    }
    match input.sample().next().and_then(Header::parse) {
        Some(_) => Format::Csv,
        None => Format::Combined,
    }
}

/// A field that the first lines of a log have.
#[derive(Debug)]
struct Known {
    name: String,
    /// Whether one of its values there is a time.
    holds_time: bool,
}

/// Adds a field, or another value of one that is known.
fn learn(known: &mut Vec<Known>, name: &str, text: &str) {
    let holds_time = parse_time(text.as_bytes()).is_ok();
    match known.iter_mut().find(|field| field.name == name) {
        Some(field) => field.holds_time |= holds_time,
        None => known.push(Known { name: name.to_owned(), holds_time }),
    }
}

/// The search for the wanted fields in one log.
struct Columns<'a> {
    input: &'a Input,
    question: &'a Question,
}

impl Columns<'_> {
    fn of_combined(&self) -> Result<(LineReader, Wanted), ReplayError> {
        let time = self.question.time.as_deref().unwrap_or("time");
        let wanted = Wanted::new(time, &self.question.key, self.question.cost.as_deref());
        let known = || combined::FIELDS.iter().map(|(name, _)| *name).collect();
        let find = |name: &String| combined::field(name).ok_or_else(|| self.unknown(name, known()));
        let fields = wanted.names().iter().map(find).collect::<Result<_, _>>()?;
        Ok((LineReader::Combined(fields), wanted))
    }

    fn of_json(&self) -> Result<(LineReader, Wanted), ReplayError> {
        let mut known = Vec::new();
        for (name, text) in self.input.sample().flat_map(json::fields) {
            learn(&mut known, &name, &text);
        }
        let wanted = self.wanted(&known)?;
        Ok((LineReader::Json(wanted.names().to_vec()), wanted))
    }

    fn of_csv(&self) -> Result<(LineReader, Wanted), ReplayError> {
        let mut sample = self.input.sample();
        let header = sample.next().and_then(Header::parse);
        let header =
            header.ok_or_else(|| ReplayError::NoHeader { log: self.input.name().to_owned() })?;
        let mut known = Vec::new();
        header.names().iter().for_each(|name| learn(&mut known, name, ""));
        for line in sample {
            for (name, text) in header.names().iter().zip(header.texts(line)) {
                learn(&mut known, name, &text);
            }
        }
        let wanted = self.wanted(&known)?;
        let place = |name| header.names().iter().position(|known| known == name);
        let columns = wanted.names().iter().filter_map(place).collect();
        Ok((LineReader::Csv { header, columns }, wanted))
    }

    /// The wanted fields by the names that this log has for them.
    fn wanted(&self, known: &[Known]) -> Result<Wanted, ReplayError> {
        let time = match &self.question.time {
            Some(name) => self.resolve(name, known)?,
            None => self.find_time(known)?,
        };
        let resolve = |name: &String| self.resolve(name, known);
        let key: Vec<String> = self.question.key.iter().map(resolve).collect::<Result<_, _>>()?;
        let cost = self.question.cost.as_ref().map(resolve).transpose()?;
        Ok(Wanted::new(&time, &key, cost.as_deref()))
    }

    /// The field of this name; `ip` has other names too. Of a log without a readable line every
    /// name is taken as it is.
    fn resolve(&self, name: &str, known: &[Known]) -> Result<String, ReplayError> {
        let named = |wanted: &str| {
            let exact = known.iter().find(|field| field.name == wanted);
            exact.or_else(|| known.iter().find(|field| field.name.eq_ignore_ascii_case(wanted)))
        };
        let also: &[&str] = if name == "ip" { &IP_NAMES } else { &[] };
        let found = named(name).or_else(|| also.iter().find_map(|also| named(also)));
        match found {
            Some(found) => Ok(found.name.clone()),
            None if known.is_empty() => Ok(name.to_owned()),
            None => {
                Err(self.unknown(name, known.iter().map(|field| field.name.as_str()).collect()))
            }
        }
    }

    /// The first field called like the time that holds one, or else that is called like it.
    fn find_time(&self, known: &[Known]) -> Result<String, ReplayError> {
        let find = |wanted: fn(&Known) -> bool| {
            TIME_NAMES.iter().find_map(|name| {
                let called = |field: &&Known| field.name.eq_ignore_ascii_case(name);
                known.iter().filter(called).find(|field| wanted(field))
            })
        };
        let found = find(|field| field.holds_time).or_else(|| find(|_| true));
        match found {
            Some(found) => Ok(found.name.clone()),
            None if known.is_empty() => Ok(TIME_NAMES[0].to_owned()),
            None => Err(ReplayError::NoTime {
                log: self.input.name().to_owned(),
                known: listed(known.iter().map(|field| field.name.as_str())),
            }),
        }
    }

    fn unknown(&self, name: &str, known: Vec<&str>) -> ReplayError {
        ReplayError::UnknownField {
            log: self.input.name().to_owned(),
            field: name.to_owned(),
            suggestion: suggestion(name, known.iter().copied()),
            known: listed(known),
        }
    }
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.into_iter().take(NAMES_LISTED + 1).collect();
    if names.len() > NAMES_LISTED {
        names[NAMES_LISTED] = "...";
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const COMBINED: &str = "::1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5\n";

    fn question() -> Question {
        Question { format: Format::Auto, time: None, key: vec!["ip".to_owned()], cost: None }
    }

    fn found(log: &str, question: &Question) -> Result<(&'static str, Vec<String>), String> {
        let input = Input::new("log", Cursor::new(log.as_bytes().to_vec())).expect("readable");
        let (reader, wanted) =
            LineReader::for_log(&input, question).map_err(|error| error.to_string())?;
        let format = match reader {
            LineReader::Combined(_) => "combined",
            LineReader::Json(_) => "json",
            LineReader::Csv { .. } => "csv",
        };
        Ok((format, wanted.names().to_vec()))
    }

    #[test]
    fn formats_and_fields_are_told_from_the_first_lines() {
        let after_garbage = format!("garbage, and more\n{COMBINED}");
        for (log, format, time, ip) in [
            (COMBINED, "combined", "time", "ip"),
            (&after_garbage, "combined", "time", "ip"),
            ("-\n", "combined", "time", "ip"),
            (
                r#"{"ts":1431857103.5,"request":{"remote_ip":"::1"}}"#,
                "json",
                "ts",
                "request.remote_ip",
            ),
            (
                r#"{"time":"noon","@timestamp":"2015-05-17T10:05:03Z","ip":"::1","client_ip":"::2"}"#,
                "json",
                "@timestamp",
                "ip",
            ),
            ("{broken\n", "json", "time", "ip"),
            ("ts,ip\nnever,::1\n", "csv", "ts", "ip"),
            ("time,ts,ip\n-,7,::1\n", "csv", "ts", "ip"),
            ("Timestamp,Client_IP\n1431857103,::1\n", "csv", "Timestamp", "Client_IP"),
            ("date;ip;bytes\n2015-05-17 10:05:03;::1;5\n", "csv", "date", "ip"),
        ] {
            let expected = (format, vec![time.to_owned(), ip.to_owned()]);
            assert_eq!(found(log, &question()), Ok(expected), "{log}");
        }
    }

    #[test]
    fn unknown_fields_are_refused_with_those_there_are() {
        let asks = |key: &str| Question { key: vec![key.to_owned()], ..question() };
        let error = found(COMBINED, &asks("agnet")).expect_err("no such field");
        assert!(error.contains("no field \"agnet\"; its fields are ip, ident"), "{error}");
        assert!(error.ends_with("did you mean \"agent\"?"), "{error}");
        let error = found(r#"{"ts":1,"user":{"id":7}}"#, &asks("user.ip")).expect_err("no field");
        assert!(error.contains("its fields are ts, user.id"), "{error}");
        let error = found("ts,ip\n1,::1\n", &asks("user")).expect_err("no such field");
        assert!(error.contains("log has no field \"user\"; its fields are ts, ip"), "{error}");
    }

    #[test]
    fn a_log_without_a_known_time_asks_for_its_name() {
        let error = found(r#"{"when":1,"ip":"::1"}"#, &question()).expect_err("no time");
        assert!(error.contains("--time FIELD; its fields are"), "{error}");
        let asks = Question { time: Some("when".to_owned()), ..question() };
        assert!(found(r#"{"when":1,"ip":"::1"}"#, &asks).is_ok());
    }
}
