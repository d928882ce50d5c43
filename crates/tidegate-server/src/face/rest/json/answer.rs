//! What an answer looks like. It is written by hand: amounts stay exact, and every text in it is a
//! name of ours, in which nothing needs escaping.

use std::fmt::{Display, Write};

use tidegate::{Decision, Outcome};

use crate::service::{Answer, Answers};

/// The answer to one question, with a newline.
pub(super) fn one(answer: &Answer<'_>) -> String {
    let mut json = String::with_capacity(256);
    write_answer(&mut json, answer);
    json.push('\n');
    json
}

/// The answer to several.
pub(super) fn many(answers: &Answers<'_>) -> String {
    let mut json = String::with_capacity(256 * (answers.len() + 1));
    let (allowed, governing) = (answers.is_allowed(), answers.governing());
    put(&mut json, format_args!(r#"{{"allowed":{allowed},"governing":{governing},"decisions":["#));
    for (place, answer) in answers.iter().enumerate() {
        if place > 0 {
            json.push(',');
        }
        write_answer(&mut json, &answer);
    }
    json.push_str("]}\n");
    json
}

fn write_answer(json: &mut String, answer: &Answer<'_>) {
    let policy = answer.policy().name();
    match answer.decision {
        Some(decision) => write_decision(json, answer, &decision),
        None => put(
            json,
            format_args!(
                r#"{{"outcome":"allow","allowed":true,"policy":"{policy}","limit_name":null,"limit":null,"remaining":null,"retry_after_ms":null,"reset_after_ms":null,"degraded":true}}"#
            ),
        ),
    }
}

fn write_decision(json: &mut String, answer: &Answer<'_>, decision: &Decision) {
    let policy = answer.policy().name();
    let name = answer.limit_name();
    let outcome = match decision.outcome {
        Outcome::Allow => "allow",
        Outcome::Deny => "deny",
        Outcome::Exceeds => "exceeds",
    };
    let allowed = decision.is_allowed();
    let (limit, remaining) = (decision.limit, decision.remaining);
    put(
        json,
        format_args!(
            r#"{{"outcome":"{outcome}","allowed":{allowed},"policy":"{policy}","limit_name":"{name}","limit":{limit},"remaining":{remaining},"retry_after_ms":"#
        ),
    );
    match decision.retry_after {
        Some(wait) => put(json, wait.as_millis_ceil()),
        None => json.push_str("null"),
    }
    let reset = decision.reset_after.as_millis_ceil();
    put(json, format_args!(r#","reset_after_ms":{reset},"degraded":false}}"#));
}

fn put(json: &mut String, text: impl Display) {
    // Writing to a String cannot fail.
    let _ = write!(json, "{text}");
}
