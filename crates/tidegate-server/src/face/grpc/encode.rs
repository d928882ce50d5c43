//! Answers as protobuf writes them, straight from what was decided: a message is never built.
//!
//! The fields are those of `AllowResponse` and `CheckResponse` in `proto/ratelimiter/v1`, in the
//! order of their numbers; as proto3 has it, one that holds zero is left out.

use tidegate::{Decision, Outcome, Span};

use crate::service::{Answer, Answers};

/// Wire types: the low three bits of a field's first byte.
const VARINT: u8 = 0;
const DOUBLE: u8 = 1;
const BYTES: u8 = 2;

/// Room for most answers to one request, its head included.
pub(super) const USUAL: usize = 128;

/// The message of an answer to one request.
pub(super) fn message(told: &Answer<'_>) -> Vec<u8> {
    let mut message = Vec::with_capacity(USUAL);
    answer(&mut message, told);
    message
}

/// Writes the message of an answer to one request: `AllowResponse`.
pub(super) fn answer(message: &mut Vec<u8>, answer: &Answer<'_>) {
    match &answer.decision {
        Some(decision) => decided(message, decision, answer.limit_name()),
        None => undecided(message),
    }
    text(message, 10, answer.policy().name().as_str());
}

/// Writes the message of the answers to a batch: `CheckResponse`.
pub(super) fn answers(message: &mut Vec<u8>, answers: &Answers<'_>) {
    boolean(message, 1, answers.is_allowed());
    number(message, 2, answers.governing() as u64);
    for one in answers.iter() {
        nested(message, 3, |message| answer(message, &one));
    }
}

fn decided(message: &mut Vec<u8>, decision: &Decision, limit_name: &str) {
    boolean(message, 1, decision.is_allowed());
    let wait = match decision.outcome {
        Outcome::Allow => Some(Span::ZERO),
        Outcome::Deny => decision.retry_after,
        Outcome::Exceeds => None,
    };
    if let Some(wait) = wait {
        duration(message, 2, Span::from_secs(wait.as_secs_ceil()));
    }
    if let Some(wait) = decision.retry_after {
        duration(message, 3, wait);
    }
    double(message, 4, decision.limit.as_f64());
    double(message, 5, decision.remaining.as_f64());
    duration(message, 6, decision.reset_after);
    text(message, 7, limit_name);
    number(message, 8, outcome(decision.outcome));
}

/// What is said when the store failed and the request is let through.
fn undecided(message: &mut Vec<u8>) {
    boolean(message, 1, true);
    duration(message, 2, Span::ZERO);
    number(message, 8, outcome(Outcome::Allow));
    boolean(message, 9, true);
}

const fn outcome(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Allow => 1,
        Outcome::Deny => 2,
        Outcome::Exceeds => 3,
    }
}

/// A `google.protobuf.Duration`.
fn duration(message: &mut Vec<u8>, field: u8, span: Span) {
    const SECOND: u64 = 1_000_000_000;
    nested(message, field, |message| {
        number(message, 1, span.as_nanos() / SECOND);
        number(message, 2, span.as_nanos() % SECOND);
    });
}

/// A message within, whose length is known when it is written.
fn nested(message: &mut Vec<u8>, field: u8, write: impl FnOnce(&mut Vec<u8>)) {
    message.extend([field << 3 | BYTES, 0]);
    let start = message.len();
    write(message);
    let length = message.len() - start;
    match u8::try_from(length) {
        // The one byte that was kept free.
        Ok(short) if short < 0x80 => message[start - 1] = short,
        _ => {
            let mut long = Vec::with_capacity(10);
            varint(&mut long, length as u64);
            message.splice(start - 1..start, long);
        }
    }
}

fn text(message: &mut Vec<u8>, field: u8, text: &str) {
    if !text.is_empty() {
        message.push(field << 3 | BYTES);
        varint(message, text.len() as u64);
        message.extend_from_slice(text.as_bytes());
    }
}

fn boolean(message: &mut Vec<u8>, field: u8, is_set: bool) {
    number(message, field, u64::from(is_set));
}

fn number(message: &mut Vec<u8>, field: u8, number: u64) {
    if number != 0 {
        message.push(field << 3 | VARINT);
        varint(message, number);
    }
}

fn double(message: &mut Vec<u8>, field: u8, number: f64) {
    if number != 0.0 {
        message.push(field << 3 | DOUBLE);
        message.extend_from_slice(&number.to_le_bytes());
    }
}

fn varint(message: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        message.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    message.push((number & 0x7f) as u8);
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use tidegate::Amount;

    use super::*;
    use crate::proto::v1 as wire;

    fn decision(outcome: Outcome, wait: Option<Span>, reset: Span) -> Decision {
        Decision {
            outcome,
            limit_index: 0,
            limit: Amount::from_units(50),
            remaining: Amount::from_micros(49_500_000),
            retry_after: wait,
            reset_after: reset,
        }
    }

    fn read(decision: &Decision, name: &str) -> wire::AllowResponse {
        let mut message = Vec::new();
        decided(&mut message, decision, name);
        let read = wire::AllowResponse::decode(&message[..]).expect("a message");
        // prost writes what it read in the same way, byte by byte.
        assert_eq!(read.encode_to_vec(), message);
        read
    }

    #[test]
    fn every_field_is_read_back_as_it_was_decided() {
        let wait = Span::from_nanos(1_200_000_001);
        let long = "n".repeat(64);
        let denied = read(&decision(Outcome::Deny, Some(wait), Span::from_secs(1 << 33)), &long);
        assert_eq!((denied.allowed, denied.outcome()), (false, wire::Outcome::Deny));
        assert_eq!(denied.retry_after.expect("a wait").seconds, 2);
        let exact = denied.retry_after_exact.expect("an exact wait");
        assert_eq!((exact.seconds, exact.nanos), (1, 200_000_001));
        assert_eq!((denied.limit, denied.remaining), (50.0, 49.5));
        assert_eq!(denied.reset_after.expect("a reset").seconds, 1 << 33);
        assert_eq!(denied.limit_name, long);
        let allowed = read(&decision(Outcome::Allow, None, Span::ZERO), "only");
        assert!(allowed.allowed && allowed.retry_after_exact.is_none());
        assert_eq!(allowed.retry_after, Some(prost_types::Duration::default()));
        let never = read(&decision(Outcome::Exceeds, None, Span::ZERO), "only");
        assert_eq!((never.retry_after, never.outcome()), (None, wire::Outcome::Exceeds));
    }

    #[test]
    fn a_request_let_through_says_so() {
        let mut message = Vec::new();
        undecided(&mut message);
        let read = wire::AllowResponse::decode(&message[..]).expect("a message");
        assert_eq!(read.encode_to_vec(), message);
        assert!(read.allowed && read.degraded && read.outcome() == wire::Outcome::Allow);
        assert_eq!((read.limit, read.reset_after), (0.0, None));
    }

    #[test]
    fn a_length_beyond_one_byte_is_written_whole() {
        for length in [0, 1, 127, 128, 300, 20_000] {
            let inner = "x".repeat(length);
            let mut message = Vec::new();
            nested(&mut message, 1, |message| message.extend_from_slice(inner.as_bytes()));
            message.push(7 << 3);
            message.push(1);
            let mut expected = Vec::new();
            prost::encoding::string::encode(1, &inner, &mut expected);
            prost::encoding::bool::encode(7, &true, &mut expected);
            assert_eq!(message, expected, "{length}");
        }
    }
}
